"""MultiTaskIVMClassifier: related classification tasks with one kernel learned from all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.metrics import accuracy_score

from ..inference.base import Latent
from ..training.trained import LabelWeights
from ._base import GPEstimator
from ._classifying import GPClassifierMixin, best_engine, log_odds
from ._inputs import Inputs
from ._labels import Labels, check_labels
from ._tasks import MultiTaskMixin


class MultiTaskIVMClassifier(MultiTaskMixin, GPClassifierMixin, GPEstimator):
    """Gaussian-process classifiers for many related tasks, with one kernel learned from all of them.

    Every task (a speaker, a patient, a plant) has its own rows, labels and latent functions. The tasks share only the
    parameters of the kernel, and are independent given these (LPJ05 section 5). ``adapt`` makes a model for a new task
    from a few rows. The ``n_active`` rows are selected across tasks, the most informative one of any task next, so
    harder tasks get more of them.

    Parameters
    ----------
    n_active : int or None, default=None
        Number of rows to keep over all tasks, at least one for each; None is 500, or all rows if there are fewer.
    kernel, likelihood, criterion, update, refine, calibration, dtype
        As for ``IVMClassifier``.
    hyper : str or an object of ``gpclass.hyper``, default="evidence"
        "evidence" learns the shared kernel by the sum of the tasks' evidences (of at most 350 rows of each), "loo" by
        their leave-one-out predictions, "alternating" from the active rows, alternating with their selection (LPJ05
        algorithms 2 and 3), which is the fastest; "fixed" learns nothing.
    n_restarts_optimizer, standardize, random_state, n_jobs, verbose
        As for ``IVMClassifier``; inputs are scaled in the same way for all tasks.

    Attributes
    ----------
    tasks_ : names of the tasks, sorted
    active_ : (S,) rows kept, in the order of their inclusion, as rows of the X of ``fit``
    active_task_ : (S,) the task of each of them
    posteriors_ : one posterior for each of ``tasks_``
    log_evidence_, objective_ : float, sums over tasks of the log evidence of their active rows, and of what the engine
        maximised for it
    info_ : how inference went, one for each of ``tasks_``
    classes_, kernel_, likelihood_, calibration_, loo_proba_, relevance_, hyper_, n_features_in_
        As for ``IVMClassifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from gpclass import MultiTaskIVMClassifier
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> task = np.repeat(["a", "b", "c"], 20)
    >>> y = np.sin(2 * X[:, 0]) > 0
    >>> model = MultiTaskIVMClassifier(n_active=30).fit(X, y, task=task)
    >>> new = model.adapt([[-2.4], [-0.8], [0.8], [2.4]], [True, False, True, False])
    >>> new.predict([[0.6], [2.6]]).tolist()
    [True, False]
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_active: int | None = None,
        likelihood: Any = None,
        criterion: str = "auto",
        update: str = "auto",
        refine: bool = True,
        hyper: Any = "evidence",
        calibration: str | None = "loo",
        dtype: str = "float64",
        n_restarts_optimizer: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_active = n_active
        self.likelihood = likelihood
        self.criterion = criterion
        self.update = update
        self.refine = refine
        self.hyper = hyper
        self.calibration = calibration
        self.dtype = dtype
        self.n_restarts_optimizer = n_restarts_optimizer
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, task: Any = None) -> MultiTaskIVMClassifier:
        """Fit to rows X (n, n_features) with labels y (n,), row i belonging to ``task[i]``.

        Without ``task`` all rows are one task. An interrupt (Ctrl-C) while rows are selected leaves a model of those
        selected so far, once every task has one, and is then raised. In a pipeline or in cross validation ``task``
        travels by scikit-learn's metadata routing: ``set_fit_request(task=True).set_score_request(task=True)``.
        """
        with self._monitor() as monitor:
            calibrates = self._calibrates
            y = check_labels(y)
            inputs, raw, y = Inputs.fit(self, X, y, order="C", ensure_min_samples=2)
            labels = Labels.of(y)
            codes = labels.encode(y)
            order = self._row_order(raw, codes)
            raw, codes = raw[order.rows], codes[order.rows]
            names, groups = self._groups(task, order)
            for name, own in zip(names.tolist(), groups, strict=True):
                if len(np.unique(codes[own])) < 2:
                    only = labels.classes.tolist()[codes[own[0]]]
                    raise ValueError(
                        f"expected labels of at least 2 classes in every task, got 1 class in task {name!r}: all "
                        f"{len(own)} labels are {only!r}"
                    )
            likelihood = self._resolve_likelihood(len(labels))
            inputs = inputs.standardized(raw, self.kernel, self.standardize)
            trained = self._train(
                inputs,
                raw,
                codes,
                groups,
                order,
                likelihood,
                best_engine(likelihood),
                monitor,
                likelihood.n_latent(len(labels)),
                LabelWeights.of(codes, len(labels)),
                calibrates,
            )
        attributes = self._class_attributes(labels.classes, trained) | self._task_attributes(names, trained)
        self._store(inputs, trained, _labels=labels, **attributes)
        return self

    def adapt(self, X: Any, y: Any) -> MultiTaskIVMClassifier:
        """A model for a new task, of rows X and their labels y, with the kernel, scales and calibration learned here.

        It predicts without ``task``. Labels must be among ``classes_``; a handful of rows will do, and they calibrate
        nothing. This model stays as it is.
        """
        y = check_labels(y)
        raw, y = self._check_new_task(X, y)
        new, trained = self._adapted(raw, self._labels.encode(y))
        attributes = self._task_attributes(np.array(["adapted"]), trained)
        attributes |= {"classes_": self.classes_, "calibration_": self.calibration_, "loo_proba_": None}
        new._store(self._inputs, trained, _labels=self._labels, **attributes)
        return new

    def predict_log_proba(self, X: Any, task: Any = None) -> np.ndarray:
        """Log probabilities (m, n_classes); ``task`` has the tasks of the rows, or the one task of all."""
        latent: Latent = self.latent(X, task=task)
        return self.calibration_.log_proba(self.likelihood_, *latent)

    def predict_proba(self, X: Any, task: Any = None) -> np.ndarray:
        """Probabilities (m, n_classes); ``task`` has the tasks of the rows, or the one task of all."""
        proba = np.exp(self.predict_log_proba(X, task))
        return proba / proba.sum(axis=1, keepdims=True)

    def decision_function(self, X: Any, task: Any = None) -> np.ndarray:
        """Log odds: of the second class (m,) for two classes, or of each class against all others (m, n_classes);
        ``task`` has the tasks of the rows, or the one task of all."""
        return log_odds(self.predict_log_proba(X, task))

    def predict(self, X: Any, task: Any = None) -> np.ndarray:
        """The most probable label of each row; ``task`` has the tasks of the rows, or the one task of all."""
        most_probable = self.predict_proba(X, task).argmax(axis=1)
        return self.classes_[most_probable]

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: Any = None) -> float:
        """The share of labels that are right."""
        return float(accuracy_score(y, self.predict(X, task), sample_weight=sample_weight))

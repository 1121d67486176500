"""MultiTaskIVM: what several tasks have in common is learned once, and a new task needs a handful of rows."""

from __future__ import annotations

import copy
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..hyper.tasks import TaskModel
from ..inference import IVM, Exact
from ..inference.active.tasks import Selection, select_across
from ..inference.base import Fit
from ..inference.posteriors import GaussianPosterior, Latent
from ..kernels import RBF, Kernel
from ..likelihoods import Gaussian
from ..numerics import linalg
from ..training.active import check_room, one_theta, warn_if_too_many
from ..training.learning import Fitted
from ._base import GPEstimator
from ._classifying import GPClassifierMixin, best_engine
from ._labels import is_missing, refuse_mixed_labels
from ._regressing import GPRegressorMixin

PROBLEMS = ("auto", "classification", "regression")
#: Fitted attributes that only labels, or only numbers, have.
_OF_ONE_KIND = (
    "problem_",
    "classes_",
    "calibration_",
    "loo_proba_",
    "target_mean_",
    "target_scale_",
    "noise_std_",
    "_log_units",
)


def _classifies(estimator: MultiTaskIVM) -> bool:
    """For methods that only labels have."""
    if estimator._regression:
        raise AttributeError(f"{type(estimator).__name__} predicts numbers here, which have no probabilities")
    return True


class MultiTaskIVM(GPClassifierMixin, GPRegressorMixin, GPEstimator):
    """Many related tasks, each a Gaussian process of its own, with one kernel learned from all of them.

    Every task (a speaker, a patient, a plant) has rows and labels, or numbers, of its own. Given the kernel the tasks
    are independent; what they share is the kernel's parameters, learned from all of them (LPJ05 section 5). ``adapt``
    then makes a model for a new task of a handful of rows. The ``n_active`` rows that are kept are chosen across tasks,
    the most informative one of any task next: tasks that have more to say get more of them.

    Parameters
    ----------
    kernel : kernel of ``gpclass.kernels`` or of scikit-learn, default=None
        As for ``GPClassifier``.
    n_active : int or None, default=None
        Number of rows to keep over all tasks, at least one for each; None is 500, or all where there are fewer.
    problem : "auto", "classification" or "regression", default="auto"
        What y holds. "auto" takes numbers with fractions for regression and everything else for labels.
    likelihood : Likelihood or str, default=None
        As for ``IVMClassifier``, or ``Gaussian`` for regression, its variance in units of the variance of y.
    criterion, update, refine, calibration, dtype
        As for ``IVMClassifier``.
    hyper : str or an object of ``gpclass.hyper``, default="evidence"
        "evidence" learns the shared kernel by the sum of the tasks' evidences (of at most 350 rows of each), "loo" by
        their leave-one-out predictions, "alternating" from the active rows in turns with their selection (LPJ05
        algorithms 2 and 3), which is the quickest; "fixed" leaves it alone.
    n_restarts_optimizer, standardize, random_state, n_jobs, verbose
        As for ``IVMClassifier``; inputs are scaled alike for all tasks.

    Attributes
    ----------
    tasks_ : names of the tasks, sorted
    active_ : (S,) rows kept, in the order of their inclusion, as rows of the X of ``fit``
    active_task_ : (S,) the task of each of them
    posteriors_ : one posterior for each of ``tasks_``
    log_evidence_, objective_ : float, sums over tasks of the log evidence of their active rows, and of what the engine
        raised for it
    info_ : how inference went, one for each of ``tasks_``
    classes_, kernel_, likelihood_, calibration_, loo_proba_, relevance_, hyper_, n_features_in_
        As for ``IVMClassifier``; ``noise_std_`` for regression.

    Examples
    --------
    >>> import numpy as np
    >>> from gpclass import MultiTaskIVM
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> task = np.repeat(["a", "b", "c"], 20)
    >>> y = np.sin(2 * X[:, 0]) > 0
    >>> model = MultiTaskIVM(n_active=30).fit(X, y, task=task)
    >>> new = model.adapt([[-2.4], [-0.8], [0.8], [2.4]], [True, False, True, False])
    >>> new.predict([[0.6], [2.6]]).tolist()
    [True, False]
    """

    info_: Any
    _files_rows = False

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_active: int | None = None,
        problem: str = "auto",
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
        self.problem = problem
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

    # ---- what kind of problem --------------------------------------------------------------------------

    @property
    def _regression(self) -> bool:
        """Whether y holds numbers; before fitting, as far as it is known."""
        return getattr(self, "problem_", self.problem) == "regression"

    @property
    def _start_variance(self) -> float:  # type: ignore[override]
        return 1.0 if self._regression else GPClassifierMixin._start_variance

    def _default_shape(self, length_scale: float) -> Kernel:
        return RBF(length_scale) if self._regression else super()._default_shape(length_scale)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = getattr(self, "problem_", self.problem)
        tags.estimator_type = {"classification": "classifier", "regression": "regressor"}.get(known)
        tags.classifier_tags = ClassifierTags() if tags.estimator_type == "classifier" else None
        tags.regressor_tags = RegressorTags() if tags.estimator_type == "regressor" else None
        return tags

    def _settle_problem(self, y: Any) -> None:
        if self.problem not in PROBLEMS:
            raise ValueError(f"problem must be one of {list(PROBLEMS)}, got {self.problem!r}")
        values = np.asarray(y)
        if values.dtype == object and all(isinstance(value, Real) for value in values.ravel()):
            values = values.astype(float)
        fractions = values.dtype.kind == "f" and bool(np.any(np.isfinite(values) & (values != np.round(values))))
        self.problem_ = ("regression" if fractions else "classification") if self.problem == "auto" else self.problem
        if self.problem_ == "classification" and fractions:
            raise ValueError(
                "problem='classification' expects labels, got numbers with fractions in y (unknown label type: "
                "continuous); use problem='regression'"
            )

    # ---- fitting ---------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, task: Any = None) -> MultiTaskIVM:
        """Fit to rows X (n, n_features) with labels or numbers y (n,), row i belonging to ``task[i]``.

        Without ``task`` all rows are one task. An interrupt (Ctrl-C) while rows are chosen leaves a model of those
        chosen so far, once every task has one, and is then raised. In a pipeline or in cross validation ``task``
        travels by scikit-learn's metadata routing: ``set_fit_request(task=True).set_score_request(task=True)``.
        """
        self._check_calibration()
        with self._fitting():
            for name in _OF_ONE_KIND:  # labels and numbers leave different things behind
                self.__dict__.pop(name, None)
            X, target = self._checked_rows(X, y, first=True)
            groups = self._encode_tasks(task, target)
            likelihood = self._noise() if self._regression else self._resolve_likelihood(len(self.classes_))
            n_latent = 1 if self._regression else likelihood.n_latent(len(self.classes_))
            ivm = self._ivm(Exact() if self._regression else best_engine(likelihood))
            if ivm.size(len(X)) < len(groups):
                raise ValueError(
                    f"expected n_active of at least one row for each of {len(groups)} tasks, got {self.n_active}"
                )
            warn_if_too_many(ivm, len(X))
            hyper = one_theta(self, len(X), likelihood, held_out=False)
            model = self._model_of(X, target, likelihood, ivm, n_latent)  # type: ignore[arg-type]
            model = TaskModel(**vars(model), groups=groups)
            selector = ivm.selector(model.kernel, likelihood, n_latent)
            check_room([len(own) for own in groups], ivm, ivm.n_groups(model.kernel, n_latent, selector))
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
            rows = self._learn_theta(model, hyper, ivm, rng).X  # type: ignore[arg-type]
            selection_rng = None if self.random_state is None else rng
            fits, interrupted = self._choose(rows, target, groups, ivm, n_latent, selection_rng)
            self._warn_about(ivm, next((fit for fit in fits if not fit.info.converged), fits[0]))  # type: ignore[arg-type]
        if interrupted:
            raise KeyboardInterrupt(f"the model has the {len(self.active_)} rows chosen so far")
        return self

    def _checked_rows(self, X: Any, y: Any, first: bool) -> tuple[np.ndarray, np.ndarray]:
        """Rows, and labels as whole numbers or numbers in units of their spread."""
        if first:
            self._settle_problem(y)
        settings: dict[str, Any] = {"order": "C", "first": first, "ensure_min_samples": 2 if first else 1}
        if self._regression:
            X, y = self._validated(X, y, y_numeric=True, **settings)
            y = np.asarray(y, dtype=float)
            return X, self._settle_target(y) if first else (y - self.target_mean_) / self.target_scale_
        refuse_mixed_labels(y)
        X, y = self._validated(X, y, **settings)
        if first:
            return X, self._encode(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"expected labels of the classes {self.classes_.tolist()}, got {unknown.tolist()} too")
        return X, np.searchsorted(self.classes_, y)

    def _encode_tasks(self, task: Any, target: np.ndarray) -> tuple[np.ndarray, ...]:
        """The rows of each task."""
        task = np.zeros(len(target), int) if task is None else self._checked_task(task)
        check_consistent_length(target, task)
        self.tasks_, codes = np.unique(task, return_inverse=True)
        groups = tuple(np.flatnonzero(codes == m) for m in range(len(self.tasks_)))
        for name, own in zip(self.tasks_.tolist(), groups, strict=True):
            if len(own) < 2:
                raise ValueError(f"expected at least 2 rows in every task, got 1 row in task {name!r}")
            if not self._regression and len(np.unique(target[own])) < 2:
                only = self.classes_.tolist()[target[own[0]]]
                raise ValueError(
                    f"expected labels of at least 2 classes in every task, got 1 class in task {name!r}: all "
                    f"{len(own)} labels are {only!r}"
                )
        return groups

    def _checked_task(self, task: Any) -> np.ndarray:
        names = np.asarray(task, dtype=object)
        names = names[:, 0] if names.ndim == 2 and names.shape[1] == 1 else names
        if names.ndim != 1:
            raise ValueError(f"expected task (n,), the task of each row, got an array of shape {names.shape}")
        missing = [i for i, name in enumerate(names) if is_missing(name)]
        if missing:
            raise ValueError(f"expected a task for every row, got {names[missing[0]]!r} in row {missing[0]}")
        if len({isinstance(name, str) for name in names}) > 1:
            raise ValueError("expected names of tasks of one type, got strings and others")
        plain = np.array(names.tolist())
        if plain.shape != names.shape:
            raise ValueError(f"expected strings or numbers for the names of tasks, got {names[0]!r}")
        # NumPy drops zeros at the end of strings and rounds large whole numbers among others: two names become one.
        return plain if plain.tolist() == names.tolist() else names

    def _ivm(self, learner: Any) -> IVM:
        return IVM(
            n_active=self.n_active,
            criterion=self.criterion,
            update=self.update,
            refine=self.refine,
            dtype=self.dtype,
            learner=learner,
        )

    def _choose(
        self,
        rows: np.ndarray,
        target: np.ndarray,
        groups: tuple[np.ndarray, ...],
        ivm: IVM,
        n_latent: int,
        selection_rng: np.random.Generator | None,
    ) -> tuple[list[Fit], bool]:
        """Choose active rows across tasks, refine the tasks side by side, and calibrate; their fits, and whether Ctrl-C
        cut it short."""
        tasks = [(rows[own], target[own]) for own in groups]
        found = select_across(ivm, self.kernel_, tasks, self.likelihood_, n_latent, selection_rng)
        interrupted = found.interrupted
        sites = [active.sites() for active in found.active]

        def finish(refined: IVM) -> list[Fit]:
            return linalg.for_each_class(
                lambda m: refined.finish(found.active[m], tasks[m][1], self.likelihood_), len(tasks), len(rows)
            )

        try:
            fits = finish(ivm)
        except KeyboardInterrupt:  # the rows chosen stay, as they were before refinement
            for active, before in zip(found.active, sites, strict=True):
                active.clear()
                active.include_all(*before)
            fits, interrupted = finish(replace(ivm, refine=False)), True
        self._keep(rows, groups, found, fits)
        mean, variance = np.empty((2, len(rows), n_latent))
        for own, fit in zip(groups, fits, strict=True):
            assert fit.loo is not None
            mean[own], variance[own] = fit.loo
        if self._regression:
            self._in_units_of_target(len(rows), len(self.active_))
        else:
            self._calibrate_labels(target, [Fitted(1.0, fits[0]._replace(loo=(mean, variance)), self.likelihood_)])
        return fits, interrupted

    def _keep(self, rows: np.ndarray, groups: tuple[np.ndarray, ...], found: Selection, fits: list[Fit]) -> None:
        """What was chosen and found, task by task."""
        places = [iter(own[active.rows]) for own, active in zip(groups, found.active, strict=True)]
        self.active_ = np.array([next(places[m]) for m in found.order])
        self.active_task_ = self.tasks_[found.order]
        self.posteriors_ = tuple(
            GaussianPosterior(self.kernel_, rows[own[active.rows]], fit.weights)
            for own, active, fit in zip(groups, found.active, fits, strict=True)
        )
        self.log_evidence_ = sum(fit.log_evidence for fit in fits)
        self.objective_ = sum(fit.objective for fit in fits)
        self.info_ = tuple(fit.info for fit in fits)
        self.n_iter_ = sum(fit.info.n_iter for fit in fits)

    def adapt(self, X: Any, y: Any) -> MultiTaskIVM:
        """A model for a new task, of rows X and their y, with the kernel, scales and calibration learned here.

        It predicts without ``task``. Labels must be among ``classes_``; a handful of rows will do. This model stays as
        it is.
        """
        check_is_fitted(self)
        new = copy.copy(self)
        X, target = new._checked_rows(X, y, first=False)
        new.tasks_ = np.array(["adapted"])
        rows, groups, n_latent = self._scaled(X), (np.arange(len(X)),), self.posteriors_[0].n_latent
        new._model = replace(self._model, X=rows, y=target, groups=groups)  # type: ignore[call-arg]
        if new._choose(rows, target, groups, self._ivm(Exact()), n_latent, None)[1]:
            raise KeyboardInterrupt
        if not self._regression:  # a handful of rows calibrates nothing
            new.calibration_, new.loo_proba_ = self.calibration_, None
        return new

    # ---- prediction ------------------------------------------------------------------------------------

    def _by_task(self, X: Any, task: Any) -> tuple[np.ndarray, list[tuple[np.ndarray, GaussianPosterior]]]:
        """New rows in the kernel's units, and which of them belong to which posterior."""
        X = self._checked(X)
        if task is None:
            if len(self.tasks_) > 1:
                raise ValueError(
                    f"expected task=, the task of each row, one of {self.tasks_.tolist()}; got none. For a new task "
                    "there is adapt(X, y)"
                )
            return X, [(np.arange(len(X)), self.posteriors_[0])]
        task = self._checked_task([task] * len(X) if np.ndim(task) == 0 else task)
        check_consistent_length(X, task)
        unknown = sorted(set(task.tolist()) - set(self.tasks_.tolist()), key=str)
        if unknown:
            raise ValueError(
                f"expected tasks among {self.tasks_.tolist()}, got {unknown} too; for a new task there is adapt(X, y)"
            )
        rows = [np.flatnonzero(task == name) for name in self.tasks_]
        return X, [(own, posterior) for own, posterior in zip(rows, self.posteriors_, strict=True) if len(own)]

    def latent(self, X: Any, task: Any = None, full_cov: bool = False) -> Latent:  # type: ignore[override]
        """Gaussian beliefs about the latent functions at the rows of X; ``task`` has their tasks, or the one of all.

        As ``GPClassifier.latent``; rows of different tasks have no covariance.
        """
        X, parts = self._by_task(X, task)
        n, C = len(X), self.posteriors_[0].n_latent
        mean, cov = np.zeros((n, C)), np.zeros((C, n, n) if full_cov else (n, C))
        for own, posterior in parts:
            found = posterior.joint(X[own]) if full_cov else posterior.latent(X[own])
            mean[own] = found.mean
            if full_cov:
                cov[:, own[:, None], own] = found.cov
            else:
                cov[own] = found.cov
        return Latent(mean, cov)

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: Any = None, task: Any = None) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at the rows of X, correlated between rows of a task."""
        X, parts = self._by_task(X, task)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        draws = np.empty((n_samples, len(X), self.posteriors_[0].n_latent))
        for own, posterior in parts:
            draws[:, own] = posterior.sample(X[own], n_samples, rng)
        return draws

    @available_if(_classifies)
    def predict_log_proba(self, X: Any, task: Any = None) -> np.ndarray:
        """Log probabilities (m, n_classes); ``task`` has the tasks of the rows, or the one task of all."""
        mean, variance = self.latent(X, task)
        return self.calibration_.log_proba(self.likelihood_, mean, variance)

    @available_if(_classifies)
    def predict_proba(self, X: Any, task: Any = None) -> np.ndarray:
        """Probabilities (m, n_classes); ``task`` has the tasks of the rows, or the one task of all."""
        proba = np.exp(self.predict_log_proba(X, task))
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X: Any, task: Any = None, return_std: bool = False) -> Any:  # type: ignore[override]
        """The most probable label of each row, or the mean of its number; ``task`` as above.

        ``return_std`` adds, for numbers, their standard deviations, noise included.
        """
        check_is_fitted(self)
        if not self._regression:
            if return_std:
                raise ValueError("return_std is for regression; labels have predict_proba")
            return self.classes_[self.predict_proba(X, task).argmax(axis=1)]
        mean, variance = self.latent(X, task)
        noise = self.likelihood_
        assert isinstance(noise, Gaussian)
        number = self._units(mean[:, 0] + noise.bias)
        spread = self.target_scale_ * np.sqrt(variance[:, 0] + noise.variance)
        return (number, spread) if return_std else number

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """Share of labels that are right, or R^2 for numbers."""
        score = r2_score if self._regression else accuracy_score
        return float(score(y, self.predict(X, task), sample_weight=sample_weight))

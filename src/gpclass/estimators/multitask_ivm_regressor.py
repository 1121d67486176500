"""MultiTaskIVMRegressor: related regression tasks with one kernel learned from all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.metrics import r2_score

from ..inference import Exact
from ._base import GPEstimator
from ._inputs import Inputs
from ._regressing import GPRegressorMixin
from ._targets import Targets, check_targets
from ._tasks import MultiTaskMixin


class MultiTaskIVMRegressor(MultiTaskMixin, GPRegressorMixin, GPEstimator):
    """Gaussian-process regression for many related tasks, with one kernel learned from all of them.

    Like ``MultiTaskIVMClassifier``, for continuous targets, which are centred and scaled in the same way for all tasks.

    Parameters
    ----------
    n_active, hyper : as for ``MultiTaskIVMClassifier``
    kernel, likelihood, criterion, dtype, n_restarts_optimizer, standardize, random_state, n_jobs, verbose
        As for ``IVMRegressor``; inputs are scaled in the same way for all tasks.

    Attributes
    ----------
    tasks_, active_, active_task_, posteriors_, log_evidence_, objective_, info_
        As for ``MultiTaskIVMClassifier``.
    kernel_, likelihood_, relevance_, hyper_, noise_std_, n_features_in_
        As for ``IVMRegressor``.

    Examples
    --------
    >>> import numpy as np
    >>> from gpclass import MultiTaskIVMRegressor
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> task = np.repeat(["a", "b", "c"], 20)
    >>> model = MultiTaskIVMRegressor(n_active=30).fit(X, np.sin(2 * X[:, 0]), task=task)
    >>> model.predict([[0.8]], task="b").round(1).tolist()
    [1.0]
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_active: int | None = None,
        likelihood: Any = None,
        criterion: str = "auto",
        hyper: Any = "evidence",
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
        self.hyper = hyper
        self.dtype = dtype
        self.n_restarts_optimizer = n_restarts_optimizer
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, task: Any = None) -> MultiTaskIVMRegressor:
        """Fit to rows X (n, n_features) with targets y (n,), row i belonging to ``task[i]``; as for
        ``MultiTaskIVMClassifier``."""
        with self._monitor() as monitor:
            inputs, raw, y = Inputs.fit(self, X, check_targets(y), order="C", y_numeric=True, ensure_min_samples=2)
            order = self._row_order(raw, y)
            raw, y = raw[order.rows], np.asarray(y, dtype=float)[order.rows]
            targets = Targets.of(y)
            names, groups = self._groups(task, order)
            inputs = inputs.standardized(raw, self.kernel, self.standardize)
            trained = self._train(inputs, raw, targets.transform(y), groups, order, self._noise(), Exact(), monitor)
        attributes = self._target_attributes(targets, trained, len(y), len(trained.active))
        self._store(inputs, trained, **attributes | self._task_attributes(names, trained))
        return self

    def adapt(self, X: Any, y: Any) -> MultiTaskIVMRegressor:
        """A model for a new task, of rows X and their targets y, with the kernel, noise and scales learned here.

        It predicts without ``task``; a handful of rows will do. This model stays as it is.
        """
        raw, y = self._check_new_task(X, check_targets(y), y_numeric=True)
        new, trained = self._adapted(raw, self._targets.transform(y))
        attributes = self._target_attributes(self._targets, trained, len(y), len(trained.active))
        new._store(self._inputs, trained, **attributes | self._task_attributes(np.array(["adapted"]), trained))
        return new

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, task: Any = None) -> Any:
        """Mean (m,) of new targets; with ``return_std`` or ``return_cov`` also their spread, noise included.

        ``task`` has the tasks of the rows, or the one task of all.
        """

        def moments() -> tuple[np.ndarray, np.ndarray]:
            mean, cov = self.latent(X, return_cov, task)
            noise = self.likelihood_.params["variance"]
            spread = cov[0] + noise * np.eye(len(mean)) if return_cov else cov[:, 0] + noise
            return mean[:, 0] + self.likelihood_.params["bias"], spread

        return self._in_units(return_std, return_cov, moments)

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: Any = None) -> float:
        """The coefficient of determination R^2."""
        return float(r2_score(y, self.predict(X, task=task), sample_weight=sample_weight))

"""What the multi-task estimators share: tasks by name, one posterior for each, and models for new tasks."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..hyper import Fixed
from ..inference import Exact
from ..inference.base import Engine, Latent
from ..inference.posteriors import GaussianPosterior
from ..inference.problem import TaskProblem
from ..likelihoods import Likelihood
from ..training.active import TrainedTasks, train_tasks
from ..training.monitor import SILENT, Monitor
from ..training.row_order import RowOrder
from ..training.trained import LabelWeights
from ._active import ACTIVE_FLAW, ivm_of
from ._base import Base, choose_search, generator
from ._inputs import Inputs
from ._labels import is_missing

#: Searches that sum over tasks.
SEARCHES = ("evidence", "alternating", "loo", "fixed")


class MultiTaskMixin(Base):
    """For estimators that are also ``GPEstimator``."""

    n_active: int | None
    criterion: str
    dtype: str
    tasks_: np.ndarray
    posteriors_: tuple[GaussianPosterior, ...]
    # Gaussian sites are exact: there is one way to include a row, and nothing to refine.
    update: str = "adf"
    refine: bool = False
    _saves_rows = False
    _loo_flaw: str | None = ACTIVE_FLAW

    def _train(
        self,
        inputs: Inputs,
        rows: np.ndarray,
        y: np.ndarray,
        groups: tuple[np.ndarray, ...],
        order: RowOrder,
        likelihood: Likelihood,
        learn_by: Engine,
        monitor: Monitor,
        n_latent: int = 1,
        labels: LabelWeights | None = None,
        calibrates: bool = True,
    ) -> TrainedTasks:
        """Train on rows in this order; the result numbers them as the table does."""
        ivm = ivm_of(self, learn_by)
        if ivm.size(len(y)) < len(groups):
            raise ValueError(
                f"expected n_active of at least one row for each of {len(groups)} tasks, got {self.n_active}"
            )
        search = choose_search(self.hyper, SEARCHES, type(self).__name__)
        problem = self._problem(inputs, rows, y, likelihood, n_latent, numbers=order.rows)
        return train_tasks(
            TaskProblem(**vars(problem), groups=groups),
            self._settings(ivm, search, calibrates),
            generator(self.random_state),
            monitor,
            labels,
            random_ties=self.random_state is not None,
        ).renumbered(order.rows)

    def _task_attributes(self, names: np.ndarray, trained: TrainedTasks) -> dict[str, Any]:
        return {"tasks_": names, "active_": trained.active, "active_task_": names[trained.order]}

    def _adapted(self, rows: np.ndarray, y: np.ndarray) -> tuple[Any, TrainedTasks]:
        """A new estimator with the parameters of this one, and what it is to store: a task of checked rows, with the
        kernel, likelihood and units learned here."""
        order = RowOrder.of(rows, y)
        X, y = self._inputs.scaled(rows[order.rows]), y[order.rows]
        n_latent, groups = self.posteriors_[0].n_latent, (np.arange(len(X)),)
        problem = TaskProblem(self.kernel_, self.likelihood_, X, y, n_latent, groups)
        ivm = ivm_of(self, Exact())
        settings = self._settings(replace(ivm, n_active=ivm.size(len(X))), Fixed())
        trained = train_tasks(problem, settings, generator(self.random_state), SILENT)
        if trained.interrupted:
            raise KeyboardInterrupt
        return clone(self), trained.renumbered(order.rows)

    # ---- tasks by name ---------------------------------------------------------------------------------

    @staticmethod
    def _groups(task: Any, order: RowOrder) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Names of the tasks, sorted, and the rows of each, counted in this order."""
        task = np.zeros(len(order.rows), int) if task is None else _checked_tasks(task)
        check_consistent_length(order.rows, task)
        names, codes = np.unique(task, return_inverse=True)
        groups = tuple(np.flatnonzero(codes[order.rows] == m) for m in range(len(names)))
        for name, own in zip(names.tolist(), groups, strict=True):
            if len(own) < 2:
                raise ValueError(f"expected at least 2 rows in every task, got 1 row in task {name!r}")
        return names, groups

    def _by_task(self, n_rows: int, task: Any) -> Iterator[tuple[np.ndarray, GaussianPosterior]]:
        """Which of so many rows belong to which posterior."""
        if task is None:
            if len(self.tasks_) > 1:
                raise ValueError(
                    f"expected task=, the task of each row, one of {self.tasks_.tolist()}; got none. For a new task "
                    "there is adapt(X, y)"
                )
            yield np.arange(n_rows), self.posteriors_[0]
            return
        task = _checked_tasks([task] * n_rows if np.ndim(task) == 0 else task)
        check_consistent_length(range(n_rows), task)
        unknown = sorted(set(task.tolist()) - set(self.tasks_.tolist()), key=str)
        if unknown:
            raise ValueError(
                f"expected tasks among {self.tasks_.tolist()}, got {unknown} too; for a new task there is adapt(X, y)"
            )
        for name, posterior in zip(self.tasks_, self.posteriors_, strict=True):
            own = np.flatnonzero(task == name)
            if len(own):
                yield own, posterior

    def latent(self, X: Any, full_cov: bool = False, task: Any = None) -> Latent:
        """Gaussian distributions of the latent functions at the rows of X; ``task`` has their tasks, or the one of all.

        As ``GPClassifier.latent``; rows of different tasks have no covariance.
        """
        rows = self._rows(X)
        n, C = len(rows), self.posteriors_[0].n_latent
        mean, cov = np.zeros((n, C)), np.zeros((C, n, n) if full_cov else (n, C))
        for own, posterior in self._by_task(n, task):
            found = posterior.joint(rows[own]) if full_cov else posterior.latent(rows[own])
            mean[own] = found.mean
            if full_cov:
                cov[:, own[:, None], own] = found.cov
            else:
                cov[own] = found.cov
        return Latent(mean, cov)

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: Any = None, task: Any = None) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at the rows of X, correlated between rows of a task."""
        rows, rng = self._rows(X), generator(random_state)
        draws = np.empty((n_samples, len(rows), self.posteriors_[0].n_latent))
        for own, posterior in self._by_task(len(rows), task):
            draws[:, own] = posterior.sample(rows[own], n_samples, rng)
        return draws

    def _check_new_task(self, X: Any, y: Any, **checks: Any) -> tuple[np.ndarray, Any]:
        check_is_fitted(self)
        return self._inputs.check(self, X, y, order="C", **checks)


def _checked_tasks(task: Any) -> np.ndarray:
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

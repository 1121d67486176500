"""Several models with one theta: tasks, and one class against the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import linalg
from ..inference.active_set import ActiveSet
from ..inference.ivm import IVM
from ..inference.tasks import select_across
from ..likelihoods import Likelihood
from .objective import Model, spread_rows


@dataclass(frozen=True)
class TaskModel(Model):
    """Independent tasks that share kernel and likelihood (LPJ05 section 5): task m has the rows ``groups[m]``.

    Evidence and leave-one-out scores are sums over tasks, which are worked out side by side.
    """

    groups: tuple[np.ndarray, ...]

    @property
    def parts(self) -> tuple[Model, ...]:
        return tuple(
            Model(self.kernel, self.likelihood.take(own), self.engine, self.X[own], self.y[own], self.n_latent)
            for own in self.groups
        )

    def thinned(self, max_rows: int) -> TaskModel:
        """At most so many rows of every task, whose cost is the cube of its own size."""
        kept = [own[spread_rows(self.y[own], max_rows)] for own in self.groups]
        ends = np.cumsum([len(own) for own in kept])
        rows = np.concatenate(kept)
        groups = tuple(np.arange(end - len(own), end) for own, end in zip(kept, ends, strict=True))
        return replace(self, X=self.X[rows], y=self.y[rows], likelihood=self.likelihood.take(rows), groups=groups)

    def select(self, ivm: IVM, theta: np.ndarray) -> tuple[list[ActiveSet], bool]:
        kernel, likelihood = self.at(theta)
        tasks = [(self.X[own], self.y[own]) for own in self.groups]
        found = select_across(ivm, kernel, tasks, likelihood, self.n_latent)
        return found.active, found.interrupted

    def evidence(self, theta: np.ndarray) -> float:
        return sum(part.evidence(theta) for part in self.parts)

    def value_and_gradient(
        self, theta: np.ndarray, init: Any = None, *, strict: bool = False
    ) -> tuple[float, np.ndarray, Any]:
        parts = self.parts

        def work(m: int) -> tuple[float, np.ndarray, Any]:
            return parts[m].value_and_gradient(theta, None if init is None else init[m], strict=strict)

        values, gradients, states = zip(*self._each(work), strict=True)
        return sum(values), np.sum(gradients, axis=0), states

    def loo_score(self, theta: np.ndarray, init: Any = None) -> tuple[float, Any]:
        parts = self.parts
        scores, states = zip(
            *self._each(lambda m: parts[m].loo_score(theta, None if init is None else init[m])), strict=True
        )
        return sum(scores), states

    def _each(self, work: Any) -> list[Any]:
        return linalg.for_each_class(work, len(self.groups), max(map(len, self.groups)))


@dataclass(frozen=True)
class OneAgainstRest(Model):
    """One binary model for each class, with labels 1 for it, 0 for the others, and -1 where there is none.

    They share the kernel; ``likelihoods`` (one for each class) share what is free of their parameters.
    """

    likelihoods: tuple[Likelihood, ...]

    @property
    def parts(self) -> tuple[Model, ...]:
        return tuple(
            Model(self.kernel, likelihood, self.engine, self.X, np.where(self.y < 0, -1, self.y == c).astype(int), 1)
            for c, likelihood in enumerate(self.likelihoods)
        )

    def select(self, ivm: IVM, theta: np.ndarray) -> tuple[list[ActiveSet], bool]:
        chosen = [part.select(ivm, theta) for part in self.parts]
        return [own for active, _ in chosen for own in active], any(interrupted for _, interrupted in chosen)

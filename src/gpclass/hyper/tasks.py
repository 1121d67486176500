"""Several models with one theta: tasks, and one class against the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..inference.active.active_set import ActiveSet
from ..inference.active.ivm import IVM
from ..inference.active.tasks import select_across
from ..likelihoods import Likelihood
from ..numerics import linalg
from .objective import Model, spread_rows


class SeveralModels(Model):
    """Models that are independent given theta, and share it: evidence and leave-one-out scores are sums over ``parts``,
    which are worked out side by side."""

    def evidence(self, theta: np.ndarray) -> float:
        return sum(part.evidence(theta) for part in self.parts)

    def value_and_gradient(
        self, theta: np.ndarray, init: Any = None, *, strict: bool = False
    ) -> tuple[float, np.ndarray, Any]:
        found = self._each(lambda part, state: part.value_and_gradient(theta, state, strict=strict), init)
        values, gradients, states = zip(*found, strict=True)
        return sum(values), np.sum(gradients, axis=0), states

    def loo_score(self, theta: np.ndarray, init: Any = None) -> tuple[float, Any]:
        scores, states = zip(*self._each(lambda part, state: part.loo_score(theta, state), init), strict=True)
        return sum(scores), states

    def _each(self, work: Callable[[Model, Any], Any], init: Any) -> list[Any]:
        parts = self.parts
        states = [None] * len(parts) if init is None else init
        return linalg.for_each_class(
            lambda m: work(parts[m], states[m]), len(parts), max(len(part.y) for part in parts)
        )


@dataclass(frozen=True)
class TaskModel(SeveralModels):
    """Independent tasks that share kernel and likelihood (LPJ05 section 5): task m has the rows ``groups[m]``."""

    groups: tuple[np.ndarray, ...]

    @property
    def parts(self) -> tuple[Model, ...]:
        return tuple(
            Model(self.kernel, self.likelihood.subset(own), self.engine, self.X[own], self.y[own], self.n_latent)
            for own in self.groups
        )

    def spread_rows(self, max_rows: int) -> np.ndarray:
        """At most so many rows of every task, whose cost is the cube of its own size."""
        return np.concatenate([own[spread_rows(self.y[own], max_rows)] for own in self.groups])

    def thinned(self, max_rows: int) -> TaskModel:
        rows = self.spread_rows(max_rows)
        groups = tuple(np.flatnonzero(np.isin(rows, own)) for own in self.groups)
        return replace(self, X=self.X[rows], y=self.y[rows], likelihood=self.likelihood.subset(rows), groups=groups)

    def select(self, ivm: IVM, theta: np.ndarray) -> tuple[list[ActiveSet], bool]:
        kernel, likelihood = self.at(theta)
        tasks = [(self.X[own], self.y[own]) for own in self.groups]
        found = select_across(ivm, kernel, tasks, likelihood, self.n_latent)
        return found.active, found.interrupted


@dataclass(frozen=True)
class OneAgainstRest(SeveralModels):
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
        chosen: list[ActiveSet] = []
        for part in self.parts:
            active, interrupted = part.select(ivm, theta)
            chosen += active
            if interrupted:
                return chosen, True
        return chosen, False

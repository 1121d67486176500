"""What is to be learned from what: a kernel, a likelihood, and data.

theta is the vector of all free parameters, the kernel's before the likelihood's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..kernels import Kernel
from ..kernels.rows import select
from ..likelihoods import Likelihood
from ..numerics.parameters import ThetaEntry
from .inducing.features import ArrayRows, Features


@dataclass(frozen=True)
class Problem:
    """Rows X in the kernel's units with observations y, and the model for them at its starting values."""

    kernel: Kernel
    likelihood: Likelihood
    X: Any
    y: np.ndarray
    n_latent: int

    #: whether the problem consists of independent parts that share theta
    has_parts: ClassVar[bool] = False
    #: whether active rows are selected jointly over all parts
    shared_budget: ClassVar[bool] = False

    @property
    def n_rows(self) -> int:
        return len(self.y)

    @property
    def theta(self) -> np.ndarray:
        return np.concatenate([self.kernel.theta, self.likelihood.theta])

    @property
    def theta_bounds(self) -> np.ndarray:
        return np.concatenate([self.kernel.theta_bounds, self.likelihood.theta_bounds])

    @property
    def theta_entries(self) -> tuple[ThetaEntry, ...]:
        """What each entry of theta is; names of the likelihood's have the prefix "likelihood."."""
        return (*self.kernel.theta_entries, *(entry.within("likelihood") for entry in self.likelihood.theta_entries))

    @property
    def theta_names(self) -> list[str]:
        """Names of the entries of theta."""
        return [entry.name for entry in self.theta_entries]

    @property
    def parameter_names(self) -> list[str]:
        """Names of all parameters, fixed ones too."""
        return [*self.kernel.parameters, *(f"likelihood.{name}" for name in self.likelihood.parameters)]

    @property
    def positive(self) -> np.ndarray:
        """Which entries of theta are logarithms of positive parameters, (P,)."""
        return np.array([entry.positive for entry in self.theta_entries], bool)

    def at(self, theta: np.ndarray) -> tuple[Kernel, Likelihood]:
        """Kernel and likelihood with these values."""
        split = self.kernel.n_theta
        return self.kernel.with_theta(theta[:split]), self.likelihood.with_theta(theta[split:])

    def started_at(self, theta: np.ndarray) -> Problem:
        """The same problem with these starting values."""
        kernel, likelihood = self.at(theta)
        return replace(self, kernel=kernel, likelihood=likelihood)

    def subset(self, rows: np.ndarray) -> Problem:
        """The same problem on some of the rows."""
        return replace(self, X=select(self.X, rows), y=self.y[rows], likelihood=self.likelihood.subset(rows))

    def spread_rows(self, max_rows: int) -> np.ndarray:
        """At most so many rows, evenly spaced within each class."""
        return spread_rows(self.y, max_rows)

    def thinned(self, max_rows: int) -> Problem:
        """The same problem on at most so many rows."""
        return self if self.n_rows <= max_rows else self.subset(self.spread_rows(max_rows))

    @property
    def parts(self) -> tuple[Problem, ...]:
        """Problems that are independent given theta."""
        return (self,)

    def features(self, kernel: Kernel) -> Features:
        raise TypeError("expected a problem with inducing points, got one without")


@dataclass(frozen=True)
class InducingProblem(Problem):
    """A problem that is solved through the inducing points Z."""

    Z: np.ndarray

    def features(self, kernel: Kernel) -> Features:
        return Features(kernel, self.Z, ArrayRows(self.X))


@dataclass(frozen=True)
class TaskProblem(Problem):
    """Independent tasks that share kernel and likelihood (LPJ05 section 5): task m has the rows ``groups[m]``."""

    groups: tuple[np.ndarray, ...]

    has_parts: ClassVar[bool] = True
    shared_budget: ClassVar[bool] = True

    @property
    def parts(self) -> tuple[Problem, ...]:
        return tuple(
            Problem(self.kernel, self.likelihood.subset(own), self.X[own], self.y[own], self.n_latent)
            for own in self.groups
        )

    def spread_rows(self, max_rows: int) -> np.ndarray:
        """At most so many rows of every task, whose cost is the cube of its own size."""
        return np.concatenate([own[spread_rows(self.y[own], max_rows)] for own in self.groups])

    def subset(self, rows: np.ndarray) -> TaskProblem:
        groups = tuple(np.flatnonzero(np.isin(rows, own)) for own in self.groups)
        return replace(self, X=self.X[rows], y=self.y[rows], likelihood=self.likelihood.subset(rows), groups=groups)

    def thinned(self, max_rows: int) -> TaskProblem:
        return self.subset(self.spread_rows(max_rows))


@dataclass(frozen=True)
class OneVersusRestProblem(Problem):
    """One binary problem for each class, with labels 1 for it, 0 for the others, and -1 where there is none.

    They share the kernel; ``likelihoods`` (one for each class) share those of their parameters that are free.
    """

    likelihoods: tuple[Likelihood, ...]

    has_parts: ClassVar[bool] = True

    @property
    def parts(self) -> tuple[Problem, ...]:
        return tuple(
            Problem(self.kernel, likelihood, self.X, np.where(self.y < 0, -1, self.y == c).astype(int), 1)
            for c, likelihood in enumerate(self.likelihoods)
        )


def rows_by_class(y: np.ndarray) -> list[np.ndarray]:
    """The rows of each class; all rows together for regression targets."""
    labelled = np.issubdtype(y.dtype, np.integer)
    return [np.flatnonzero(y == k) for k in np.unique(y)] if labelled else [np.arange(len(y))]


def spread_rows(y: np.ndarray, max_rows: int) -> np.ndarray:
    """At most so many rows (but one of each class), evenly spaced within each class."""
    n = len(y)
    if n <= max_rows:
        return np.arange(n)
    groups = rows_by_class(y)
    # Every class keeps a share in proportion, and at least a few rows where the budget allows it.
    least = min(5, max(1, max_rows // len(groups)))
    shares = [min(len(g), max(least, round(max_rows * len(g) / n))) for g in groups]
    while sum(shares) > max(max_rows, len(groups)):
        shares[int(np.argmax(shares))] -= 1
    places = [g[np.linspace(0, len(g) - 1, s).round().astype(int)] for g, s in zip(groups, shares, strict=True)]
    return np.sort(np.concatenate(places))


def held_out_rows(y: np.ndarray, n: int) -> np.ndarray:
    """Which n rows (a mask), at most a fifth of each class, are held out to evaluate a model of the others."""
    held_out = np.zeros(len(y), bool)
    for own in rows_by_class(y):
        share = min(round(n * len(own) / len(y)), len(own) // 5)  # rare classes can spare few rows, or none
        held_out[own[np.linspace(0, len(own) - 1, share).round().astype(int)]] = True
    return held_out

"""What learning gives back: one theta, or many with weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..inference.base import Fit

#: Weighted draws count as enough when they are worth this many.
ENOUGH = 10.0


class Samples(NamedTuple):
    """Draws from the posterior of theta.

    ``theta`` is (chains, draws, p), ``log_density`` (chains, draws) up to a constant (of theta and the auxiliaries
    together, for Metropolis within Gibbs). ``weights`` (chains * draws,) sum
    to one; None stands for equal ones. ``n_effective`` counts independent draws: the smallest over the entries of theta
    for a chain (None without ArviZ), (sum w)^2 / sum w^2 for weighted draws. ``r_hat`` is the largest over the entries
    of theta, None for weighted draws; ``pareto_k`` the tail index of importance weights, of which
    values above 0.7 say that few draws carry all the weight. ``acceptance`` is the mean acceptance probability,
    ``n_failed`` the number of proposals where nothing could be computed, which are left out (for NUTS, of diverging
    trajectories).
    """

    theta: np.ndarray
    log_density: np.ndarray
    weights: np.ndarray | None = None
    n_effective: float | None = None
    r_hat: float | None = None
    pareto_k: float | None = None
    acceptance: float | None = None
    n_failed: int = 0

    def __repr__(self) -> str:
        n_chains, n_draws, p = self.theta.shape
        facts = [f"{n_draws} draws of {p} parameters" + (f" in {n_chains} chains" if n_chains > 1 else "")]
        for name in ("n_effective", "r_hat", "pareto_k", "acceptance"):
            value = getattr(self, name)
            if value is not None:
                facts.append(f"{name} {value:.3g}")
        means = ", ".join(f"{m:.2f} ± {s:.2f}" for m, s in zip(self.mean, self.sd, strict=True))
        return f"Samples({', '.join(facts)}; theta {means})"

    @property
    def flat(self) -> np.ndarray:
        """(chains * draws, p)"""
        return self.theta.reshape(-1, self.theta.shape[-1])

    @property
    def flat_weights(self) -> np.ndarray:
        n = len(self.flat)
        return np.full(n, 1.0 / n) if self.weights is None else self.weights

    @property
    def mean(self) -> np.ndarray:
        """Posterior mean of theta."""
        return self.flat_weights @ self.flat

    @property
    def covariance(self) -> np.ndarray:
        """Posterior covariance (p, p) of theta."""
        off = self.flat - self.mean
        return (self.flat_weights[:, None] * off).T @ off

    @property
    def sd(self) -> np.ndarray:
        """Posterior standard deviation of theta."""
        return np.sqrt(np.diag(self.covariance))

    def representatives(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """At most n of the draws and their weights, standing for all: evenly spaced, in proportion to the weights."""
        if len(self.flat) <= n:
            thetas, inverse = np.unique(self.flat, axis=0, return_inverse=True)
            return thetas, np.bincount(inverse.ravel(), weights=self.flat_weights)
        # Systematic resampling: one uniform offset, n equal steps through the cumulative weights.
        places = (np.arange(n) + rng.uniform()) / n
        chosen = np.searchsorted(np.cumsum(self.flat_weights), places * (1.0 - 1e-12))
        which, counts = np.unique(np.minimum(chosen, len(self.flat) - 1), return_counts=True)
        thetas, inverse = np.unique(self.flat[which], axis=0, return_inverse=True)  # a rejected move repeats its draw
        return thetas, np.bincount(inverse.ravel(), weights=counts / n)


class Start(NamedTuple):
    """Where a search starts: theta, its covariance as far as it is known there, and the engine's state."""

    theta: np.ndarray
    covariance: np.ndarray
    state: Any = None


class FamilyMember(NamedTuple):
    """A kernel of a family: its name, its weight in predictions, and itself as learned."""

    name: str
    weight: float
    kernel: Any


@dataclass(frozen=True)
class HyperResult:
    """Result of learning.

    Attributes
    ----------
    theta : (p,) an optimum, or the mean of samples
    value : float
        The log posterior at theta, prior included, for the rows that were learned from; for ``HeldOut`` the mean log
        probability of the rows that were held out.
    n_evaluations : int
    converged : bool
    stopped : bool
        Whether a callback ended learning early.
    at_bounds : names of the entries of theta that ended at a bound
    theta_names : names of the entries of theta
    samples : Samples or None
    rows : training rows that theta was learned from, None for all of them
    trace : what learning maximises after each of its iterations: the log posterior of theta, or a bound
    members : the kernels of a family with their weights, those of weight 0 included; empty for one kernel
    fits : (theta, weight, Fit) where sampling drew the latent functions too, None otherwise
    rough_covariance : (p, p), the inverse curvature at an optimum as the search has estimated it on the way, or None
    state : what an engine can start from near an optimum, on the rows that were learned from
    """

    theta: np.ndarray
    value: float
    n_evaluations: int
    converged: bool
    stopped: bool = False
    at_bounds: tuple[str, ...] = ()
    theta_names: tuple[str, ...] = ()
    samples: Samples | None = None
    rows: np.ndarray | None = None
    trace: tuple[float, ...] = ()
    members: tuple[FamilyMember, ...] = ()
    fits: tuple[tuple[np.ndarray, float, Fit], ...] | None = field(default=None, repr=False)
    rough_covariance: np.ndarray | None = field(default=None, repr=False)
    state: Any = field(default=None, repr=False)
    #: the search and its objective, from which ``covariance`` is computed when asked for
    search: Any = field(default=None, repr=False)
    objective: Any = field(default=None, repr=False)

    def renumbered(self, rows: np.ndarray) -> HyperResult:
        """What was learned from the rows ``X[rows]``, with its rows numbered as in X."""
        return self if self.rows is None else replace(self, rows=np.sort(rows[self.rows]))

    @cached_property
    def covariance(self) -> np.ndarray | None:
        """Laplace's covariance (p, p) of theta at an optimum, the inverse curvature of its log posterior.

        NaN for entries that ended at a bound or that the data do not determine; the others are then given those. None
        where theta was not found by maximising a log posterior, or the training rows are not at hand. Computed when
        first asked for, by two evaluations of the gradient for each entry.
        """
        if self.search is None or self.objective is None:
            return None
        return self.search.covariance_at(self.objective, self.theta)

    @property
    def start(self) -> Start | None:
        """Where the search for a similar optimum starts, if the covariance is known roughly."""
        return None if self.rough_covariance is None else Start(self.theta, self.rough_covariance, self.state)

    @property
    def standard_error(self) -> np.ndarray | None:
        """Roots of the diagonal of ``covariance``."""
        return None if self.covariance is None else np.sqrt(np.diag(self.covariance))

"""The function of theta that learning maximises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from ..inference.active.active_set import ActiveSet
from ..inference.active.ivm import IVM
from ..inference.base import Engine, Fit, differentiable
from ..kernels import Kernel
from ..likelihoods import Likelihood
from ..numerics.linalg import suited_threads
from ..numerics.parameters import POSITIVE
from .priors import LogPrior, PriorLike, lay_over


def slopes(
    function: Callable[[np.ndarray], Any], theta: np.ndarray, bounds: np.ndarray, step: float = 1e-3
) -> np.ndarray:
    """Slopes (p,) of a number, or (k, p) of k of them, by central differences; 0 where bounds leave no room."""
    found = []
    for j, (low, high) in enumerate(bounds):
        ahead, behind = theta.copy(), theta.copy()
        # Differences must not step outside the bounds that the search itself respects.
        ahead[j], behind[j] = min(theta[j] + step, high), max(theta[j] - step, low)
        room = ahead[j] - behind[j]
        found.append((function(ahead) - function(behind)) / (room if room > 0.0 else 1.0))
    return np.array(found, float).T


def by_differences(
    function: Callable[[np.ndarray, Any], tuple[float, Any]],
    theta: np.ndarray,
    init: Any,
    bounds: np.ndarray,
    step: float = 1e-3,
) -> tuple[float, np.ndarray, Any]:
    """Value, slope by central differences, and state, of a function (theta, init) -> (value, state)."""
    value, state = function(theta, init)
    return value, slopes(lambda near: function(near, state)[0], theta, bounds, step), state


def _by_label(y: np.ndarray) -> list[np.ndarray]:
    """The rows of each label; all rows together, for numbers."""
    labelled = np.issubdtype(y.dtype, np.integer)
    return [np.flatnonzero(y == k) for k in np.unique(y)] if labelled else [np.arange(len(y))]


def spread_rows(y: np.ndarray, max_rows: int) -> np.ndarray:
    """At most so many rows (but one of each label), evenly spaced within each label (or over all, for numbers)."""
    n = len(y)
    if n <= max_rows:
        return np.arange(n)
    groups = _by_label(y)
    # Every class keeps a share in proportion, and at least a few rows where there is room for them.
    least = min(5, max(1, max_rows // len(groups)))
    shares = [min(len(g), max(least, round(max_rows * len(g) / n))) for g in groups]
    while sum(shares) > max(max_rows, len(groups)):
        shares[int(np.argmax(shares))] -= 1
    places = [g[np.linspace(0, len(g) - 1, s).round().astype(int)] for g, s in zip(groups, shares, strict=True)]
    return np.sort(np.concatenate(places))


def set_aside(y: np.ndarray, n: int) -> np.ndarray:
    """Which n rows, at most a fifth of each label (or of all, for numbers), to judge a model of the others by."""
    aside = np.zeros(len(y), bool)
    for own in _by_label(y):
        share = min(round(n * len(own) / len(y)), len(own) // 5)  # rare classes can spare few rows, or none
        aside[own[np.linspace(0, len(own) - 1, share).round().astype(int)]] = True
    return aside


class NotConvergedError(LinAlgError):
    """The engine stopped before it converged, so its evidence is not to be relied on."""


@dataclass(frozen=True)
class Model:
    """Kernel, likelihood, engine and data: everything but the values of theta = (kernel's, likelihood's)."""

    kernel: Kernel
    likelihood: Likelihood
    engine: Engine
    X: np.ndarray
    y: np.ndarray
    n_latent: int

    @property
    def theta(self) -> np.ndarray:
        return np.concatenate([self.kernel.theta, self.likelihood.theta])

    @property
    def theta_bounds(self) -> np.ndarray:
        return np.concatenate([self.kernel.theta_bounds, self.likelihood.theta_bounds])

    @property
    def theta_names(self) -> list[str]:
        """Names of the entries of theta; those of the likelihood say so."""
        return [*self.kernel.theta_names, *(f"likelihood.{name}" for name in self.likelihood.theta_names)]

    @property
    def parameter_names(self) -> list[str]:
        """Names of all parameters, fixed ones too."""
        return [*self.kernel.parameters, *(f"likelihood.{name}" for name in self.likelihood.parameters)]

    @property
    def positive(self) -> np.ndarray:
        """Which entries of theta are logarithms of positive parameters, (P,)."""
        free = [p for part in (self.kernel, self.likelihood) for p in part.parameters.values() if not p.fixed]
        return np.concatenate([np.full(np.size(p.value), p.domain == POSITIVE) for p in free] or [np.zeros(0, bool)])

    def log_prior(self, prior: PriorLike) -> LogPrior:
        """A prior laid over the entries of theta, around the present values."""
        return lay_over(prior, self.theta_names, self.positive, self.theta, self.parameter_names)

    def thinned(self, max_rows: int) -> Model:
        """The same model on at most so many rows (see ``spread_rows``)."""
        if len(self.y) <= max_rows:
            return self
        rows = self.spread_rows(max_rows)
        return replace(self, X=self.X[rows], y=self.y[rows], likelihood=self.likelihood.subset(rows))

    def spread_rows(self, max_rows: int) -> np.ndarray:
        """At most so many rows (see the function)."""
        return spread_rows(self.y, max_rows)

    def at(self, theta: np.ndarray) -> tuple[Kernel, Likelihood]:
        """Kernel and likelihood with these values."""
        split = self.kernel.theta.size
        return self.kernel.with_theta(theta[:split]), self.likelihood.with_theta(theta[split:])

    @property
    def parts(self) -> tuple[Model, ...]:
        """Models that are independent given theta: this one; ``tasks`` has models of several."""
        return (self,)

    def select(self, ivm: IVM, theta: np.ndarray) -> tuple[list[ActiveSet], bool]:
        """The active rows that an informative vector machine chooses at theta, for each part; and whether Ctrl-C cut
        it short."""
        kernel, likelihood = self.at(theta)
        active, interrupted = ivm.select(kernel, self.X, self.y, likelihood, self.n_latent)
        return [active], interrupted

    def evidence(self, theta: np.ndarray) -> float:
        """The objective alone."""
        return self.fit(theta).objective

    def fit(self, theta: np.ndarray, init: Any = None, *, strict: bool = False) -> Fit:
        """The engine's result at theta; ``strict`` refuses one that has not converged."""
        kernel, likelihood = self.at(theta)
        with suited_threads(len(self.y)):
            return self._run(kernel(self.X), likelihood, init, strict)

    def _run(self, K: np.ndarray, likelihood: Likelihood, init: Any, strict: bool, gradient: bool = False) -> Fit:
        fit = self.engine(K, self.y, likelihood, self.n_latent, init, gradient=gradient)
        if init is not None and not fit.info.converged:
            # A start far from home can trap an iteration that converges from scratch.
            fresh = self.engine(K, self.y, likelihood, self.n_latent, None, gradient=gradient)
            fit = fresh if fresh.info.converged else fit
        if strict and not fit.info.converged:
            raise NotConvergedError(f"{type(self.engine).__name__} did not converge in {fit.info.n_iter} iterations")
        return fit

    def value_and_gradient(
        self, theta: np.ndarray, init: Any = None, *, strict: bool = False
    ) -> tuple[float, np.ndarray, Any]:
        """Objective, its gradient in theta, and the state to start a neighbour from."""
        if not differentiable(self.engine, self.likelihood):

            def objective(theta: np.ndarray, init: Any) -> tuple[float, Any]:
                fit = self.fit(theta, init, strict=strict)
                return fit.objective, fit.state

            return by_differences(objective, theta, init, self.theta_bounds)
        kernel, likelihood = self.at(theta)
        with suited_threads(len(self.y)):
            K, pullback = kernel.vjp(self.X)
            fit = self._run(K, likelihood, init, strict, gradient=True)
            assert fit.dK is not None
            assert fit.dlikelihood is not None
            return fit.objective, np.concatenate([pullback(fit.dK), fit.dlikelihood]), fit.state

    def loo_score(self, theta: np.ndarray, init: Any = None) -> tuple[float, Any]:
        """Sum of log probabilities of every observation given the others, and the state to start a neighbour from."""
        fit = self.fit(theta, init)
        if fit.loo is None:
            raise TypeError(f"{type(self.engine).__name__} gives no leave-one-out beliefs; use hyper='evidence'")
        _, likelihood = self.at(theta)
        return float(likelihood.loo_log_prob(self.y, *fit.loo).sum()), fit.state

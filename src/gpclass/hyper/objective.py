"""The function of theta that learning maximises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from ..inference.base import Engine, Fit
from ..inference.problem import Problem
from ..kernels import Kernel
from ..kernels.rows import on_host
from ..likelihoods import Likelihood
from ..numerics import linalg
from ..training.monitor import SILENT, Monitor
from .priors import LogPrior, PriorLike, lay_over

#: For differences engines converge to this share of their tolerance.
_TIGHTER = 1e-2


def slopes(
    function: Callable[[np.ndarray], Any], theta: np.ndarray, bounds: np.ndarray, step: float = 1e-3
) -> np.ndarray:
    """Slopes (p,) of a number, or (k, p) of k of them, by central differences; 0 where the bounds coincide."""
    found = []
    for j, (low, high) in enumerate(bounds):
        ahead, behind = theta.copy(), theta.copy()
        # Differences must not step outside the bounds that the search itself respects.
        ahead[j], behind[j] = min(theta[j] + step, high), max(theta[j] - step, low)
        width = ahead[j] - behind[j]
        found.append((function(ahead) - function(behind)) / (width if width > 0.0 else 1.0))
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


class NotConvergedError(LinAlgError):
    """The engine stopped before it converged, so its evidence is not to be relied on."""


@dataclass(frozen=True)
class Objective:
    """The evidence of a problem as a function of theta.

    ``engine`` is that of the final model; ``learner`` computes the evidence: the engine itself, or another one where it
    has no gradient. The evidence of a problem of several parts is the sum over its parts.
    """

    problem: Problem
    engine: Engine
    learner: Engine

    @property
    def theta(self) -> np.ndarray:
        return self.problem.theta

    @property
    def theta_bounds(self) -> np.ndarray:
        return self.problem.theta_bounds

    @property
    def theta_names(self) -> tuple[str, ...]:
        return tuple(self.problem.theta_names)

    @property
    def n_rows(self) -> int:
        return self.problem.n_rows

    def at(self, theta: np.ndarray) -> tuple[Kernel, Likelihood]:
        """Kernel and likelihood with these values."""
        return self.problem.at(theta)

    def log_prior(self, prior: PriorLike) -> LogPrior:
        """A prior over the entries of theta, centred on the present values where it has no centre of its own."""
        problem = self.problem
        return lay_over(prior, problem.theta_entries, problem.theta, problem.parameter_names)

    def thinned(self, max_rows: int | None) -> Objective:
        """The objective on at most so many rows; None keeps all."""
        return self if max_rows is None else replace(self, problem=self.problem.thinned(max_rows))

    def of_rows(self, rows: np.ndarray) -> Objective:
        """The objective on some of the rows."""
        return replace(self, problem=self.problem.subset(rows))

    def on_host(self) -> Objective:
        """The objective with its rows on the host."""
        return replace(self, problem=replace(self.problem, X=on_host(self.problem.X)))

    def final(self) -> Objective:
        """The objective with the final engine for its evidence."""
        return replace(self, learner=self.engine)

    def _parts(self) -> list[Objective]:
        return [replace(self, problem=part) for part in self.problem.parts]

    def _over_parts(self, function: Callable[[Objective, Any], Any], init: Any) -> tuple[Any, ...]:
        """What a function of (part, state) returns for each part, side by side, as a tuple of columns."""
        parts = self._parts()
        states = [None] * len(parts) if init is None else init
        largest = max(part.n_rows for part in parts)
        found = linalg.for_each_class(lambda m: function(parts[m], states[m]), len(parts), largest)
        return tuple(zip(*found, strict=True))

    def evidence(self, theta: np.ndarray) -> float:
        """The objective alone."""
        parts = self._parts()
        return sum(part.fit(theta).objective for part in parts)

    def fit(self, theta: np.ndarray, init: Any = None, *, strict: bool = False, monitor: Monitor = SILENT) -> Fit:
        """The learner's result at theta; ``strict`` refuses one that has not converged."""
        return self._run(theta, init, strict, False, monitor)

    def _run(self, theta: np.ndarray, init: Any, strict: bool, gradient: bool, monitor: Monitor = SILENT) -> Fit:
        kernel, likelihood = self.at(theta)
        engine, y = self.learner, self.problem.y
        with linalg.suited_threads(self.n_rows):
            prior = engine.prior_type.of(self.problem, kernel)
            fit = engine(prior, y, likelihood, init, gradient, monitor)
            settled = fit.info.converged or engine.close_before_convergence
            if init is not None and not settled:
                # A start far from the solution can trap an iteration that converges from scratch.
                fresh = engine(prior, y, likelihood, None, gradient, monitor)
                fit, settled = (fresh, True) if fresh.info.converged else (fit, False)
        if strict and not settled:
            raise NotConvergedError(f"{type(engine).__name__} did not converge in {fit.info.n_iter} iterations")
        return fit

    def value_and_gradient(
        self, theta: np.ndarray, init: Any = None, *, strict: bool = False
    ) -> tuple[float, np.ndarray, Any]:
        """Objective, its gradient in theta, and the state to start a neighbour from."""
        if self.problem.has_parts:
            values, gradients, states = self._over_parts(
                lambda part, state: part.value_and_gradient(theta, state, strict=strict), init
            )
            return sum(values), np.sum(gradients, axis=0), states
        if not self.learner.differentiates(self.problem.likelihood):
            fit = self.fit(theta, init, strict=strict)
            # Neighbours start from this state: at the same tolerance they would stop before they have moved.
            learner: Any = self.learner
            tight = replace(self, learner=replace(learner, tol=_TIGHTER * learner.tol))
            slope = slopes(lambda near: tight.fit(near, fit.state).objective, theta, self.theta_bounds)
            return fit.objective, slope, fit.state
        fit = self._run(theta, init, strict, True)
        assert fit.gradient is not None
        return fit.objective, fit.gradient, fit.state

    def loo_score(self, theta: np.ndarray, init: Any = None) -> tuple[float, Any]:
        """Sum of log probabilities of every observation given the others, and the state to start a neighbour from."""
        if self.problem.has_parts:
            scores, states = self._over_parts(lambda part, state: part.loo_score(theta, state), init)
            return sum(scores), states
        fit = self.fit(theta, init)
        if fit.loo is None:
            raise TypeError(f"{type(self.learner).__name__} has no leave-one-out predictions; use hyper='evidence'")
        _, likelihood = self.at(theta)
        return float(likelihood.loo_log_prob(self.problem.y, *fit.loo).sum()), fit.state

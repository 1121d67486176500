"""Kernel parameters by maximum evidence, or maximum a posteriori when there is a prior."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import LinAlgError
from scipy.optimize import minimize

from ..priors import Normal
from .objective import Model

#: Stands for "no value here" in the search: finite, so that the line search can step back from it.
_REFUSED = 1e25


class Learned(NamedTuple):
    """Result of a search: theta, the objective there, how it was found."""

    theta: np.ndarray
    value: float
    n_evaluations: int
    converged: bool
    at_bounds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fixed:
    """Leave theta alone."""

    def __call__(
        self, model: Model, rng: np.random.Generator, n_restarts: int = 0, n_jobs: int | None = None
    ) -> Learned:
        return Learned(model.theta, float("nan"), 0, True)


@dataclass(frozen=True)
class Evidence:
    """L-BFGS-B on the engine's objective plus the log prior, with analytic gradients.

    Parameters
    ----------
    prior : Normal or None
        Prior on theta. The default is weak: normal about the starting values with standard deviation 3, a factor of
        twenty either way. It keeps parameters finite that the data say nothing about.
    max_iter : int
        Limit on L-BFGS-B iterations.
    tol : float
        Stop when a step changes the objective by less than this, relative to its size or its first slope.
    spread : float
        Standard deviation, in theta, of the starting points of restarts.
    max_rows : int or None
        Learn from at most so many rows, evenly spaced within each class; the fit itself uses all. A few parameters are
        settled by a few hundred rows, and the cost of an evaluation grows with the cube of their number. None
        learns from all rows.
    """

    prior: Normal | None = field(default_factory=Normal)
    max_iter: int = 200
    tol: float = 1e-7
    spread: float = 1.5
    max_rows: int | None = 350

    def __call__(
        self, model: Model, rng: np.random.Generator, n_restarts: int = 0, n_jobs: int | None = None
    ) -> Learned:
        start = model.theta
        if start.size == 0:
            return Fixed()(model, rng)
        if self.max_rows is not None:
            model = model.thinned(self.max_rows)
        low, high = model.theta_bounds.T
        draws = start + self.spread * rng.standard_normal((n_restarts, start.size))
        starts = [start, *np.clip(draws, low, high)]
        runs = Parallel(n_jobs=n_jobs)(delayed(self._climb)(model, theta) for theta in starts)
        best = max(runs, key=lambda run: run.value)
        touched = (np.abs(best.theta - low) < 1e-8) | (np.abs(best.theta - high) < 1e-8)
        names = tuple(name for name, hit in zip(model.theta_names, touched, strict=True) if hit)
        return best._replace(n_evaluations=sum(run.n_evaluations for run in runs), at_bounds=names)

    def value_and_gradient(self, model: Model, theta: np.ndarray, init: Any) -> tuple[float, np.ndarray, Any]:
        """What the search maximises, before the prior."""
        return model.value_and_gradient(theta, init)

    def _climb(self, model: Model, theta: np.ndarray) -> Learned:
        centre = model.theta
        warm: list[Any] = [None]
        scale = 1.0
        refused = 0

        def loss(t: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal refused
            try:
                value, gradient, warm[0] = self.value_and_gradient(model, t, warm[0])
            except LinAlgError:
                value, gradient = np.nan, np.zeros_like(t)
            if self.prior is not None:
                log_prior, by_theta = self.prior.log_density(t, centre)
                value, gradient = value + log_prior, gradient + by_theta
            if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
                refused += 1
                return _REFUSED, np.zeros_like(t)
            return -value / scale, -gradient / scale

        first, slope = loss(theta)
        if first == _REFUSED:
            return Learned(theta, -np.inf, 1, False)
        # With bounds on every variable L-BFGS-B takes a first step as long as the gradient, which can throw a parameter
        # across its whole range. Scaled like this the first step is at most 1 in any entry.
        scale = max(1.0, float(np.max(np.abs(slope))))
        known = {theta.tobytes(): (first / scale, slope / scale)}  # the search asks for its start again
        found = minimize(
            lambda t: known.pop(t.tobytes(), None) or loss(t),
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=model.theta_bounds,
            options={"maxiter": self.max_iter, "ftol": self.tol, "gtol": 1e-5},
        )
        return Learned(found.x, -float(found.fun) * scale, int(found.nfev), bool(found.success) and not refused)

"""Kernel parameters by maximum evidence, or maximum a posteriori when there is a prior."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import OptimizeResult, minimize

from ..inference.settings import check_counts
from ..training.monitor import SILENT, Monitor
from .coordinates import Coordinates, check_coordinates
from .objective import Objective
from .priors import Normal, PriorLike
from .results import HyperResult, Start
from .search import ONE_START, Effort, Search
from .target import Target

#: Step in theta for the curvature of the log posterior: wide enough for gradients that EP knows to 1e-4.
_STEP = 0.02
#: Stands for "no value here" in the search: finite, so that the line search can step back from it.
_REFUSED = 1e25
#: A slope in theta is small below so many roots of the change of the objective that ends a search: leave-one-out scores
#: by EP have slopes as rough as that.
_SMALL_SLOPE = 50.0
#: A search that starts near an optimum ends where it expects to gain fewer nats than this: theta is then within a tenth
#: of a posterior standard deviation.
_SMALL_GAIN = 0.005
#: What the variances of a start are taken to be at least and at most, and how many standard deviations such a search
#: may go.
_VARIANCES, _FAR = (1e-4, 4.0), 20.0


@dataclass(frozen=True)
class Fixed(Search):
    """Leave theta as it is."""

    learns: ClassVar[bool] = False

    def __call__(
        self, objective: Objective, rng: np.random.Generator, monitor: Monitor = SILENT, effort: Effort = ONE_START
    ) -> HyperResult:
        return HyperResult(objective.theta, float("nan"), 0, True, theta_names=objective.theta_names)


@dataclass(frozen=True)
class Evidence(Search):
    """L-BFGS-B on the engine's objective plus the log prior, with analytic gradients.

    Parameters
    ----------
    prior : Prior, dictionary of parameter name to Prior, or None
        See ``gpclass.hyper.priors``. The default is weak: theta is normal about its starting values with standard
        deviation 3, a factor of twenty either way. It keeps parameters finite that the data do not determine. Where the
        default kernel gets a length-scale for each input, those without a prior of their own may be expected to be
        similar instead: normal about the optimum of a common one with standard deviation 0.5 (and, if no prior was
        given at all, so are the other parameters about theirs).
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
    coordinates : "log", "softplus" or "sigmoid"
        What the search moves in, for positive parameters (see ``gpclass.hyper.coordinates``); optima are the same.
    """

    prior: PriorLike = field(default_factory=Normal)
    max_iter: int = 200
    tol: float = 1e-7
    spread: float = 1.5
    max_rows: int | None = 350
    coordinates: str = "log"

    def __post_init__(self) -> None:
        check_counts(self, max_iter=1)
        check_coordinates(self.coordinates)
        if self.max_rows is not None:
            check_counts(self, max_rows=2)

    tries_relevances: ClassVar[bool] = True
    #: whether the mode is that of the density of theta, or of the density as the priors are written
    of_theta: ClassVar[bool] = False

    @property
    def row_limit(self) -> int | None:
        return self.max_rows

    def __call__(
        self, objective: Objective, rng: np.random.Generator, monitor: Monitor = SILENT, effort: Effort = ONE_START
    ) -> HyperResult:
        start = objective.theta
        if start.size == 0:
            return Fixed()(objective, rng)
        objective = objective.thinned(self.max_rows)
        low, high = objective.theta_bounds.T
        draws = start + self.spread * rng.standard_normal((effort.n_restarts_optimizer, start.size))
        starts = [start if effort.start is None else effort.start, *np.clip(draws, low, high)]
        with monitor.task("starting points", len(starts)) as steps:
            work = (delayed(self._search)(objective, theta, steps) for theta in starts)
            searches = Parallel(n_jobs=effort.n_jobs, return_as="generator")(work)
            runs, causes = zip(*steps.each(searches), strict=True)
        best = max(runs, key=lambda run: run.value)
        if not np.isfinite(best.value):
            raise LinAlgError(f"nothing can be computed at the starting values: {causes[0]}")
        close = 1e-3 if self.coordinates == "sigmoid" else 1e-8  # a sigmoid never quite reaches its ends
        touched = (np.abs(best.theta - low) < close) | (np.abs(best.theta - high) < close)
        at_bounds = tuple(name for name, hit in zip(objective.theta_names, touched, strict=True) if hit)
        return replace(
            best,
            n_evaluations=sum(run.n_evaluations for run in runs),
            stopped=any(run.stopped for run in runs) or len(runs) < len(starts),
            at_bounds=at_bounds,
            theta_names=objective.theta_names,
            search=self,
            objective=objective,
        )

    def value_and_gradient(
        self, objective: Objective, theta: np.ndarray, init: Any, *, strict: bool
    ) -> tuple[float, np.ndarray, Any]:
        """What the search maximises, before the prior."""
        return objective.value_and_gradient(theta, init, strict=strict)

    def target(self, objective: Objective, strict: bool = True) -> Target:
        """What the search maximises, with the prior; ``strict`` refuses values of an engine that did not converge."""
        evaluate = partial(self.value_and_gradient, objective, strict=strict)
        return Target(evaluate, objective.log_prior(self.prior), objective.theta_bounds, of_theta=self.of_theta)

    def covariance_at(self, objective: Objective, theta: np.ndarray) -> np.ndarray | None:
        """Laplace's covariance of theta at an optimum, from the change of the gradient over small steps.

        NaN for entries at a bound, or that the data do not determine; the others are then given those.
        """
        target = self.target(objective, strict=False)
        low, high = target.bounds.T
        inside = np.flatnonzero((theta - low > 1e-8) & (high - theta > 1e-8))
        covariance = np.full((len(theta), len(theta)), np.nan)
        curvature = np.empty((len(inside), len(inside)))
        for i, j in enumerate(inside):
            ahead, behind = theta.copy(), theta.copy()
            ahead[j], behind[j] = min(theta[j] + _STEP, high[j]), max(theta[j] - _STEP, low[j])
            (above, uphill), (below, downhill) = target(ahead), target(behind)
            known = np.isfinite(above) and np.isfinite(below)
            curvature[i] = (downhill - uphill)[inside] / (ahead[j] - behind[j]) if known else np.nan
        if not np.all(np.isfinite(curvature)):
            return covariance
        curvature = 0.5 * (curvature + curvature.T)
        kept = np.arange(len(inside))
        while len(kept):
            try:
                factor = cho_factor(curvature[np.ix_(kept, kept)])
            except LinAlgError:
                kept = np.delete(kept, np.argmin(np.diag(curvature)[kept]))
                continue
            covariance[np.ix_(inside[kept], inside[kept])] = cho_solve(factor, np.eye(len(kept)))
            break
        return covariance

    def _search(self, objective: Objective, start: np.ndarray | Start, monitor: Monitor) -> tuple[HyperResult, str]:
        """The nearest optimum, and why evaluations failed, if any did."""
        target = self.target(objective)
        with monitor.task("search") as steps:
            if isinstance(start, Start):
                found = maximise_near(target, start, self.max_iter, steps)
                if found.converged or found.stopped:
                    return found, target.cause
                # The optimum is at a bound, or too far away for that metric.
                start = found.theta if np.isfinite(found.value) else objective.theta
                target = self.target(objective)
            if not np.isfinite(target(start)[0]):
                # An evidence from an engine that has not converged is better than none.
                target = self.target(objective, strict=False)
            coordinates = Coordinates(self.coordinates, objective.problem.positive, target.bounds)
            return maximise(target, start, self.max_iter, self.tol, coordinates, steps), target.cause


class DensityMode(Evidence):
    """The mode of the density of theta itself, whatever the priors are written for: where samplers start."""

    of_theta: ClassVar[bool] = True


def maximise(
    target: Target, theta: np.ndarray, max_iter: int, tol: float, coordinates: Coordinates, monitor: Monitor = SILENT
) -> HyperResult:
    """The nearest optimum, by L-BFGS-B."""
    first, slope = target(theta)
    if not np.isfinite(first):
        return HyperResult(theta, -np.inf, 1, False)
    # With bounds on every variable L-BFGS-B takes a first step as long as the gradient, which can throw a parameter
    # across its whole range. Scaled like this the first step is at most 1 in any entry.
    scale = max(1.0, float(np.max(np.abs(slope))))
    # A step of 1 must change theta alike wherever the search starts: a softplus hardly feels it where x is large.
    first_u = coordinates.of(theta)
    units = coordinates.back(first_u)[1]

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        at, within = coordinates.back(v / units)
        value, gradient = target(at)
        return (-value / scale, -gradient * within / units / scale) if np.isfinite(value) else (_REFUSED, gradient)

    options = {"maxiter": max_iter, "ftol": tol, "gtol": 1e-5}
    found, trace = _minimise(loss, first_u * units, coordinates.ranges * units[:, None], options, scale, monitor)
    optimum, within = coordinates.back(found.x / units)
    value, converged = -float(found.fun) * scale, bool(found.success) and not target.n_refused
    if converged and coordinates.kind != "log":
        # The search may have stopped where its steps hardly change theta, with a slope still to go up.
        uphill = np.clip(optimum + target(optimum)[1], *target.bounds.T) - optimum
        converged = float(np.max(np.abs(uphill))) < _SMALL_SLOPE * np.sqrt(tol * max(abs(value), scale))
    by_v = within / units
    covariance = by_v[:, None] * found.hess_inv.todense() * by_v / scale
    return HyperResult(
        optimum,
        value,
        target.n_evaluations,
        converged,
        monitor.should_stop,
        trace=(first, *trace),
        rough_covariance=covariance,
        state=target.state,
    )


def maximise_near(target: Target, start: Start, max_iter: int, monitor: Monitor = SILENT) -> HyperResult:
    """The optimum near a start whose covariance is known roughly: L-BFGS-B in units of that covariance, in which its
    first step is Newton's.

    It ends where half the squared slope in these units, the gain that is left, is small. It is not converged where it
    met the bounds of theta.
    """
    variances, axes = np.linalg.eigh(start.covariance)
    A = axes * np.sqrt(np.clip(variances, *_VARIANCES))  # theta = start + A v

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = target(start.theta + A @ v)
        return (-value, -A.T @ slope) if np.isfinite(value) else (_REFUSED, np.zeros_like(v))

    target.state = start.state
    first = target(start.theta)[0]
    if not np.isfinite(first):
        return HyperResult(start.theta, -np.inf, target.n_evaluations, False)
    # Bounds on every variable make L-BFGS-B take a whole first step.
    bounds = np.tile([-_FAR, _FAR], (len(start.theta), 1))
    options = {"maxiter": max_iter, "ftol": _SMALL_GAIN / max(1.0, abs(first)), "gtol": np.sqrt(2.0 * _SMALL_GAIN)}
    found, trace = _minimise(loss, np.zeros(len(start.theta)), bounds, options, 1.0, monitor)

    return HyperResult(
        start.theta + A @ found.x,
        -float(found.fun),
        target.n_evaluations,
        bool(found.success) and not target.n_refused,
        monitor.should_stop,
        trace=(first, *trace),
        rough_covariance=A @ found.hess_inv.todense() @ A.T,
        state=target.state,
    )


def _minimise(
    loss: Any, start: np.ndarray, bounds: np.ndarray, options: dict[str, float], scale: float, monitor: Monitor
) -> tuple[OptimizeResult, list[float]]:
    """L-BFGS-B's result, and the log posterior (-scale loss) after each iteration."""
    trace: list[float] = []

    def tell(intermediate_result: OptimizeResult) -> None:
        trace.append(-float(intermediate_result.fun) * scale)
        monitor.step(f"log posterior {trace[-1]:.2f}")
        if monitor.should_stop:
            raise StopIteration

    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=tell), trace

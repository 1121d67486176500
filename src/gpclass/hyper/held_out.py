"""Kernel parameters by the probabilities of rows set aside, under an informative vector machine of the others."""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError

from ..inference.active.ivm import IVM
from ..inference.calibration import LooPrediction, calibrate
from ..inference.prior import ActivePrior
from ..inference.problem import held_out_rows
from ..inference.settings import check_counts
from ..likelihoods import Gaussian
from ..training.monitor import SILENT, Monitor
from .evidence import Evidence
from .objective import Objective
from .results import HyperResult
from .search import ONE_START, Effort, Search

#: First step of the search in theta, a factor of two.
_STEP = float(np.log(2.0))
#: A step must gain so many nats, over all held-out rows together: less is chance.
_GAIN = 0.5


@dataclass(frozen=True)
class HeldOut(Search):
    """Learn by ``first``, then put right what it says of scale, by what predicts rows that were set aside.

    The evidence of a few hundred rows asks for smoother functions than many rows do, and leave-one-out predictions of a
    few hundred rows share that fault. Here a model that keeps ``n_active`` of thousands of rows predicts others, and is
    calibrated by them. One factor for all length-scales, one for all variances, and so on for every
    name among the kernel's parameters: that is few enough to be searched without slopes, which the choice of active
    rows does not have. Ratios between parameters of one name, and the likelihood's parameters, stay as ``first`` has
    left them.

    Parameters
    ----------
    first : object of ``gpclass.hyper`` that learns one theta
        Where the search sets out from.
    n_active : int
        Active rows of the models that are compared; at most as many as the model itself is to keep.
    n_held_out : int
        Rows set aside; at most a fifth of all.
    n_rows : int
        Rows in all, evenly spaced within each class.
    max_evaluations : int
        Limit on models that are compared.
    tol : float
        Smallest step of the search in theta, the logarithm of a parameter.
    """

    first: Any = field(default_factory=Evidence)
    n_active: int = 500
    n_held_out: int = 1000
    n_rows: int = 5000
    max_evaluations: int = 30
    tol: float = 0.15

    def __post_init__(self) -> None:
        check_counts(self, n_active=1, n_held_out=1, n_rows=10, max_evaluations=1)
        if not callable(self.first):
            raise TypeError(f"HeldOut: first must be an object of gpclass.hyper such as Evidence(), got {self.first!r}")
        if not self.tol > 0.0:
            raise ValueError(f"HeldOut: tol must be positive, got {self.tol!r}")

    adjusts: ClassVar[bool] = True

    def __call__(
        self, objective: Objective, rng: np.random.Generator, monitor: Monitor = SILENT, effort: Effort = ONE_START
    ) -> HyperResult:
        self.check(objective)
        return self.adjust(objective, self.first(objective, rng, monitor, effort), monitor)

    def check(self, objective: Objective) -> None:
        problem = objective.problem
        self._ivm(objective, problem.n_rows).selector(problem.kernel, problem.likelihood, problem.n_latent)

    def _ivm(self, objective: Objective, n_rows: int) -> IVM:
        """That of the models compared: the model's own, where it has one, with fewer active rows."""
        ivm = objective.engine if isinstance(objective.engine, IVM) else IVM()
        return replace(ivm, n_active=min(self.n_active, ivm.size(n_rows)), n_exchanges=0)

    def adjust(self, objective: Objective, found: HyperResult, monitor: Monitor = SILENT) -> HyperResult:
        """What ``first`` has found, its scales adjusted."""
        problem = objective.problem.started_at(found.theta)
        rows = problem.spread_rows(self.n_rows)
        few = replace(objective, problem=problem.subset(rows)).on_host()
        held_out = held_out_rows(few.problem.y, self.n_held_out)
        roles = [entry.role for entry in problem.kernel.theta_entries]
        # Variances last: calibration stands in for much of what they do.
        distinct = sorted(dict.fromkeys(roles), key=lambda role: role == "variance")
        groups = np.array([[role == other for other in roles] for role in distinct], bool)
        if not (len(groups) and np.any(held_out)):
            return found  # nothing to move, or no rows to evaluate it by
        low, high = problem.theta_bounds.T
        likelihood_free = np.zeros((len(groups), len(problem.theta) - len(roles)))
        directions = np.hstack([groups, likelihood_free])

        def at(shift: tuple[float, ...]) -> np.ndarray:
            return np.clip(problem.theta + np.array(shift) @ directions, low, high)

        with monitor.task("models compared") as compared:
            n_evaluations = 0

            @cache
            def score(shift: tuple[float, ...]) -> float:
                nonlocal n_evaluations
                value = self.score(few, held_out, at(shift))
                n_evaluations += 1
                compared.step(f"log probability {value:.4f}")
                return value

            def enough() -> bool:
                return n_evaluations >= self.max_evaluations or compared.should_stop

            score((0.0,) * len(groups))
            best, converged = _compass(score, len(groups), self.tol, _GAIN / np.count_nonzero(held_out), enough)
        if not np.isfinite(score(best)):
            raise LinAlgError("no informative vector machine could be computed at the parameters to start from")
        touched = np.abs(at(best) - np.array([low, high])).min(axis=0) < 1e-8
        return HyperResult(
            at(best),
            score(best),
            n_evaluations,
            converged and found.converged,
            found.stopped or (compared.should_stop and not converged),
            at_bounds=tuple(name for name, hit in zip(problem.theta_names, touched, strict=True) if hit),
            theta_names=tuple(problem.theta_names),
            rows=None if len(rows) == problem.n_rows else rows,
        )

    def score(self, objective: Objective, held_out: np.ndarray, theta: np.ndarray) -> float:
        """Mean log probability of the held-out labels, calibrated by them, given active rows among the others."""
        problem = objective.problem
        kernel, likelihood = problem.at(theta)
        ivm = self._ivm(objective, int(np.count_nonzero(~held_out)))
        prior = ActivePrior(kernel, problem.X, problem.n_latent, held_out)
        try:
            active, interrupted, _ = ivm.select(prior, problem.y, likelihood)
            if interrupted:
                raise KeyboardInterrupt
            ivm.refined(active, problem.y, likelihood)
        except LinAlgError:
            return -np.inf
        y, mean = problem.y[held_out], active.mean[held_out]
        variance = np.broadcast_to(active.variance[held_out], mean.shape)
        if isinstance(likelihood, Gaussian):
            return float(likelihood.loo_log_prob(y, mean, variance).mean())
        prediction = LooPrediction(np.zeros(len(y)), likelihood, mean, variance)
        calibration = calibrate([prediction], y, np.ones(len(y)))
        log_p = likelihood.loo_log_prob(y, *calibration(mean, variance))
        return float(calibration.mixed(log_p, likelihood.n_outcomes(problem.n_latent)).mean())


def _compass(score: Any, n: int, tol: float, gain: float, enough: Any) -> tuple[tuple[float, ...], bool]:
    """The highest place found by steps along the axes, repeated while they lead up by more than ``gain``, halved when
    none does; and whether they got as small as ``tol``."""
    place, step = (0.0,) * n, _STEP
    ahead = [1.0] * n  # which way to try first
    while step >= tol:
        start = place
        for j in range(n):
            for sign in (ahead[j], -ahead[j]):
                before = place
                while not enough():
                    trial = tuple(round(u + sign * step * (i == j), 12) for i, u in enumerate(place))
                    if not score(trial) > score(place) + gain:
                        break
                    place, ahead[j] = trial, sign
                if place != before:
                    break
        if enough():
            return place, False
        if place == start:
            step *= 0.5
    return place, True

"""Kernel parameters by the probabilities of rows set aside, under an informative vector machine of the others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from ..inference.active.ivm import IVM
from ..inference.calibration import LooPrediction, calibrate
from ..inference.settings import check_counts
from ..likelihoods import Gaussian
from ..training.monitor import quiet, task
from .evidence import Evidence
from .objective import Model, set_aside
from .results import HyperResult

#: First step of the search in theta, a factor of two.
_STEP = float(np.log(2.0))
#: A step must gain so many nats, over all judges together: less is chance.
_GAIN = 0.5


@dataclass(frozen=True)
class HeldOut:
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

    def __call__(
        self, model: Model, rng: np.random.Generator, n_restarts_optimizer: int = 0, n_jobs: int | None = None
    ) -> HyperResult:
        self.check(model)
        return self.adjust(model, self.first(model, rng, n_restarts_optimizer, n_jobs))

    def check(self, model: Model) -> None:
        """Refuse, before any work, a model that no informative vector machine can be made of."""
        self._ivm(model, len(model.y)).selector(model.kernel, model.likelihood, model.n_latent)

    def _ivm(self, model: Model, n_rows: int) -> IVM:
        """That of the models compared: the model's own, where it has one, with fewer active rows."""
        ivm: Any = model.engine if isinstance(model.engine, IVM) else IVM()
        return replace(ivm, n_active=min(self.n_active, ivm.size(n_rows)), n_exchanges=0)

    def adjust(self, model: Model, found: HyperResult) -> HyperResult:
        """What ``first`` has found, put right."""
        kernel, likelihood = model.at(found.theta)
        model = replace(model, kernel=kernel, likelihood=likelihood)
        rows = model.spread_rows(self.n_rows)
        few = replace(model, X=model.X[rows], y=model.y[rows], likelihood=model.likelihood.subset(rows))
        judges = set_aside(few.y, self.n_held_out)
        names = [name.rpartition(".")[2].partition("[")[0] for name in model.kernel.theta_names]
        # Variances last: calibration stands in for much of what they do.
        distinct = sorted(dict.fromkeys(names), key=lambda name: name == "variance")
        groups = np.array([[name == other for other in names] for name in distinct], bool)
        if not (len(groups) and np.any(judges)):
            return found  # nothing to move, or nobody to say where
        low, high = model.theta_bounds.T
        likelihood_free = np.zeros((len(groups), len(model.theta) - len(names)))
        directions = np.hstack([groups, likelihood_free])

        def at(shift: tuple[float, ...]) -> np.ndarray:
            return np.clip(model.theta + np.array(shift) @ directions, low, high)

        with task("models compared") as compared:

            @cache
            def score(shift: tuple[float, ...]) -> float:
                value = self.score(few, judges, at(shift))
                stop.append(compared.step(f"log probability {value:.4f}"))
                return value

            stop: list[bool] = []

            def enough() -> bool:
                return len(stop) >= self.max_evaluations or any(stop)

            score((0.0,) * len(groups))
            best, settled = _compass(score, len(groups), self.tol, _GAIN / np.count_nonzero(judges), enough)
        if not np.isfinite(score(best)):
            raise LinAlgError("no informative vector machine could be computed at the parameters to start from")
        touched = np.abs(at(best) - np.array([low, high])).min(axis=0) < 1e-8
        return HyperResult(
            at(best),
            score(best),
            len(stop),
            settled and found.converged,
            at_bounds=tuple(name for name, hit in zip(model.theta_names, touched, strict=True) if hit),
            theta_names=tuple(model.theta_names),
            rows=None if len(rows) == len(model.y) else rows,
        )

    def score(self, model: Model, judges: np.ndarray, theta: np.ndarray) -> float:
        """Mean log probability of the judges' labels, calibrated by them, given active rows among the others."""
        kernel, likelihood = model.at(theta)
        ivm = self._ivm(model, int(np.count_nonzero(~judges)))
        try:
            with quiet():
                active, interrupted = ivm.select(kernel, model.X, model.y, likelihood, model.n_latent, excluded=judges)
                if interrupted:
                    raise KeyboardInterrupt
                ivm.settle(active, model.y, likelihood)
        except LinAlgError:
            return -np.inf
        y, mean = model.y[judges], active.mean[judges]
        variance = np.broadcast_to(active.variance[judges], mean.shape)
        if isinstance(likelihood, Gaussian):
            return float(likelihood.loo_log_prob(y, mean, variance).mean())
        calibration = calibrate([LooPrediction(np.zeros(len(y)), likelihood, mean, variance)], y, np.ones(len(y)))
        log_p = likelihood.loo_log_prob(y, *calibration(mean, variance))
        return float(calibration.mixed(log_p, likelihood.n_outcomes(model.n_latent)).mean())


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

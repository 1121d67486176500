"""Training of nearest-neighbour models: metric, link, and a global model beside them where that pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..hyper import HyperResult
from ..hyper.metric_learning import (
    HELD_BACK,
    LEARNING_NEIGHBORS,
    LearnedMetric,
    NeighborProblem,
    NeighborSettings,
    fit_link,
    learn_metric,
)
from ..inference.base import Info
from ..inference.calibration import Calibration
from ..inference.inducing.softmax_map import SoftmaxMode, softmax_mode
from ..inference.neighbors.link import ClassLink, Link
from ..inference.neighbors.posterior import NeighborPosterior, StackedPosterior
from ..inference.problem import held_out_rows
from ..kernels import Kernel
from .monitor import SILENT, Monitor
from .stacking import stacking_weights

#: The global model: inducing points, rows it learns from, amplitude, and the smallest weight worth having it for.
_INDUCING, _GLOBAL_ROWS, _AMPLITUDE, _SMALLEST_WEIGHT = 1000, 20_000, 100.0, 0.01
#: Pseudo-counts of the nearest-neighbour model, the global one and lapses, for their weights.
_COUNTS = np.array([1.0, 0.1, 0.1])


@dataclass(frozen=True)
class TrainedNeighbors:
    """A trained nearest-neighbour model; ``likelihood`` is its link, ``components`` the matrix (d, d) that rows are
    multiplied with first. It has no evidence, and so no objective."""

    kernel: Kernel
    likelihood: Link
    posterior: NeighborPosterior | StackedPosterior
    hyper: HyperResult
    info: Info
    calibration: Calibration
    components: np.ndarray | None
    interrupted: bool

    messages: ClassVar[tuple[Warning, ...]] = ()
    objective: ClassVar[None] = None
    log_evidence: ClassVar[None] = None
    objective_value: ClassVar[None] = None
    sites: ClassVar[None] = None

    @property
    def n_iter(self) -> int:
        return self.info.n_iter


def train_neighbors(
    problem: NeighborProblem, settings: NeighborSettings, rng: np.random.Generator, monitor: Monitor = SILENT
) -> TrainedNeighbors:
    """Learn the metric, fit the link to the number of neighbours, and weigh a global model by held-back rows."""
    n = len(problem.y)
    aside = held_out_rows(problem.y, min(n // 5, HELD_BACK))
    if np.count_nonzero(aside) < 20:
        aside[:] = False
    others, held_back = problem.subset(~aside), problem.subset(aside)
    learned = LearnedMetric(others, None, -np.inf)
    if settings.learns:
        learned = learn_metric(others, held_back, settings, rng, monitor)
        others = learned.problem
        if learned.components is not None:
            problem, held_back = (part.transform(learned.components) for part in (problem, held_back))
        if settings.n_neighbors > LEARNING_NEIGHBORS and not learned.interrupted:
            others = fit_link(others, settings, rng, monitor)
    final = problem.at(others.theta)
    posterior: Any = final.posterior(settings.n_neighbors, settings.index)
    calibration = Calibration()
    if isinstance(problem.link, ClassLink) and (settings.stacks or settings.calibrates):
        tested = held_back if len(held_back.y) else None
        posterior, calibration = _stacked(others, final, tested, posterior, settings, rng, monitor)
    hyper = HyperResult(
        others.theta,
        learned.value,
        learned.n_iter,
        learned.converged,
        learned.stopped,
        theta_names=problem.theta_names,
        trace=learned.trace,
    )
    info = Info(learned.n_iter, learned.converged, learned.trace, stopped=learned.stopped)
    return TrainedNeighbors(
        final.kernel, final.link, posterior, hyper, info, calibration, learned.components, learned.interrupted
    )


def _stacked(
    others: NeighborProblem,
    final: NeighborProblem,
    held_back: NeighborProblem | None,
    posterior: NeighborPosterior,
    settings: NeighborSettings,
    rng: np.random.Generator,
    monitor: Monitor,
) -> tuple[NeighborPosterior | StackedPosterior, Calibration]:
    """The posterior, with a global model where that predicts held-back rows better, and the lapse rate."""
    n_classes = len(final.link.shares)
    if held_back is None:
        rows = np.arange(min(len(final.y), HELD_BACK))
        log_local, y = final.link.predict_log(*posterior.leave_one_out(rows)), final.y[rows]
        counts = None if final.weights is None else final.weights[rows]
    else:
        of_others = others.posterior(settings.n_neighbors, settings.index)
        log_local, y = others.link.predict_log(*of_others.latent(held_back.X)), held_back.y
        counts = held_back.weights
    global_model = log_global = None
    if settings.stacks and held_back is not None:
        global_model = _global_model(others, n_classes, rng, monitor)
        log_global = global_model.predict_log(held_back.X)
    share, calibration = weigh_models(log_local, log_global, y, counts, settings.calibrates)
    if global_model is None or not share:
        return posterior, calibration
    return StackedPosterior(posterior, global_model, share), calibration


def weigh_models(
    log_local: np.ndarray, log_global: np.ndarray | None, y: np.ndarray, counts: np.ndarray | None, calibrates: bool
) -> tuple[float, Calibration]:
    """The share of the global model, 0 where it is not worth having, and the lapse rate: by log probabilities (n, K) of
    rows that neither has seen."""
    places, nothing = np.arange(len(y)), np.full(len(y), -np.inf)
    parts = [
        log_local[places, y],
        nothing if log_global is None else log_global[places, y],
        np.full(len(y), -np.log(log_local.shape[1])) if calibrates else nothing,
    ]
    weights = stacking_weights(np.array(parts), _COUNTS, counts)
    share = float(weights[1] / (weights[0] + weights[1]))
    return share if share >= _SMALLEST_WEIGHT else 0.0, Calibration(lapse_rate=float(weights[2]))


def _global_model(problem: NeighborProblem, n_classes: int, rng: np.random.Generator, monitor: Monitor) -> SoftmaxMode:
    """A softmax model through random inducing points, with the kernel learned from neighbours."""
    rows = rng.permutation(len(problem.y))[:_GLOBAL_ROWS]
    Z = problem.X[rows[:_INDUCING]]
    weights = None if problem.weights is None else problem.weights[rows]
    kernel = _AMPLITUDE * problem.kernel
    return softmax_mode(kernel, Z, problem.X[rows], problem.y[rows], n_classes, weights, monitor=monitor)

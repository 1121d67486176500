"""Training of nearest-neighbour models: the metric by leave-one-out predictions of random batches of rows.

Every row is predicted from its nearest other rows under the present length-scales. The gradient of the log probability
of a batch gives a step of Adam in all parameters: the kernel's, the noise and the link's. Neighbours are searched for
anew now and then, for a pool of rows and with twice as many candidates as are needed; in between the nearest candidates
are found exactly. Leave-one-out predictions flatter a metric that was fitted to them, so rows that are held back decide
when the steps become smaller, and when they end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..hyper import HyperResult
from ..inference.base import Info
from ..inference.calibration import Calibration
from ..inference.inducing.softmax_map import SoftmaxMode, softmax_mode
from ..inference.neighbors.embedding import Embedding
from ..inference.neighbors.link import ClassLink, Link
from ..inference.neighbors.local import LocalRegression
from ..inference.neighbors.posterior import NeighborPosterior, StackedPosterior
from ..inference.neighbors.search import NeighborIndex
from ..inference.problem import held_out_rows
from ..kernels import Kernel
from .monitor import SILENT, Monitor

#: Neighbours while the metric is learned; predictions may have more.
LEARNING_NEIGHBORS = 40
#: Rows of a batch, rows whose candidates are known at a time, and rows held back at most.
BATCH, POOL, HELD_BACK = 400, 10_000, 2000
#: Steps after which held-back rows are predicted; and so on, every 50.
_CHECKS = (0, 10, 25, 50)
#: First and smallest step of Adam in theta.
_STEP, _SMALLEST_STEP = 0.1, 0.015
#: Checks without a better one before the step is halved.
_PATIENCE = 2
#: Logarithms of length-scales differ with this standard deviation a priori.
_SPREAD = 0.5
#: Steps and rows by which the link is fitted to the number of neighbours of predictions.
_LINK_STEPS, _LINK_ROWS = 60, 4000
#: The global model: inducing points, rows it learns from, amplitude, and the smallest weight worth having it for.
_INDUCING, _GLOBAL_ROWS, _AMPLITUDE, _SMALLEST_WEIGHT = 1000, 20_000, 100.0, 0.01
#: Pseudo-counts of the nearest-neighbour model, the global one and lapses, for their weights.
_COUNTS = np.array([1.0, 0.1, 0.1])
_NOISE_BOUNDS = np.log([1e-6, 1e3])


@dataclass(frozen=True)
class NeighborProblem:
    """Rows X (n, d) in the kernel's units, observations y (n,), the targets (n, C) that regression has for them, and
    the weight (n,) of each row."""

    kernel: Kernel
    link: Link
    X: np.ndarray
    y: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None = None
    noise: float = 0.1
    embedding: Embedding | None = None

    def subset(self, rows: np.ndarray) -> NeighborProblem:
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], targets=self.targets[rows], weights=weights)

    @property
    def theta(self) -> np.ndarray:
        """The kernel's parameters, the logarithm of the noise, the link's parameters."""
        return np.concatenate([self.kernel.theta, [np.log(self.noise)], self.link.theta])

    @property
    def theta_bounds(self) -> np.ndarray:
        return np.concatenate([self.kernel.theta_bounds, [_NOISE_BOUNDS], self.link.theta_bounds])

    @property
    def theta_names(self) -> tuple[str, ...]:
        return (*self.kernel.theta_names, "noise", *self.link.theta_names)

    def at(self, theta: np.ndarray) -> NeighborProblem:
        """The same with these parameters."""
        split = self.kernel.theta.size
        kernel, link = self.kernel.with_theta(theta[:split]), self.link.with_theta(theta[split + 1 :])
        return replace(self, kernel=kernel, noise=float(np.exp(theta[split])), link=link)

    @property
    def regression(self) -> LocalRegression:
        return LocalRegression(self.kernel, self.noise, self.weights, self.embedding)

    def posterior(self, n_neighbors: int, index: str) -> NeighborPosterior:
        return NeighborPosterior(
            self.kernel, self.noise, self.X, self.targets, n_neighbors, index, self.weights, self.embedding
        )

    def value_and_gradient(self, rows: np.ndarray, neighbors: np.ndarray) -> tuple[float, np.ndarray]:
        """Mean leave-one-out log probability of a batch with the log prior's share of it, and the gradient in theta."""
        moments, pullback = self.regression.vjp(self.X, self.targets, self.X[rows], neighbors)
        score = self.link.score(self.y[rows], moments.mean, moments.variance, self.noise)
        counts = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        counts = counts / counts.sum()
        by_kernel, by_noise = pullback(counts[:, None] * score.by_mean, counts * score.by_variance)
        (prior, slope), n = self._log_prior(), len(self.X)
        gradient = np.concatenate([by_kernel, [by_noise + counts @ score.by_noise], counts @ score.by_theta])
        return float(counts @ score.log_prob) + prior / n, gradient + slope / n

    def _log_prior(self) -> tuple[float, np.ndarray]:
        """Length-scales are similar a priori, whatever their mean; and what the link expects."""
        value, by_link = self.link.log_prior()
        slope = np.concatenate([np.zeros(self.kernel.theta.size + 1), by_link])
        entries = self.kernel.theta_entries
        for name in {entry.parameter for entry in entries if entry.role == "length_scale"}:
            where = [j for j, entry in enumerate(entries) if entry.parameter == name]
            off = self.kernel.theta[where] - self.kernel.theta[where].mean()
            value -= 0.5 * float(off @ off) / _SPREAD**2
            slope[where] -= off / _SPREAD**2
        return value, slope


@dataclass(frozen=True)
class NeighborSettings:
    """How to train; ``default_kernel`` gets length-scales by the distances of neighbours to start from."""

    n_neighbors: int = 100
    index: str = "auto"
    learns: bool = True
    max_iter: int = 600
    stacks: bool = True
    calibrates: bool = True
    default_kernel: bool = True


@dataclass(frozen=True)
class TrainedNeighbors:
    """A trained nearest-neighbour model; ``likelihood`` is its link. It has no evidence, and so no objective."""

    kernel: Kernel
    likelihood: Link
    posterior: NeighborPosterior | StackedPosterior
    hyper: HyperResult
    info: Info
    calibration: Calibration
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
    held_back = held_out_rows(problem.y, min(n // 5, HELD_BACK))
    if np.count_nonzero(held_back) < 20:
        held_back[:] = False
    others, rows = problem.subset(~held_back), np.flatnonzero(held_back)
    learned = _Learned(problem.theta, -np.inf, 1, True)
    if settings.learns:
        if settings.default_kernel:
            others = replace(others, kernel=_start(others, settings, rng))
        learned = _learn(others, problem.subset(held_back), settings, rng, monitor)
        others = others.at(learned.theta)
        if settings.n_neighbors > LEARNING_NEIGHBORS and not learned.interrupted:
            others = _fit_link(others, settings, rng, monitor)
    final = problem.at(others.theta)
    posterior: Any = final.posterior(settings.n_neighbors, settings.index)
    calibration = Calibration()
    if isinstance(problem.link, ClassLink) and (settings.stacks or settings.calibrates):
        tested = problem.subset(held_back) if len(rows) else None
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
    return TrainedNeighbors(final.kernel, final.link, posterior, hyper, info, calibration, learned.interrupted)


class _Learned(NamedTuple):
    """The best theta, by the mean log probability of held-back rows, and how it was found."""

    theta: np.ndarray
    value: float
    n_iter: int
    converged: bool
    stopped: bool = False
    interrupted: bool = False
    trace: tuple[float, ...] = ()


def _start(problem: NeighborProblem, settings: NeighborSettings, rng: np.random.Generator) -> Kernel:
    """The kernel with twice the median distance of the farthest neighbours for its length-scales."""
    n, m = len(problem.X), min(LEARNING_NEIGHBORS, settings.n_neighbors, len(problem.X) - 1)
    rows = np.sort(rng.choice(n, min(n, 1000), replace=False))
    neighbors = NeighborIndex(problem.X, settings.index).search(problem.X[rows], m, rows)
    distance = float(np.median(np.linalg.norm(problem.X[rows] - problem.X[neighbors[:, -1]], axis=1)))
    start = np.full(problem.kernel.theta.size, np.log(2.0 * distance)) if distance > 0.0 else problem.kernel.theta
    return problem.kernel.with_theta(np.clip(start, *problem.kernel.theta_bounds.T))


class _Adam:
    """Steps of Adam within bounds (Kingma and Ba 2015)."""

    def __init__(self, size: int) -> None:
        self.mean, self.square, self.n = np.zeros(size), np.zeros(size), 0

    def step(self, theta: np.ndarray, gradient: np.ndarray, length: float, bounds: np.ndarray) -> np.ndarray:
        """Uphill from theta."""
        self.n += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.99 * self.square + 0.01 * gradient**2
        mean, square = self.mean / (1.0 - 0.9**self.n), self.square / (1.0 - 0.99**self.n)
        return np.clip(theta + length * mean / (np.sqrt(square) + 1e-10), *bounds.T)


class _BatchPool:
    """Rows with candidates for their neighbours under the present metric, of which batches are drawn."""

    def __init__(self, problem: NeighborProblem, index: NeighborIndex, m: int, n_rows: int, rng: Any) -> None:
        n = len(problem.X)
        self.rows, self.m = rng.permutation(n)[:n_rows], m
        points = problem.regression.points(problem.X[self.rows])
        self.candidates = index.search(points, min(2 * m, n - 1), self.rows)

    def draw(self, problem: NeighborProblem, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A batch of rows, and their neighbours."""
        some = rng.choice(len(self.rows), min(BATCH, len(self.rows)), replace=False)
        rows = self.rows[some]
        return rows, problem.regression.nearest(problem.X, problem.X[rows], self.candidates[some], self.m)


def _learn(
    problem: NeighborProblem,
    held_back: NeighborProblem,
    settings: NeighborSettings,
    rng: np.random.Generator,
    monitor: Monitor,
) -> _Learned:
    """The theta that predicts the held-back rows best, among those on the way of Adam; without such rows those of the
    pool are predicted, each from the others."""
    n, m = len(problem.X), min(LEARNING_NEIGHBORS, settings.n_neighbors, len(problem.X) - 1)
    adam, length, bounds = _Adam(problem.theta.size), _STEP, problem.theta_bounds
    theta, best, value, stalls = problem.theta, problem.theta, -np.inf, 0
    total, since = np.zeros_like(theta), 0  # of theta since the last check
    trace: list[float] = []
    n_iter, converged, interrupted = 0, False, False
    with monitor.task("learning steps", settings.max_iter) as steps:
        try:
            while n_iter < settings.max_iter and not (converged or steps.should_stop):
                if n_iter in _CHECKS or n_iter % 50 == 0:
                    # The mean over steps is nearer to the optimum than any of them.
                    mean = total / since if since else theta
                    present = problem.at(mean)
                    posterior = present.posterior(m, settings.index)
                    pool = _BatchPool(present, posterior.neighbor_index, m, min(n, POOL), rng)
                    trace.append(_check(present, held_back, posterior, pool))
                    stalls = 0 if trace[-1] > value else stalls + 1
                    if trace[-1] > value:
                        best, value = mean, trace[-1]
                    if stalls >= _PATIENCE:
                        theta, length, stalls = best, 0.5 * length, 0
                        converged = length < _SMALLEST_STEP
                    total, since = np.zeros_like(theta), 0
                present = problem.at(theta)
                _, gradient = present.value_and_gradient(*pool.draw(present, rng))
                if np.all(np.isfinite(gradient)):
                    theta = adam.step(theta, gradient, length, bounds)
                total, since, n_iter = total + theta, since + 1, n_iter + 1
                steps.step(f"log probability {value:.4f}")
        except KeyboardInterrupt:
            interrupted = True
    stopped = steps.should_stop and not converged
    return _Learned(best, value, n_iter, converged or n_iter == settings.max_iter, stopped, interrupted, tuple(trace))


def _check(
    problem: NeighborProblem, held_back: NeighborProblem, posterior: NeighborPosterior, pool: _BatchPool
) -> float:
    """Mean log probability of held-back rows, or of some of the pool where there are none."""
    if len(held_back.y):
        mean, variance = posterior.moments(held_back.X)
        return float(problem.link.score(held_back.y, mean, variance, problem.noise).log_prob.mean())
    some = pool.rows[:HELD_BACK]
    neighbors = problem.regression.nearest(problem.X, problem.X[some], pool.candidates[:HELD_BACK], pool.m)
    return problem.value_and_gradient(some, neighbors)[0]


def _fit_link(
    problem: NeighborProblem, settings: NeighborSettings, rng: np.random.Generator, monitor: Monitor
) -> NeighborProblem:
    """The problem with noise, link and a common factor of the length-scales for more neighbours than it was learned
    with: by the same leave-one-out predictions, which cannot flatter so few parameters much."""
    n, m = len(problem.X), min(settings.n_neighbors, len(problem.X) - 1)
    rows = rng.permutation(n)[: min(n, _LINK_ROWS)]
    points = problem.regression.points(problem.X)
    neighbors = NeighborIndex(points, settings.index).search(points[rows], m, rows)
    scales = np.array([entry.role == "length_scale" for entry in problem.kernel.theta_entries], bool)
    factor = np.concatenate([scales, np.zeros(problem.theta.size - scales.size, bool)]).astype(float)
    adam, split, theta = _Adam(1 + problem.theta.size - scales.size), scales.size, problem.theta
    bounds = problem.theta_bounds
    with monitor.task("link", _LINK_STEPS) as steps:
        for done in steps.each(range(_LINK_STEPS)):
            some = rng.choice(len(rows), min(BATCH, len(rows)), replace=False)
            _, gradient = problem.at(theta).value_and_gradient(rows[some], neighbors[some])
            if not np.all(np.isfinite(gradient)):
                continue
            few = np.concatenate([[gradient @ factor], gradient[split:]])
            move = adam.step(np.zeros_like(few), few, 0.5 * _STEP * (1.0 - done / _LINK_STEPS), np.array([[-9.0, 9.0]]))
            theta = np.clip(theta + move[0] * factor, *bounds.T)
            theta[split:] = np.clip(theta[split:] + move[1:], *bounds[split:].T)
    return problem.at(theta)


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
    places = np.arange(len(y))
    parts = [log_local[places, y], np.full(len(y), -np.inf), np.full(len(y), -np.log(n_classes))]
    global_model: SoftmaxMode | None = None
    if settings.stacks and held_back is not None:
        global_model = _global_model(others, n_classes, rng, monitor)
        parts[1] = global_model.predict_log(held_back.X)[places, y]
    if not settings.calibrates:
        parts[2] = np.full(len(y), -np.inf)
    weights = stacking_weights(np.array(parts), counts)
    calibration = Calibration(lapse_rate=float(weights[2]))
    share = float(weights[1] / (weights[0] + weights[1]))
    if global_model is None or share < _SMALLEST_WEIGHT:
        return posterior, calibration
    return StackedPosterior(posterior, global_model, share), calibration


def _global_model(problem: NeighborProblem, n_classes: int, rng: np.random.Generator, monitor: Monitor) -> SoftmaxMode:
    """A softmax model through random inducing points, with the kernel learned from neighbours."""
    rows = rng.permutation(len(problem.y))[:_GLOBAL_ROWS]
    Z = problem.X[rows[:_INDUCING]]
    weights = None if problem.weights is None else problem.weights[rows]
    kernel = _AMPLITUDE * problem.kernel
    return softmax_mode(kernel, Z, problem.X[rows], problem.y[rows], n_classes, weights, monitor=monitor)


def stacking_weights(log_probs: np.ndarray, counts: np.ndarray | None = None, n_iter: int = 200) -> np.ndarray:
    """Weights of models whose mean probability is most likely, by EM from log probabilities (models, rows)."""
    weights = np.where(np.all(np.isneginf(log_probs), axis=1), 0.0, _COUNTS)
    prior = np.where(weights > 0.0, _COUNTS, 0.0)
    weights = weights / weights.sum()
    proba = np.exp(log_probs - log_probs.max(axis=0))
    for _ in range(n_iter):
        share = weights[:, None] * proba
        share /= share.sum(axis=0)
        total = share.sum(axis=1) if counts is None else share @ counts
        weights = (total + prior) / np.sum(total + prior)
    return weights

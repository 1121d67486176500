"""Learning the metric of a nearest-neighbour model by leave-one-out predictions of random batches of rows.

Every row is predicted from its nearest other rows under the present metric. The gradient of the log probability of a
batch gives a step of Adam in all parameters: the kernel's, the noise and the link's. Neighbours are searched for anew
now and then, for a pool of rows and with twice as many candidates as are needed; in between the nearest candidates are
found exactly (of mixed columns, in the order of the last search). Steps come in rounds, each of which ends with small
ones. Leave-one-out predictions flatter a metric that was fitted to them, so rows that are held back decide whether a
round was a gain, and whether another one follows.

First comes a length-scale for each column. Then columns may be mixed, which finds sums and differences of them that
matter: the metric is that of (x / length_scale) (I + U) with a prior that keeps U small. It is kept where held-back
rows clearly gain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..inference.neighbors.embedding import Embedding
from ..inference.neighbors.link import Link
from ..inference.neighbors.local import LocalRegression
from ..inference.neighbors.on_device import SentRows
from ..inference.neighbors.posterior import NeighborPosterior
from ..inference.neighbors.search import MANY_ROWS, NeighborIndex
from ..kernels import Kernel
from ..numerics import linalg
from ..numerics.devices import HOST, Place
from ..training.monitor import SILENT, Monitor
from .adam import Adam

#: Neighbours while the metric is learned; predictions may have more.
LEARNING_NEIGHBORS = 40
#: Rows whose candidates are known at a time, and rows held back at most.
POOL, HELD_BACK = 5000, 5000
#: From so many rows on the candidates of a batch need not be all of the nearest rows.
_MANY_ROWS = 10_000
#: Steps of a round at which neighbours are searched for anew: these, and every hundredth.
_SEARCHES = (10, 25, 50)
#: With more columns than this, every 25th: the more columns there are, the more a step of all of them moves.
_FEW_COLUMNS, _EVERY, _EVERY_OF_MANY = 64, 100, 25
#: First step of Adam in theta.
_STEP = 0.1
#: Logarithms of length-scales differ with this standard deviation a priori.
_SPREAD = 0.5
#: The same for the entries of U, the first step of Adam in them, the steps of their first round, the most columns that
#: are mixed, and the fewest held-back rows to decide by.
_MIXING_SD, _MIXING_STEP, _MIXING_ROUND, _MIXED_COLUMNS, _MIXING_ROWS = 0.1, 0.01, 50, 64, 200
#: Standard errors by which held-back rows must gain for another round, and for mixed columns.
_GAIN = 1.0
#: Steps and rows by which the link is fitted to the number of neighbours of predictions.
_LINK_STEPS, LINK_ROWS = 30, 4000
_NOISE_BOUNDS = np.log([1e-6, 1e3])


@dataclass(frozen=True)
class NeighborProblem:
    """Rows X (n, d) in the kernel's units, observations y (n,), the targets (n, C) that regression has for them,
    the weight (n,) of each row, and the mixing U (d, d) of the columns while it is learned.

    ``place`` is where batches are computed; ``sent`` are the rows there.
    """

    kernel: Kernel
    link: Link
    X: np.ndarray
    y: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None = None
    noise: float = 0.1
    embedding: Embedding | None = None
    mixing: np.ndarray | None = None
    place: Place = HOST
    sent: SentRows | None = None

    def subset(self, rows: np.ndarray) -> NeighborProblem:
        weights = None if self.weights is None else self.weights[rows]
        few = replace(self, X=self.X[rows], y=self.y[rows], targets=self.targets[rows], weights=weights)
        return few.sent_to(self.place)

    def sent_to(self, place: Place) -> NeighborProblem:
        """The same, computed in some place."""
        return replace(self, place=place, sent=SentRows.of(place, self.X, self.targets, self.weights))

    @property
    def theta(self) -> np.ndarray:
        """The kernel's parameters, the logarithm of the noise, the link's parameters, the mixing."""
        mixing = np.empty(0) if self.mixing is None else self.mixing.ravel()
        return np.concatenate([self.kernel.theta, [np.log(self.noise)], self.link.theta, mixing])

    @property
    def theta_bounds(self) -> np.ndarray:
        mixing = np.tile([-1.0, 1.0], (0 if self.mixing is None else self.mixing.size, 1))
        return np.concatenate([self.kernel.theta_bounds, [_NOISE_BOUNDS], self.link.theta_bounds, mixing])

    @property
    def theta_names(self) -> tuple[str, ...]:
        return (*self.kernel.theta_names, "noise", *self.link.theta_names)

    def at(self, theta: np.ndarray) -> NeighborProblem:
        """The same with these parameters."""
        split = self.kernel.theta.size
        end = split + 1 + self.link.theta.size
        kernel, link = self.kernel.with_theta(theta[:split]), self.link.with_theta(theta[split + 1 : end])
        mixing = None if self.mixing is None else theta[end:].reshape(self.mixing.shape)
        return replace(self, kernel=kernel, noise=float(np.exp(theta[split])), link=link, mixing=mixing)

    def transform(self, components: np.ndarray) -> NeighborProblem:
        """The same on rows that are mixed for good."""
        return replace(self, X=self.X @ components, mixing=None).sent_to(self.place)

    @property
    def components(self) -> np.ndarray:
        """The matrix that mixes rows (n, d) from the right, in the units of the columns."""
        scale = 1.0 / np.sqrt(self.kernel.relevance(self.X.shape[1]))
        return np.eye(len(scale)) + (self.mixing / scale[:, None]) * scale

    @property
    def regression(self) -> LocalRegression:
        return LocalRegression(self.kernel, self.noise, self.weights, self.embedding, self.mixing, self.sent)

    def posterior(self, n_neighbors: int, index: str) -> NeighborPosterior:
        parts = self.kernel, self.noise, self.X, self.targets
        return NeighborPosterior(*parts, n_neighbors, index, self.weights, self.embedding, self.place)

    def neighbors(self, points: np.ndarray, index: str, many_rows: int = MANY_ROWS) -> NeighborIndex:
        """An index of these points."""
        return NeighborIndex(points, index, many_rows, self.place)

    def value_and_gradient(self, rows: np.ndarray, neighbors: np.ndarray) -> tuple[float, np.ndarray]:
        """Mean leave-one-out log probability of a batch with the log prior's share of it, and the gradient in theta."""
        moments, pullback = self.regression.vjp(self.X, self.targets, self.X[rows], neighbors)
        score = self.link.score(self.y[rows], moments.mean, moments.variance, self.noise)
        counts = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        counts = counts / counts.sum()
        slopes = pullback(counts[:, None] * score.by_mean, counts * score.by_variance)
        (prior, slope), n = self._log_prior(), len(self.X)
        by_mixing = np.empty(0) if slopes.mixing is None else slopes.mixing.ravel()
        gradient = np.concatenate(
            [slopes.theta, [slopes.noise + counts @ score.by_noise], counts @ score.by_theta, by_mixing]
        )
        return float(counts @ score.log_prob) + prior / n, gradient + slope / n

    def _log_prior(self) -> tuple[float, np.ndarray]:
        """Length-scales are similar a priori, whatever their mean, and columns hardly mixed; and what the link
        expects."""
        value, by_link = self.link.log_prior()
        U = np.empty(0) if self.mixing is None else self.mixing.ravel()
        value -= 0.5 * float(U @ U) / _MIXING_SD**2
        slope = np.concatenate([np.zeros(self.kernel.theta.size + 1), by_link, -U / _MIXING_SD**2])
        entries = self.kernel.theta_entries
        for name in {entry.parameter for entry in entries if entry.role == "length_scale"}:
            where = [j for j, entry in enumerate(entries) if entry.parameter == name]
            off = self.kernel.theta[where] - self.kernel.theta[where].mean()
            value -= 0.5 * float(off @ off) / _SPREAD**2
            slope[where] -= off / _SPREAD**2
        return value, slope


@dataclass(frozen=True)
class NeighborSettings:
    """How to train; ``default_kernel`` gets length-scales by the distances of neighbours to start from, and its columns
    are mixed where ``mixes`` allows it and it pays."""

    n_neighbors: int = 100
    index: str = "auto"
    learns: bool = True
    max_iter: int = 1000
    stacks: bool = True
    calibrates: bool = True
    default_kernel: bool = True
    mixes: bool = True


class LearnedMetric(NamedTuple):
    """The problem with the best parameters, on rows that are mixed where that pays, and by which matrix (d, d); the
    mean log probability of held-back rows, and how it was found."""

    problem: NeighborProblem
    components: np.ndarray | None
    value: float
    n_iter: int = 1
    converged: bool = True
    stopped: bool = False
    interrupted: bool = False
    trace: tuple[float, ...] = ()


def learn_metric(
    problem: NeighborProblem,
    held_back: NeighborProblem,
    settings: NeighborSettings,
    rng: np.random.Generator,
    monitor: Monitor = SILENT,
) -> LearnedMetric:
    """The parameters that predict the held-back rows best; without such rows some of the training rows are predicted,
    each from the others."""
    if settings.default_kernel:
        problem = replace(problem, kernel=_start(problem, settings, rng))
    with monitor.task("learning steps", settings.max_iter) as steps:
        rounds = _Rounds(problem, held_back, settings, rng, steps)
        gains = rounds.try_round(_STEP)
        mixes = settings.default_kernel and settings.mixes and 1 < problem.X.shape[1] <= _MIXED_COLUMNS
        if mixes and len(held_back.y) >= _MIXING_ROWS and rounds.mix():
            while rounds.try_round(_MIXING_STEP):
                pass
        else:
            while gains and rounds.try_round(_STEP):
                pass
        stopped = steps.should_stop
    best, components = rounds.best, None
    if best.mixing is not None and np.any(best.mixing):
        components = best.components
        best = best.transform(components)
    return LearnedMetric(
        replace(best, mixing=None),
        components,
        float(rounds.scores.mean()),
        rounds.n_iter,
        not (stopped or rounds.interrupted),
        stopped,
        rounds.interrupted,
        tuple(rounds.trace),
    )


class _Rounds:
    """Rounds of steps from the best parameters so far."""

    def __init__(
        self,
        problem: NeighborProblem,
        held_back: NeighborProblem,
        settings: NeighborSettings,
        rng: np.random.Generator,
        steps: Monitor,
    ) -> None:
        self.held_back, self.settings, self.rng, self.steps = held_back, settings, rng, steps
        self.m = min(LEARNING_NEIGHBORS, settings.n_neighbors, len(problem.X) - 1)
        self.tested = rng.permutation(len(problem.X))[:HELD_BACK]  # where no rows are held back
        self.best, self.scores = problem, self._scores(problem)
        self.n_iter, self.interrupted, self.trace = 0, False, [float(self.scores.mean())]

    @property
    def ended(self) -> bool:
        return self.n_iter >= self.settings.max_iter or self.steps.should_stop or self.interrupted

    def mix(self) -> bool:
        """Let the columns be mixed from now on, if a short round of that is a clear gain; whether it is."""
        plain, d = self.best, self.best.X.shape[1]
        self.best = replace(plain, mixing=np.zeros((d, d)))
        gains = self.try_round(_MIXING_STEP, _MIXING_ROUND, needed=_GAIN)
        if not gains:
            self.best = plain
        return gains

    def try_round(self, length: float, n_steps: int | None = None, needed: float = 0.0) -> bool:
        """A round, kept where held-back rows gain by ``needed`` standard errors; whether they gain clearly."""
        if self.ended:
            return False
        found = self._round(n_steps or round_length(len(self.best.X)), length)
        try:
            scores = self._scores(found)
        except KeyboardInterrupt:
            self.interrupted = True
            return False
        gain, error = _gain(scores - self.scores, self._counts(found))
        if gain > needed * error:
            self.best, self.scores = found, scores
        self.trace.append(float(scores.mean()))
        return gain > _GAIN * error

    def _round(self, n_steps: int, length: float) -> NeighborProblem:
        """The problem after so many steps, the last of them small; after fewer where learning is interrupted."""
        problem = self.best
        theta, bounds, adam = problem.theta, problem.theta_bounds, Adam(problem.theta.size)
        every = _EVERY if problem.X.shape[1] <= _FEW_COLUMNS else _EVERY_OF_MANY
        try:
            with linalg.one_thread:  # products of a batch are small
                for done in range(n_steps):
                    if self.ended:
                        break
                    if done in _SEARCHES or done % every == 0:
                        pool = _BatchPool(problem.at(theta), self.m, self.settings.index, self.rng)
                    present = problem.at(theta)
                    _, gradient = present.value_and_gradient(*pool.draw(present, self.rng))
                    if np.all(np.isfinite(gradient)):
                        shrunk = length * 0.5 * (1.0 + np.cos(np.pi * done / n_steps))
                        theta = adam.step(theta, gradient, shrunk, bounds)
                    self.n_iter += 1
                    self.steps.step(f"log probability {self.scores.mean():.4f}")
        except KeyboardInterrupt:
            self.interrupted = True
        return problem.at(theta)

    def _scores(self, problem: NeighborProblem) -> np.ndarray:
        """Log probabilities of the held-back rows, or of some training rows without their labels."""
        tested = self.held_back
        if problem.mixing is not None:
            components = problem.components
            problem, tested = problem.transform(components), tested.transform(components)
        posterior = problem.posterior(self.m, self.settings.index)
        if len(tested.y):
            y, moments = tested.y, posterior.moments(tested.X)
        else:
            y, moments = problem.y[self.tested], posterior.moments(problem.X[self.tested], self.tested)
        return problem.link.score(y, *moments, problem.noise).log_prob

    def _counts(self, problem: NeighborProblem) -> np.ndarray | None:
        if len(self.held_back.y):
            return self.held_back.weights
        return None if problem.weights is None else problem.weights[self.tested]


def _gain(difference: np.ndarray, counts: np.ndarray | None) -> tuple[float, float]:
    """The weighted mean of differences, and its standard error."""
    mean = float(np.average(difference, weights=counts))
    off = (difference - mean) * (1.0 if counts is None else counts / counts.mean())
    return mean, float(np.sqrt(np.mean(off**2) / len(off)))


def _start(problem: NeighborProblem, settings: NeighborSettings, rng: np.random.Generator) -> Kernel:
    """The kernel with twice the median distance of the farthest neighbours for its length-scales."""
    n, m = len(problem.X), min(LEARNING_NEIGHBORS, settings.n_neighbors, len(problem.X) - 1)
    rows = np.sort(rng.choice(n, min(n, 1000), replace=False))
    neighbors = problem.neighbors(problem.X, settings.index).search(problem.X[rows], m, rows)
    distance = float(np.median(np.linalg.norm(problem.X[rows] - problem.X[neighbors[:, -1]], axis=1)))
    start = np.full(problem.kernel.theta.size, np.log(2.0 * distance)) if distance > 0.0 else problem.kernel.theta
    return problem.kernel.with_theta(np.clip(start, *problem.kernel.theta_bounds.T))


def round_length(n: int) -> int:
    """Steps of a round: the more rows there are, the finer is what can be learned from them."""
    return max(100, min(n // 50, 400))


def batch_size(n: int) -> int:
    """Rows of a batch: the more rows there are, the less noise is in the way."""
    return min(n, max(200, min(n // 100, 1000)))


class _BatchPool:
    """Rows with candidates for their neighbours under the present metric, of which batches are drawn."""

    def __init__(self, problem: NeighborProblem, m: int, index: str, rng: np.random.Generator) -> None:
        n, points = len(problem.X), problem.regression.points(problem.X)
        self.rows, self.m = rng.permutation(n)[:POOL], m
        found = problem.neighbors(points, index, _MANY_ROWS)
        self.candidates = found.search(points[self.rows], min(2 * m, n - 1), self.rows)

    def draw(self, problem: NeighborProblem, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A batch of rows, and their neighbours."""
        some = rng.choice(len(self.rows), batch_size(len(problem.X)), replace=False)
        rows = self.rows[some]
        return rows, problem.regression.nearest(problem.X, problem.X[rows], self.candidates[some], self.m)


def fit_link(
    problem: NeighborProblem, settings: NeighborSettings, rng: np.random.Generator, monitor: Monitor = SILENT
) -> NeighborProblem:
    """The problem with noise, link and a common factor of the length-scales for more neighbours than it was learned
    with."""
    n, m = len(problem.X), min(settings.n_neighbors, len(problem.X) - 1)
    rows = rng.permutation(n)[: min(n, LINK_ROWS)]
    points = problem.regression.points(problem.X)
    neighbors = problem.neighbors(points, settings.index).search(points[rows], m, rows)
    return fit_link_to(problem, rows, neighbors, batch_size(len(rows)), rng, monitor)


def fit_link_to(
    problem: NeighborProblem,
    rows: np.ndarray,
    neighbors: np.ndarray,
    n_batch: int,
    rng: np.random.Generator,
    monitor: Monitor = SILENT,
) -> NeighborProblem:
    """The same for given neighbours (b, m) of some rows (b,), ``n_batch`` of them at each step: by leave-one-out
    predictions, which cannot flatter so few parameters much."""
    scales = np.array([entry.role == "length_scale" for entry in problem.kernel.theta_entries], bool)
    factor = np.concatenate([scales, np.zeros(problem.theta.size - scales.size, bool)]).astype(float)
    adam, split, theta = Adam(1 + problem.theta.size - scales.size), scales.size, problem.theta
    bounds = problem.theta_bounds
    with linalg.one_thread, monitor.task("link", _LINK_STEPS) as steps:
        for done in steps.each(range(_LINK_STEPS)):
            some = rng.choice(len(rows), n_batch, replace=False)
            _, gradient = problem.at(theta).value_and_gradient(rows[some], neighbors[some])
            if not np.all(np.isfinite(gradient)):
                continue
            few = np.concatenate([[gradient @ factor], gradient[split:]])
            move = adam.step(np.zeros_like(few), few, 0.5 * _STEP * (1.0 - done / _LINK_STEPS), np.array([[-9.0, 9.0]]))
            theta = np.clip(theta + move[0] * factor, *bounds.T)
            theta[split:] = np.clip(theta[split:] + move[1:], *bounds[split:].T)
    return problem.at(theta)

"""Which rows become active, and with which sites: the informative vector machine (LPJ05 section 3, GR06 section 5).

A row is included by assumed density filtering: its site makes the new posterior match the first two moments of old
posterior times likelihood (``update="adf"``), or is the unit-noise pseudo-observation of GR06 eqs 5.1-5.4
(``update="vb"``), for which all classes share their covariances. Rows are scored by one of four criteria:

    entropy      how much the entropy of the posterior falls, -1/2 sum_c log(1 - nu_c s_c)                 (LPJ05 eq 19)
    gain         KL(new || old) = 1/2 sum_c [-log(1 - nu_c s_c) - nu_c s_c + s_c g_c^2]
    probability  how improbable the row's label is under the others, -log P                               (GR06 eq 5.5)
    random       the baseline

Lazily, and still exactly: with a common variance s, P is the Gaussian measure of a cone shifted by h = mean /
(1 + s)^1/2, and a shift by h changes the quantile z = Phi^-1(P) by no more than |h| (half-spaces change most, by the
lemma of Neyman and Pearson). P falls only as other classes come closer to the label's, and what all classes have in
common moves nothing. So z at the last evaluation, less the length of that part of h's move since, bounds the
present z from below, and only rows whose bound reaches under the smallest z known need the cone integral at all.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri_exp

from ...likelihoods import Likelihood, MultinomialProbit
from ...numerics import linalg
from ...numerics import probit_moments as cone
from ...numerics.compiled import jit, over_rows
from ...training.monitor import SILENT, Monitor
from ..settings import check_counts
from .active_set import ActiveSet

CRITERIA = ("entropy", "gain", "probability", "random")
UPDATES = ("adf", "vb")
#: Candidates for each place of a block.
_POOL = 4
#: Beyond this quantile P is 1 in double precision.
_CERTAIN = 37.0
#: How far the rough rule of the cone can be off in a quantile.
_ROUGH = 1e-6
#: Smallest nu * s of an update: below it a site says nothing, and its precision would be zero.
_LEAST = 1e-12
#: Fall of the entropy that is none.
_NOTHING = 10.0 * _LEAST
#: Score of rows that come last: below every other, and above that of rows that may not be chosen.
_LAST = -np.finfo(float).max


class Moments(NamedTuple):
    """Of some rows: log P of their labels (n,), gains g (n, C), and nu (n, C) with Sigma -= nu s s' on inclusion."""

    log_z: np.ndarray
    gain: np.ndarray
    nu: np.ndarray

    def sites(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Precisions (n, G) and means (n, C) of the sites, from means (n, C) and variances (n, G) (LPJ05 eqs 17-18)."""
        nu = self.nu[:, : variance.shape[1]]
        return nu / np.maximum(1.0 - nu * variance, 1e-12), self.gain / self.nu + mean


@dataclass(frozen=True)
class Selector:
    """How rows are chosen and taken up.

    Parameters
    ----------
    criterion : "entropy", "gain", "probability" or "random"
    update : "adf" or "vb"
    block_size : int
        Rows included by one matrix product. With 1 every row is scored anew for every inclusion. With more, the best
        ``4 * block_size`` rows form a pool, of which ``block_size`` are chosen one after the other, scored anew within
        the pool only.
    """

    criterion: str = "entropy"
    update: str = "adf"
    block_size: int = 1

    def __post_init__(self) -> None:
        for name, known in (("criterion", CRITERIA), ("update", UPDATES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {list(known)}, got {getattr(self, name)!r}")
        check_counts(self, block_size=1)

    def least(self, likelihood: Likelihood) -> float:
        """The score above which a row is worth taking up."""
        return _NOTHING if self.criterion == "entropy" and not likelihood.log_concave else -np.inf

    def grow(
        self,
        active: ActiveSet,
        y: np.ndarray,
        likelihood: Likelihood,
        n_active: int,
        rng: np.random.Generator | None = None,
        monitor: Monitor = SILENT,
    ) -> bool:
        """Include rows until there are ``n_active``, or until no row lowers the entropy; whether a callback asked to
        stop before.

        Under a likelihood that is not log-concave a row may ask for a negative precision, which is set to zero (LPJ05
        section 4.3). It then tells nothing certain, and many such rows would drag the mean about without ever
        narrowing it: they stay outside.
        """
        scorer = row_scorer(self, active, y, likelihood, rng)
        least = self.least(likelihood)
        # One row at a time the work is shared out over our own threads, and those of BLAS would be in their way.
        threads = linalg.one_thread if self.block_size == 1 else nullcontext()
        with threads, monitor.task("active rows", n_active - active.size) as steps:
            while active.size < n_active:
                if self.block_size == 1:
                    best = scorer.best()
                    if best.score <= least:
                        return False
                    self.include(active, y, likelihood, best.row)
                else:
                    pool = scorer.best_of_all(_POOL * self.block_size, least)
                    if not len(pool):
                        return False
                    wanted = min(self.block_size, n_active - active.size, len(pool))
                    active.include_block(*self._from_pool(active, y, likelihood, pool, wanted, rng))
                steps.step()
                if steps.should_stop:
                    return active.size < n_active
        return False

    def exchange(
        self,
        active: ActiveSet,
        y: np.ndarray,
        likelihood: Likelihood,
        n_exchanges: int,
        rng: np.random.Generator | None = None,
        monitor: Monitor = SILENT,
    ) -> bool:
        """Take out the active row that is missed least and include the best one instead, until that is the same row;
        whether a callback asked to stop before.

        Early choices were made in ignorance (LPJ05 section 3.5). What a row is worth now is KL(with it || without it).
        """
        if self.criterion == "random":
            return False  # no row is better than another
        scorer = row_scorer(replace(self, block_size=1), active, y, likelihood, rng)
        with monitor.task("exchanges") as steps:
            for _ in steps.each(range(n_exchanges)):
                position = int(np.argmin(active.worth()))
                row = active.rows[position]
                active.remove(position)
                best = scorer.best().row
                self.include(active, y, likelihood, best)
                if best == row:
                    return False
            return steps.should_stop

    def include(self, active: ActiveSet, y: np.ndarray, likelihood: Likelihood, row: int) -> None:
        """Take up one row."""
        mean, variance = active.mean[[row]], active.variance[[row]]
        precision, site_mean = self.moments(likelihood, y[[row]], mean, variance).sites(mean, variance)
        active.include(row, precision[0], site_mean[0])

    def moments(self, likelihood: Likelihood, y: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> Moments:
        """What including each of some rows would do, from their means (n, C) and variances (n, G)."""
        full = np.broadcast_to(variance, mean.shape)
        if self.update == "vb":
            noise = likelihood.auxiliary_noise(len(y))[:, None]
            slope = likelihood.tilted(y, mean, np.zeros_like(mean))[1]  # (y~ - mean) / noise
            return Moments(likelihood.tilted(y, mean, full)[0], noise * slope / (noise + full), 1.0 / (noise + full))
        log_z, first, second = likelihood.tilted(y, mean, full)
        # A likelihood that is not log-concave may ask for a negative precision: then the mean alone is matched.
        floor = np.divide(_LEAST, full, out=np.full(full.shape, _LEAST), where=full > 0.0)
        return Moments(log_z, first, np.maximum(-second, floor))

    def score(self, likelihood: Likelihood, y: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """How much each row is worth, (n,); only the order counts."""
        full = np.broadcast_to(variance, mean.shape)
        if self.criterion == "probability":
            score = -likelihood.tilted(y, mean, full)[0]
        else:
            _, gain, nu = self.moments(likelihood, y, mean, variance)
            shrink = np.minimum(nu * full, 1.0 - 1e-12)
            fall = -np.log1p(-shrink).sum(axis=1)
            score = 0.5 * (fall if self.criterion == "entropy" else fall + (full * gain**2 - shrink).sum(axis=1))
        return np.where(settled(variance), _LAST, score)

    def _from_pool(
        self,
        active: ActiveSet,
        y: np.ndarray,
        likelihood: Likelihood,
        pool: np.ndarray,
        wanted: int,
        rng: np.random.Generator | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows of a block and their sites, from the exact posterior of the pool alone."""
        within = _Pool(active, pool)
        chosen, precisions, means = [], [], []
        left = np.ones(len(pool), bool)
        for _ in range(wanted):
            if self.criterion == "random":
                place = int(np.flatnonzero(left)[0])
            else:
                score = self.score(likelihood, y[pool], within.mean, within.variance)
                place = int(np.argmax(np.where(left, score, -np.inf)))
            mean, variance = within.mean[[place]], within.variance[[place]]
            moments = self.moments(likelihood, y[pool[[place]]], mean, variance)
            precision, site_mean = moments.sites(mean, variance)
            within.include(place, moments)
            left[place] = False
            chosen.append(pool[place])
            precisions.append(precision[0])
            means.append(site_mean[0])
        return np.array(chosen), np.array(precisions), np.array(means)


class _Pool:
    """The joint posterior of a few rows, small enough for full covariances (G, P, P)."""

    def __init__(self, active: ActiveSet, rows: np.ndarray) -> None:
        self.mean, self.floor = active.mean[rows], active.floor[rows]
        k, X = active.size, active.columns.X[rows]
        K = active.columns.kernel(X)
        self.Sigma = np.stack(
            [
                (K if K.ndim == 2 else K[g]) - linalg.gram(np.asarray(active.M[g, rows, :k], dtype=float).T)
                for g in range(active.n_groups)
            ]
        )

    @property
    def variance(self) -> np.ndarray:
        return np.maximum(np.diagonal(self.Sigma, axis1=1, axis2=2).T, self.floor)

    def include(self, place: int, moments: Moments) -> None:
        """LPJ05 eqs 9-12."""
        for g in range(len(self.Sigma)):
            s = self.Sigma[g, :, place].copy()
            classes = slice(None) if len(self.Sigma) == 1 else slice(g, g + 1)
            self.mean[:, classes] += np.outer(s, moments.gain[0, classes])
            self.Sigma[g] -= moments.nu[0, g] * np.outer(s, s)


def settled(variance: np.ndarray) -> np.ndarray:
    """Rows (n,) whose latent values the prior has settled already, such as zeros under a linear kernel: their labels
    say nothing of others."""
    return ~np.any(variance > 0.0, axis=1)


class Best(NamedTuple):
    """The most informative row, and its score: higher is better, and to be compared under the same selector only."""

    row: int
    score: float


class RowScorer:
    """Scores of all rows that could become active."""

    def __init__(
        self,
        selector: Selector,
        active: ActiveSet,
        y: np.ndarray,
        likelihood: Likelihood,
        rng: np.random.Generator | None,
    ) -> None:
        self.selector, self.active, self.y, self.likelihood, self.rng = selector, active, y, likelihood, rng

    def scores(self) -> np.ndarray:
        """(n,), minus infinity for rows that are not to be chosen."""
        active = self.active
        score = self.selector.score(self.likelihood, self.y, active.mean, active.variance)
        score[~active.eligible] = -np.inf
        return score

    def best(self) -> Best:
        """The most informative row."""
        return _first(self.scores(), self.rng)

    def best_of_all(self, count: int, least: float = -np.inf) -> np.ndarray:
        """The ``count`` most informative rows, best first, of those with scores above ``least``."""
        score = self.scores()
        count = min(count, int(np.count_nonzero(score > least)))
        if self.rng is not None:  # equal scores in random order
            order = self.rng.permutation(len(score))
            return order[np.argsort(-score[order], kind="stable")[:count]]
        return np.argsort(-score, kind="stable")[:count]


class _Random(RowScorer):
    """The baseline: a random order of all rows, settled beforehand."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        rng = np.random.default_rng(0) if self.rng is None else self.rng
        order = rng.permutation(np.flatnonzero(self.active.eligible))
        self.order = order[np.argsort(settled(self.active.variance)[order], kind="stable")]
        self.before = self.active.size
        # Falling random numbers: of the rows of several scorers, every one is equally likely to come next.
        self.marks = np.sort(rng.random(len(self.order)))[::-1]

    def best(self) -> Best:
        place = self.active.size - self.before
        return Best(int(self.order[place]), float(self.marks[place]))

    def best_of_all(self, count: int, least: float = -np.inf) -> np.ndarray:
        return self.order[self.active.size - self.before :][:count]


class _Lazy(RowScorer):
    """For the criterion "probability" under the multinomial probit with shared variances: the same rows, with few of
    the integrals (see above)."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        n = len(self.y)
        self.quantile, self.bound = np.empty(n), np.empty(n)
        self.seen = np.empty_like(self.active.mean)
        self._evaluate(np.arange(n))

    def _evaluate(self, rows: np.ndarray) -> None:
        mean, variance = self.active.mean[rows], self.active.variance[rows]
        log_p = cone.log_z(self.y[rows], mean, np.broadcast_to(variance, mean.shape), rough=True)
        self.quantile[rows] = np.where(settled(variance), -_LAST, np.minimum(ndtri_exp(log_p), _CERTAIN))
        self.seen[rows] = mean / np.sqrt(1.0 + variance)

    def best(self) -> Best:
        active = self.active
        over_rows(
            _lower_bounds,
            len(self.y),
            3.0 * self.seen.shape[1],
            self.y,
            active.mean,
            active.variance[:, 0],
            self.seen,
            self.quantile,
            self.bound,
        )
        self.bound[~active.eligible] = np.inf
        score = np.full(len(self.bound), -np.inf)
        waiting, smallest, batch = np.flatnonzero(self.bound < np.inf), np.inf, 32
        # The smallest known z is an upper limit: whoever might be below it has to show, likely ones first.
        while len(waiting):
            if batch < len(waiting):
                waiting = waiting[np.argpartition(self.bound[waiting], batch)]
            self._evaluate(waiting[:batch])
            score[waiting[:batch]] = -self.quantile[waiting[:batch]]
            smallest = min(smallest, self.quantile[waiting[:batch]].min())
            waiting = waiting[batch:]
            waiting = waiting[self.bound[waiting] <= smallest + _ROUGH]
            batch *= 2
        return _first(score, self.rng)


@jit
def _lower_bounds(start, stop, labels, mean, variance, seen, quantile, bound):
    """z at the last evaluation less the distance moved since, in so far as it brought another class closer."""
    C = mean.shape[1]
    for n in range(start, stop):
        scale = 1.0 / sqrt(1.0 + variance[n])
        own = mean[n, labels[n]] * scale - seen[n, labels[n]]
        total, squares = 0.0, 0.0
        for c in range(C):
            step = max(mean[n, c] * scale - seen[n, c] - own, 0.0)
            total += step
            squares += step * step
        bound[n] = quantile[n] - sqrt(max(squares - total * total / C, 0.0))


def _first(score: np.ndarray, rng: np.random.Generator | None) -> Best:
    """The best row; of equal ones the first, or one at random."""
    best = int(np.argmax(score))
    if rng is not None:
        best = int(rng.choice(np.flatnonzero(score >= score[best] - 1e-12 * abs(score[best]))))
    return Best(best, float(score[best]))


def row_scorer(
    selector: Selector, active: ActiveSet, y: np.ndarray, likelihood: Likelihood, rng: np.random.Generator | None
) -> RowScorer:
    """The scorer of all rows for such a selector."""
    lazy = (
        selector.criterion == "probability"
        and selector.block_size == 1
        and active.n_groups == 1
        and isinstance(likelihood, MultinomialProbit)
        and likelihood.log_concave
    )
    kind = _Random if selector.criterion == "random" else _Lazy if lazy else RowScorer
    return kind(selector, active, y, likelihood, rng)

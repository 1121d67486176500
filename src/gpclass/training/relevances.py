"""Which of many inputs a model needs: columns are chosen one by one, by what the evidence E promises to gain.

At an isotropic optimum length-scales have no slope for an input of even effect, or for one that is hidden by hundreds
of others. The evidence has a slope for them in another direction, that of adding a function of one input alone: for the
covariance K + w k it is dE/dw = sum(G * k) at w = 0, with one G = dE/dK for all k.

Slopes are compared with those of the same k with its rows in random order. For doubly centred G and k, sum(G * P k P')
over permutations P has the mean tr(G) tr(k) / (n - 1) and a variance of about 2 |G|^2 |k|^2 / (n - 1)^2 (Kazi-Aoual,
Hitier, Sabatier and Lebreton 1995). A score is the difference in standard deviations.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from ..hyper import Evidence, HyperResult, Objective
from ..hyper.results import Start
from ..hyper.search import Effort
from ..inference.prior import DensePrior
from ..kernels import Categorical, Columns, Kernel, View
from ..kernels.rows import features
from ..kernels.stationary import Stationary
from ..numerics.arrays import to_host
from .monitor import Monitor

#: How many cosines of the ranks of a column make up a function of it.
_N_COSINES = 8
#: Where the length-scale of a chosen column starts, in standard deviations of the column.
_START = 2.0
#: Columns are scored so many at a time.
_BLOCK = 500
#: A centred kernel of a smaller squared norm is rounding.
_NO_NORM = 1e-20
#: What a function of all columns must score to be added to one of a few: it has too many parts for a long tail.
_TWO_SD = 2.0


class Optimum(NamedTuple):
    """A problem whose parameters have been learned."""

    objective: Objective
    found: HyperResult

    @property
    def kernel(self) -> Kernel:
        return self.objective.at(self.found.theta)[0]


def choose_columns(
    isotropic: Optimum, search: Evidence, least: float, rng: np.random.Generator, monitor: Monitor
) -> Optimum | None:
    """A model of the few columns that matter, with a length-scale for each, learned roughly; None without any.

    Each time the column that promises most joins those chosen before, while its promise and then the gain of the
    evidence are above log p nats, which is what it takes to name one of p columns. The first must promise ``least``
    nats more: where the isotropic model misses nothing, the search ends after one gradient.
    """
    objective = isotropic.objective
    problem, learner = objective.problem, objective.learner
    columns = np.flatnonzero(~problem.kernel.categorical_columns(Columns(), problem.X.shape[1]))
    if len(columns) < 2 or problem.has_parts or learner.prior_type is not DensePrior:
        return None
    if not learner.differentiates(problem.likelihood):
        return None
    X = to_host(features(problem.thinned(search.max_rows or len(problem.y)).X))
    phi_blocks = range(0, X.shape[1], _BLOCK)
    scales = _START * np.std(to_host(features(problem.X)), axis=0)
    price, at = float(np.log(len(columns))), isotropic
    chosen: list[int] = []
    while len(chosen) < len(columns):
        G = slope_in_covariance(at, search.max_rows)
        scores = np.concatenate([column_scores(G, X[:, start : start + _BLOCK]) for start in phi_blocks])
        promises = promised_gains(scores[columns])
        promises[np.isin(columns, chosen)] = 0.0
        if np.max(promises) < (price if chosen else price + least):
            break
        more = [*chosen, int(columns[np.argmax(promises)])]
        trial = replace(objective, problem=replace(problem, kernel=on_columns(problem.kernel, more, scales)))
        found = search(trial, rng, monitor, Effort(start=Start(trial.theta, np.eye(len(trial.theta)), at.found.state)))
        found = replace(found, n_evaluations=found.n_evaluations + at.found.n_evaluations)
        if chosen and found.value - at.found.value < price:
            break
        chosen, at = more, Optimum(trial, found)
        if found.stopped:
            break
    return at if chosen else None


def add_all_columns(
    few: Optimum, isotropic: Optimum, search: Evidence, rng: np.random.Generator, monitor: Monitor
) -> Optimum | None:
    """The sum of a function of a few columns and one of all, where the second has something to add."""
    problem = few.objective.problem
    rows = problem.thinned(search.max_rows or len(problem.y)).X
    G, k = slope_in_covariance(few, search.max_rows), _centred(to_host(isotropic.kernel(rows)))
    if _standardised(np.sum(G * k), G, np.trace(k), np.sum(k * k)) < _TWO_SD:
        return None
    started = problem.started_at(few.found.theta)
    both = replace(few.objective, problem=replace(started, kernel=few.kernel + isotropic.kernel))
    found = search(both, rng, monitor)
    return Optimum(both, replace(found, n_evaluations=found.n_evaluations + few.found.n_evaluations))


def slope_in_covariance(model: Optimum, max_rows: int | None) -> np.ndarray:
    """G = dE/dK, doubly centred, on at most so many rows."""
    objective = model.objective.thinned(max_rows)
    problem, (kernel, likelihood) = objective.problem, objective.at(model.found.theta)
    n = objective.n_rows
    prior = DensePrior(kernel(problem.X), problem.n_latent)  # whose parameters are the entries of K
    slope = objective.learner(prior, problem.y, likelihood, model.found.state, True).gradient
    assert slope is not None
    return _centred(slope[: n * n].reshape(n, n))


def column_scores(G: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Scores (p,) of a function of each column alone: k_j = sum_q phi_qj phi_qj' with the features of ``cosines``."""
    phi = cosines(X)
    slopes = np.einsum("qap,qap->p", phi, G @ phi)
    inner = np.einsum("qap,rap->pqr", phi, phi, optimize=True)
    return _standardised(slopes, G, np.trace(inner, axis1=1, axis2=2), np.sum(inner * inner, axis=(1, 2)))


def cosines(X: np.ndarray) -> np.ndarray:
    """Features (q, n, p) of each column by itself: cosines of its ranks, centred, whose variances fall as 1 / q.

    Smooth functions come first, as in Neyman's smooth test, and units do not matter.
    """
    order = np.arange(1, _N_COSINES + 1)[:, None, None]
    phi = np.cos(np.pi * order * (rankdata(X, axis=0) - 0.5) / len(X)) / np.sqrt(order)
    return phi - phi.mean(axis=1, keepdims=True)


def promised_gains(scores: np.ndarray) -> np.ndarray:
    """By how much the evidence rises with the best variance w of one feature, given its score.

    A feature of sparsity s and quality q (Tipping and Faul 2003) brings -log(1 + w s) / 2 + w q^2 / (2 (1 + w s)), at
    most (r - 1 - log r) / 2 with r = q^2 / s; the slope at 0, (q^2 - s) / 2, is (r - 1) / sqrt(2) standard deviations.
    """
    ratio = 1.0 + np.sqrt(2.0) * np.maximum(scores, 0.0)
    return 0.5 * (ratio - 1.0 - np.log(ratio))


def on_columns(kernel: Kernel, columns: list[int], scales: np.ndarray) -> Kernel:
    """The default kernel, or a part of it, on some columns of numbers, with length-scales (p,); categories stay."""
    if isinstance(kernel, View):
        places = np.arange(len(scales))[kernel.columns].tolist()
        own = [places.index(j) for j in columns if j in places]
        return replace(kernel, kernel=on_columns(kernel.kernel, own, scales[places]))
    if isinstance(kernel, Categorical):
        return kernel
    if isinstance(kernel, Stationary):
        return View(replace(kernel, length_scale=scales[columns]), columns)
    return kernel._with_children([on_columns(child, columns, scales) for child in kernel.children])


def _centred(K: np.ndarray) -> np.ndarray:
    """Symmetric, with rows and columns of mean 0."""
    K = 0.5 * (K + K.T)
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def _standardised(slopes: Any, G: np.ndarray, traces: Any, norms: Any) -> np.ndarray:
    """Slopes in standard deviations from their mean, given tr(k) and |k|^2; 0 for columns that do not vary."""
    above = (len(G) - 1) * slopes - np.trace(G) * traces
    sd = np.sqrt(2.0 * np.sum(G * G) * norms)
    return np.divide(above, sd, out=np.zeros_like(above), where=norms > _NO_NORM)

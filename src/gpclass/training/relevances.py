"""Which of many inputs a model needs: columns are chosen one by one, by what the evidence E promises to gain.

At an isotropic optimum length-scales have no slope for an input of even effect, or for one that is hidden by hundreds
of others. The evidence has a slope for them in another direction, that of adding a function of one input alone: for the
covariance K + w k_j it is dE/dw = sum(G * k_j) at w = 0, with one G = dE/dK for all columns j.
"""

from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from ..hyper import Evidence, HyperResult, Objective
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


def choose_columns(
    objective: Objective,
    found: HyperResult,
    search: Evidence,
    least: float,
    rng: np.random.Generator,
    monitor: Monitor,
) -> tuple[Objective, HyperResult] | None:
    """A model of the few columns that matter, with a length-scale for each, learned from scratch; None without any.

    ``found`` is the optimum with one length-scale for all columns. Each time the column that promises most joins those
    chosen before, while its promise and then the gain of the evidence are above log p nats, which is what it
    takes to name one of p columns. The first must promise ``least`` nats more: where the isotropic model misses
    nothing, the search ends here, after one gradient.
    """
    problem = objective.problem
    columns = np.flatnonzero(~problem.kernel.categorical_columns(Columns(), problem.X.shape[1]))
    learner = objective.learner
    if len(columns) < 2 or problem.has_parts or learner.prior_type is not DensePrior:
        return None
    if not learner.differentiates(problem.likelihood):
        return None
    price, chosen, at, n_evaluations = np.log(len(columns)), [], objective, found.n_evaluations
    while len(chosen) < len(columns):
        promises = promised_gains(column_scores(at.thinned(search.max_rows), found.theta)[columns])
        promises[np.isin(columns, chosen)] = 0.0
        if np.max(promises) < (price if chosen else price + least):
            break
        more = [*chosen, int(columns[np.argmax(promises)])]
        kernel = on_columns(problem.kernel, more, _START * np.std(to_host(features(problem.X)), axis=0))
        trial = replace(objective, problem=replace(problem, kernel=kernel))
        result = search(trial, rng, monitor)
        n_evaluations += result.n_evaluations
        if result.stopped or (chosen and result.value - found.value < price):
            break
        chosen, at, found = more, trial, result
    return (at, replace(found, n_evaluations=n_evaluations)) if chosen else None


def column_scores(objective: Objective, theta: np.ndarray) -> np.ndarray:
    """dE/dw for a function of each column, in standard deviations from its mean (p,), were the rows of that column in
    random order.

    For doubly centred G and k, sum(G * P k P') over permutations P has mean tr(G) tr(k) / (n - 1) and variance about
    2 |G|^2 |k|^2 / (n - 1)^2 (Kazi-Aoual et al. 1995).
    """
    problem, (kernel, likelihood) = objective.problem, objective.at(theta)
    n = objective.n_rows
    prior = DensePrior(kernel(problem.X), problem.n_latent)
    slope = objective.learner(prior, problem.y, likelihood, None, True).gradient
    assert slope is not None
    G = slope[: n * n].reshape(n, n)
    G = 0.5 * (G + G.T)
    G = G - G.mean(axis=0) - G.mean(axis=1)[:, None] + G.mean()
    X = to_host(features(problem.X))
    scores = np.zeros(X.shape[1])
    for start in range(0, len(scores), _BLOCK):
        phi = cosines(X[:, start : start + _BLOCK])
        slopes = np.einsum("qap,qap->p", phi, G @ phi)
        inner = np.einsum("qap,rap->pqr", phi, phi, optimize=True)
        mean = np.trace(G) * np.trace(inner, axis1=1, axis2=2) / (n - 1)
        sd = np.sqrt(2.0 * np.sum(G * G) * np.sum(inner * inner, axis=(1, 2))) / (n - 1)
        varies = sd > 0.0
        scores[start : start + _BLOCK][varies] = (slopes - mean)[varies] / sd[varies]
    return scores


def cosines(X: np.ndarray) -> np.ndarray:
    """Features (q, n, p) of each column, the kernel k_j of which is sum_q phi_qj phi_qj': cosines of its ranks, centred.

    Their variances fall as 1 / q: smooth functions come first, as in Neyman's smooth test, and units do not matter.
    """
    order = np.arange(1, _N_COSINES + 1)[:, None, None]
    phi = np.cos(np.pi * order * (rankdata(X, axis=0) - 0.5) / len(X)) / np.sqrt(order)
    return phi - phi.mean(axis=1, keepdims=True)


def promised_gains(scores: np.ndarray) -> np.ndarray:
    """By how much the evidence rises with the best variance w of one feature, given the score of it.

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
    if isinstance(kernel, Stationary):
        return kernel if isinstance(kernel, Categorical) else View(replace(kernel, length_scale=scales[columns]), columns)
    return kernel._with_children([on_columns(child, columns, scales) for child in kernel.children])

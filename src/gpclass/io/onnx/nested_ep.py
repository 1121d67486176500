"""Probabilities of the multinomial probit under correlated latent values, recorded: ``numerics.nested_ep`` for all
rows and all labels at once.

For the label i, x_j = f_i - f_j + u with u ~ N(0, 1), and P(i) = E prod_(j != i) Phi(x_j). Each factor gets a Gaussian
site, visited in turn (Riihimaki, Jylanki & Vehtari 2013). Rows whose sites have settled are visited again until those
of all rows have, which changes them no more.

Shapes: n rows, K labels and k = K - 1 factors of each; arrays are (n, K, k) and (n, K, k, k).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...numerics.nested_ep import SWEEPS, TOLERANCE
from . import namespace as xp
from .graph import RecordedArray
from .special import hazard, log_normal_cdf


class _Sites(NamedTuple):
    """Moments of x, the sites' precisions and locations, and log |I + covariance * precision|, (n, K)."""

    mean: RecordedArray
    covariance: RecordedArray
    alpha: RecordedArray
    beta: RecordedArray
    log_det: RecordedArray


def correlated_probit(mean: RecordedArray, covariance: RecordedArray) -> RecordedArray:
    """Probabilities (n, K) for latent means (n, K) and covariances (n, K, K)."""
    gaps, prior = (xp.stack(part, axis=1) for part in zip(*_gaps(mean, covariance), strict=True))
    nothing = 0.0 * gaps
    start = _Sites(gaps, prior, nothing, nothing, nothing[:, :, 0])
    sites = _Sites(*mean.graph.loop(_sweep, start, SWEEPS))
    log_z = _log_z(gaps, sites)
    raised = xp.exp(log_z - xp.max(log_z, axis=1, keepdims=True))
    return raised / xp.sum(raised, axis=1, keepdims=True)


def _gaps(mean: RecordedArray, covariance: RecordedArray) -> Iterator[tuple[RecordedArray, RecordedArray]]:
    """Means (n, k) and covariances (n, k, k) of the x of each label."""
    K = mean.shape[1]
    for i in range(K):
        others = mean.graph.constant(np.delete(np.arange(K), i))
        own, between = covariance[:, i, i], xp.take(covariance[:, i, :], others, axis=1)
        among = xp.take(xp.take(covariance, others, axis=1), others, axis=2)
        shared = own[:, None, None] - between[:, :, None] - between[:, None, :]
        yield mean[:, i : i + 1] - xp.take(mean, others, axis=1), shared + among + 1.0


def _sweep(*state: RecordedArray) -> tuple[RecordedArray, tuple[RecordedArray, ...]]:
    """One visit of every site, and whether any has moved."""
    mean, covariance, alpha, beta, log_det = state
    k, moved = mean.shape[2], 0.0 * log_det
    for j in range(k):
        own = np.eye(k)[j]
        a, b, m = (part[:, :, j] for part in (alpha, beta, mean))
        spread = covariance[:, :, j, j]
        precision = 1.0 / spread - a
        proper = precision > 0.0
        v = 1.0 / xp.where(proper, precision, 1.0)
        new_a, new_b = _matched(v * (m / spread - b), v)
        da, db = xp.where(proper, new_a - a, 0.0), xp.where(proper, new_b - b, 0.0)
        moved = xp.maximum(moved, xp.maximum(xp.abs(da) * spread, xp.abs(db) * xp.sqrt(spread)))
        grow = 1.0 + da * spread
        log_det = log_det + xp.log(grow)
        column = covariance[:, :, :, j]
        mean = mean + ((db - da * m) / grow)[:, :, None] * column
        covariance = covariance - (da / grow)[:, :, None, None] * (column[:, :, :, None] * column[:, :, None, :])
        alpha, beta = alpha + da[:, :, None] * own, beta + db[:, :, None] * own
    # Rows with NaN are not waited for.
    goes_on = xp.max(xp.concat([xp.astype(moved >= TOLERANCE, np.float64), *_none(moved)], axis=0)) > 0.0
    return goes_on, (mean, covariance, alpha, beta, log_det)


def _none(moved: RecordedArray) -> list[RecordedArray]:
    """A row of zeros: the largest number of no rows is not defined."""
    return [moved.graph.constant(np.zeros((1, moved.shape[1])))]


def _matched(m: RecordedArray, v: RecordedArray) -> tuple[RecordedArray, RecordedArray]:
    """Precision and location of the site that matches the moments of Phi(x) N(x; m, v)."""
    scale = xp.sqrt(1.0 + v)
    z = m / scale
    h = hazard(z)
    second = -(h * (z + h)) / (1.0 + v)
    shrink = 1.0 + v * second
    return -second / shrink, (h / scale - m * second) / shrink


def _log_z(prior_mean: RecordedArray, sites: _Sites) -> RecordedArray:
    """log Z (n, K) of EP with prior means, in natural parameters."""
    total = -0.5 * sites.log_det
    for j in range(prior_mean.shape[2]):
        m0, m, a, b = (part[:, :, j] for part in (prior_mean, sites.mean, sites.alpha, sites.beta))
        spread = sites.covariance[:, :, j, j]
        precision = 1.0 / spread - a
        v = 1.0 / precision
        location = m / spread - b
        p, q = b - m0 * a, location - m0 * precision
        total = total + log_normal_cdf(v * location / xp.sqrt(1.0 + v)) + 0.5 * xp.log(1.0 + a * v)
        total = total + 0.5 * p * (m - m0) + 0.5 * spread * (q * (a * v * q - 2.0 * p) - p * p)
    return total

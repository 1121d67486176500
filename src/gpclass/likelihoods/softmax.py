"""Class labels through the softmax (multinomial logit) of K latent values (WB98 section 4, CC05)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

import numpy as np
from scipy.linalg import helmert
from scipy.special import log_softmax

from ..numerics import nested_ep as orthant
from ..numerics import product_form as curvature
from ..numerics.arrays import Array, like, namespace
from ..numerics.compiled import jit, over_rows
from ..numerics.special import gaussian_rule
from .base import Likelihood

#: Up to so many classes EP takes the moments of a row by product quadrature (CC05 3.2), unless a contrast between two
#: classes has a variance for which the rule is too coarse.
_FEW, _WIDE = 3, 100.0
#: From this variance of a contrast on, predictions use nested sites and not one rule around the mean.
_WIDE_PREDICTION = 30.0
#: Latent values that predictions take at a time: few enough to stay in the cache.
_BLOCK = 2**17


@dataclass(frozen=True, eq=False, repr=False)
class Softmax(Likelihood):
    """P(y = k | f) = exp(f_k) / sum_j exp(f_j); Gaussian averages by product or quasi-random rules."""

    supports = frozenset({"derivatives", "curvature", "site"})
    log_concave = True

    def n_latent(self, n_classes: int) -> int:
        return n_classes

    on_devices = frozenset({"derivatives", "curvature"})

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return log_softmax(f, axis=1)[np.arange(len(f)), np.asarray(y, dtype=int)]

    def derivatives(self, y: np.ndarray, f: Array) -> tuple[Array, Array, Array]:
        xp = namespace(f)
        own = like(np.eye(f.shape[1])[np.asarray(y, dtype=int)], f)
        shifted, pi = _shifted_and_shares(f)
        log_prob = xp.sum(own * shifted, axis=1) - xp.log(xp.sum(xp.exp(shifted), axis=1))
        return log_prob, own - pi, -curvature.precision(pi)

    def curvature(self, y: np.ndarray, f: Array) -> tuple[Array, Callable[[Array], Array]]:
        xp, pi = namespace(f), _shifted_and_shares(f)[1]
        pi = xp.where(pi > 1e-300, pi, 1e-300)
        return pi, lambda c: c - pi * xp.sum(c, axis=1, keepdims=True)

    def site(self, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = orthant.site(y, mean, cov, gumbel=True)
        if mean.shape[1] <= _FEW:
            # A row without variance has no precision, and nothing to improve.
            narrow = (_contrasts(cov).max(axis=(1, 2)) < _WIDE) & (np.linalg.eigvalsh(cov)[:, 0] > 1e-10)
            improved = _site_by_quadrature(y[narrow], mean[narrow], cov[narrow], *(part[narrow] for part in found))
            for part, better in zip(found, improved, strict=True):
                part[narrow] = better
        return found

    def predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        C = mean.shape[1]
        cov = var if var.ndim == 3 else var[:, :, None] * np.eye(C)
        out = np.empty_like(mean)
        wide = _contrasts(cov).max(axis=(1, 2)) >= _WIDE_PREDICTION
        out[wide] = orthant.log_proba(mean[wide], cov[wide], gumbel=True)
        out[~wide] = _average(mean[~wide], cov[~wide])
        return out


def _shifted_and_shares(f: Array) -> tuple[Array, Array]:
    """f (n, K) less its largest entry in each row, and the softmax."""
    xp = namespace(f)
    shifted = f - xp.max(f, axis=1, keepdims=True)
    raised = xp.exp(shifted)
    return shifted, raised / xp.sum(raised, axis=1, keepdims=True)


def _average(mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """log E softmax(f) for f ~ N(mean, cov), (n, K), by a rule around the mean.

    The softmax depends only on the K - 1 contrasts z = P f, so the rule has K - 1 dimensions. With f = m + g and q_k =
    exp(m_k - max m) it is q_k exp(g_k) / sum_j q_j exp(g_j): the factor before the average is left out of it, so that
    no probability is too small, and g itself is not large where the contrasts are not ``wide``.
    """
    n, K = mean.shape
    nodes, weights = gaussian_rule(K - 1, budget=2**14)
    P = helmert(K)
    values, vectors = np.linalg.eigh(P @ cov @ P.T)
    # The first coordinates, in which Sobol points are most even, go along the largest variances.
    root = P.T @ (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])[:, :, ::-1]
    log_q = mean - mean.max(axis=1, keepdims=True)
    average = np.empty((n, K))
    size = max(1, _BLOCK // (K * len(nodes)))
    for start in range(0, n, size):
        rows = slice(start, start + size)
        raised = np.exp(root[rows] @ nodes.T)  # exp(g), (rows, K, S)
        totals = np.exp(log_q[rows])[:, None, :] @ raised
        average[rows] = (raised @ (weights / totals).transpose(0, 2, 1))[:, :, 0]
    return log_q + np.log(average)


def _contrasts(cov: np.ndarray) -> np.ndarray:
    """Variances (n, C, C) of the differences between two latent values."""
    own = np.einsum("ncc->nc", cov)
    return own[:, :, None] + own[:, None, :] - 2.0 * cov


def _site_by_quadrature(
    y: np.ndarray, mean: np.ndarray, cov: np.ndarray, log_z: np.ndarray, d: np.ndarray, location: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Moments of the tilted distribution by a product Gauss-Hermite rule (CC05 3.2), starting from a nearby site.

    The softmax depends only on the K - 1 contrasts z = P f. The rule is centred at the tilted distribution's own mean
    and covariance and not, as in CC05, at the cavity's: a cavity of large variance would leave hardly a node where
    the softmax changes.
    """
    n, K = mean.shape
    P = helmert(K)
    prior_mean, prior = mean @ P.T, P @ cov @ P.T
    precision = np.linalg.inv(prior)
    pull = np.einsum("nij,nj->ni", precision, prior_mean)
    spread = np.linalg.inv(precision + P @ curvature.precision(d) @ P.T)
    centre = np.einsum("nij,nj->ni", spread, pull + location @ P.T)
    nodes, weights = gaussian_rule(K - 1, budget=1024)
    half_log_det = 0.5 * np.linalg.slogdet(prior)[1]
    for _ in range(2):
        root = np.linalg.cholesky(spread)
        log_z, moved = np.empty(n), np.empty_like(centre)
        given = y, prior_mean, precision, centre, root, nodes, weights, P
        over_rows(_tilted_rows, n, 30.0 * K * len(nodes), *given, log_z, moved, spread)
        log_z += np.log(np.einsum("nii->ni", root)).sum(axis=1) - half_log_det
        centre = moved
    # Of up to three classes the diagonal determines a precision without common shifts, and nearly always that has the
    # product form. A negative edge is taken for zero, which keeps the two smaller diagonals.
    T = P.T @ (np.linalg.inv(spread) - precision) @ P
    d, _ = curvature.product_form(np.maximum(np.einsum("nii->ni", T), 0.0))
    # The location that gives cavity times site the right mean.
    f = centre @ P
    location = d * (f - (d * f).sum(axis=1, keepdims=True) / d.sum(axis=1, keepdims=True))
    location += (np.einsum("nij,nj->ni", precision, centre) - pull) @ P
    return log_z, d, location


@jit
def _tilted_rows(start, stop, y, prior_mean, precision, centre, root, nodes, weights, P, log_z, mean, spread):
    """log Z, mean and covariance of the tilted distribution of the contrasts, by a rule at ``centre`` with ``root``."""
    k, K = P.shape
    z, off, f = np.empty(k), np.empty(k), np.empty(K)
    log_ratio = np.empty(len(nodes))
    places = np.empty((len(nodes), k))
    for n in range(start, stop):
        peak = -np.inf
        for s in range(len(nodes)):
            quadratic = 0.0
            for i in range(k):
                z[i] = centre[n, i]
                for j in range(i + 1):
                    z[i] += root[n, i, j] * nodes[s, j]
                places[s, i] = z[i]
                off[i] = z[i] - prior_mean[n, i]
                quadratic += nodes[s, i] ** 2
            for i in range(k):
                for j in range(k):
                    quadratic -= off[i] * precision[n, i, j] * off[j]
            largest = -np.inf
            for c in range(K):
                f[c] = 0.0
                for i in range(k):
                    f[c] += z[i] * P[i, c]
                largest = max(largest, f[c])
            total = 0.0
            for c in range(K):
                total += exp(f[c] - largest)
            log_ratio[s] = f[y[n]] - largest - log(total) + 0.5 * quadratic
            peak = max(peak, log_ratio[s])
        total = 0.0
        mean[n] = 0.0
        spread[n] = 0.0
        for s in range(len(nodes)):
            tilt = weights[s] * exp(log_ratio[s] - peak)
            total += tilt
            for i in range(k):
                mean[n, i] += tilt * places[s, i]
        for i in range(k):
            mean[n, i] /= total
        for s in range(len(nodes)):
            tilt = weights[s] * exp(log_ratio[s] - peak) / total
            for i in range(k):
                for j in range(k):
                    spread[n, i, j] += tilt * (places[s, i] - mean[n, i]) * (places[s, j] - mean[n, j])
        log_z[n] = log(total) + peak

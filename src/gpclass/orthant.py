"""The multinomial probit when latent values are correlated between classes, by expectation propagation in one row.

With f ~ N(m, S) and label i, x_j = f_i - f_j + u (u ~ N(0, 1) the label's own noise) is Gaussian with means m_i - m_j
and covariances S_ii - S_ij - S_il + S_jl + 1, and Z = E prod_{j != i} Phi(x_j). Each Phi gets a Gaussian site on x_j
with precision alpha_j and location beta_j, visited in turn (the inner loop of Riihimaki, Jylanki & Vehtari 2013). For
independent latent values ``gpclass.cone`` is exact and faster.
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt

import numpy as np

from ._numba import jit, normal_parts, over_rows

_SWEEPS = 50
_TOL = 1e-9


@jit
def _site_sweeps(k, prior_mean, covariance, mean, alpha, beta):
    """log Z and sites for k factors Phi(x_j); covariance and mean enter as the prior's, leave as the posterior's."""
    alpha[:k] = 0.0
    beta[:k] = 0.0
    log_det = 0.0
    for _ in range(_SWEEPS):
        change = 0.0
        for j in range(k):
            spread = covariance[j, j]
            precision = 1.0 / spread - alpha[j]
            if precision <= 0.0:
                continue
            v = 1.0 / precision
            m = v * (mean[j] / spread - beta[j])
            scale = sqrt(1.0 + v)
            z = m / scale
            _, _, h = normal_parts(z)
            second = -h * (z + h) / (1.0 + v)
            shrink = 1.0 + v * second
            new_alpha = -second / shrink
            new_beta = (h / scale - m * second) / shrink
            d_alpha, d_beta = new_alpha - alpha[j], new_beta - beta[j]
            change = max(change, abs(d_alpha) * spread, abs(d_beta) * sqrt(spread))
            alpha[j], beta[j] = new_alpha, new_beta
            grow = 1.0 + d_alpha * spread
            log_det += log(grow)
            pull = (d_beta - d_alpha * mean[j]) / grow
            shrinkage = d_alpha / grow
            column = covariance[:k, j].copy()
            for a in range(k):
                mean[a] += pull * column[a]
                for b in range(k):
                    covariance[a, b] -= shrinkage * column[a] * column[b]
        if change < _TOL:
            break
    # log Z of EP with prior means, in natural parameters.
    total = -0.5 * log_det
    for j in range(k):
        spread = covariance[j, j]
        precision = 1.0 / spread - alpha[j]
        v = 1.0 / precision
        location = mean[j] / spread - beta[j]
        m = v * location
        mantissa, exponent, _ = normal_parts(m / sqrt(1.0 + v))
        p = beta[j] - prior_mean[j] * alpha[j]
        q = location - prior_mean[j] * precision
        total += log(mantissa) + exponent + 0.5 * log1p(alpha[j] * v)
        total += 0.5 * p * (mean[j] - prior_mean[j])
        total += 0.5 * spread * (q * (alpha[j] * v * q - 2.0 * p) - p * p)
    return total


@jit
def _gaps(i, means, covariance, K, gap, X):
    """Means and covariances of x_j = f_i - f_j + u, the label left out."""
    a = 0
    for j in range(K):
        if j == i:
            continue
        gap[a] = means[i] - means[j]
        b = 0
        for q in range(K):
            if q != i:
                X[a, b] = covariance[i, i] - covariance[i, j] - covariance[i, q] + covariance[j, q] + 1.0
                b += 1
        a += 1
    return a


@jit
def _log_proba_rows(start, stop, means, covariances, out):
    K = means.shape[1]
    gap, mean, alpha, beta = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    X = np.empty((K, K))
    for n in range(start, stop):
        largest = -np.inf
        for i in range(K):
            k = _gaps(i, means[n], covariances[n], K, gap, X)
            mean[:k] = gap[:k]
            out[n, i] = _site_sweeps(k, gap, X, mean, alpha, beta)
            largest = max(largest, out[n, i])
        total = 0.0
        for i in range(K):
            total += exp(out[n, i] - largest)
        for i in range(K):
            out[n, i] -= largest + log(total)


def log_proba(means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """log probabilities (n, K) of all classes for latent means (n, K) and covariances (n, K, K), normalised."""
    means = np.ascontiguousarray(means, dtype=float)
    covariances = np.ascontiguousarray(covariances, dtype=float)
    out = np.empty_like(means)
    K = means.shape[1]
    over_rows(_log_proba_rows, len(means), 100.0 * K**3, means, covariances, out)
    return out


@jit
def _site_rows(start, stop, labels, means, covariances, log_z, d, location):
    K = means.shape[1]
    gap, mean, alpha, beta = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    X = np.empty((K, K))
    for n in range(start, stop):
        i = labels[n]
        k = _gaps(i, means[n], covariances[n], K, gap, X)
        mean[:k] = gap[:k]
        log_z[n] = _site_sweeps(k, gap, X, mean, alpha, beta)
        # u integrated out of exp(sum_j -alpha_j x_j^2 / 2 + beta_j x_j): a precision 1 for f_i + u, and so for f_i.
        common = beta[:k].sum() / (1.0 + alpha[:k].sum())
        d[n, i] = 1.0
        location[n, i] = 0.0
        a = 0
        for j in range(K):
            if j != i:
                d[n, j] = alpha[a]
                location[n, j] = alpha[a] * common - beta[a]
                location[n, i] -= location[n, j]
                a += 1


def site(labels: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log Z (n,) and the Gaussian site in f that stands for the label: precision diag(d) - d d' / sum(d), location.

    The sites on x_j are Gaussian in f_i + u and f_j; with u integrated out the precision has that product form with
    d = 1 for the label and d_j = alpha_j (Riihimaki, Jylanki & Vehtari 2013), and both vanish on equal shifts.
    """
    means = np.ascontiguousarray(means, dtype=float)
    covariances = np.ascontiguousarray(covariances, dtype=float)
    n, K = means.shape
    log_z, d, location = np.empty(n), np.empty((n, K)), np.empty((n, K))
    labels = np.asarray(labels, dtype=np.int64)
    over_rows(_site_rows, n, 100.0 * K**2, labels, means, covariances, log_z, d, location)
    return log_z, d, location

"""Compiled loops over many small Gaussian-process regressions, each of a row on its own few neighbours.

With covariances K of the neighbours, k with the row itself, noise variances D and targets T,

    w = (K + D)^-1 k,   mean = w' T,   variance = 1 - w' k.

Where p and q are the slopes of a scalar in mean and variance, and r = (K + D)^-1 (T p - q k), the slopes are

    in k: r - q w,   in K: -r w',   in D: -r_j w_j.

Stationary kernels are k = g(s), s the squared distance in units of the length-scales; ``profile`` is the number of g.
Rows are scaled where they are gathered, so X itself stays as it is.
"""

from math import exp, sqrt

import numpy as np

from .compiled import jit, jit_sums

#: The stationary kernels that the loops know, by the nu of Matern; infinity is the RBF kernel.
PROFILES = {0.5: 0, 1.5: 1, 2.5: 2, np.inf: 3}


@jit
def stationary(profile, squared):
    """g(s) and -2 g'(s)."""
    if profile == 3:
        k = exp(-0.5 * squared)
        return k, k
    if profile == 0:
        r = sqrt(squared)
        k = exp(-r)
        return k, k / r if r > 1e-8 else 0.0
    if profile == 1:
        r = sqrt(3.0 * squared)
        k = exp(-r)
        return (1.0 + r) * k, 3.0 * k
    r = sqrt(5.0 * squared)
    k = exp(-r)
    return (1.0 + r + r * r / 3.0) * k, 5.0 / 3.0 * (1.0 + r) * k


@jit_sums
def _squared_distance(a, b):
    total = 0.0
    for j in range(len(a)):
        step = a[j] - b[j]
        total += step * step
    return total


@jit_sums
def _dot(a, b, n):
    total = 0.0
    for j in range(n):
        total += a[j] * b[j]
    return total


@jit
def _factorise(A):
    """Cholesky factor of A, in its lower triangle."""
    for i in range(len(A)):
        for j in range(i):
            A[i, j] = (A[i, j] - _dot(A[i], A[j], j)) / A[j, j]
        A[i, i] = sqrt(A[i, i] - _dot(A[i], A[i], i))


@jit
def _solve(L, b):
    """(L L')^-1 b, in place."""
    for i in range(len(b)):
        b[i] = (b[i] - _dot(L[i], b, i)) / L[i, i]
    for i in range(len(b) - 1, -1, -1):
        b[i] /= L[i, i]
        for j in range(i):
            b[j] -= L[i, j] * b[i]


@jit
def _gather(X, neighbors, query, inverse_scale, rows):
    """Scaled differences (m, d) of the neighbours from the row: small numbers, whatever the origin."""
    for a in range(len(neighbors)):
        for j in range(X.shape[1]):
            rows[a, j] = (X[neighbors[a], j] - query[j]) * inverse_scale[j]


@jit
def regress(
    start, stop, X, Q, neighbors, inverse_scale, profile, noise, targets, mean, variance, weights, chol, slopes, own
):
    """Means (b, C), variances (b,) and w (b, m) of the rows Q; ``noise`` (n,) is that of each row of X.

    Where ``chol`` is not empty, the factors (b, m, m) and -2 g' of K (b, m, m) and of k (b, m) are kept for ``pull``.
    """
    m, d = neighbors.shape[1], X.shape[1]
    rows, k, kept = np.empty((m, d)), np.empty(m), len(chol) > 0
    A, origin, unused = np.empty((m, m)), np.zeros(d), np.empty((m, m))
    for i in range(start, stop):
        _gather(X, neighbors[i], Q[i], inverse_scale, rows)
        L = chol[i] if kept else A
        slope = slopes[i] if kept else unused
        for a in range(m):
            for b in range(a):
                L[a, b], slope[a, b] = stationary(profile, _squared_distance(rows[a], rows[b]))
            L[a, a] = 1.0 + noise[neighbors[i, a]]
            k[a], own_slope = stationary(profile, _squared_distance(rows[a], origin))
            if kept:
                own[i, a] = own_slope
        _factorise(L)
        w = weights[i]
        w[:] = k
        _solve(L, w)
        variance[i] = 1.0 - _dot(w, k, m)
        for c in range(targets.shape[1]):
            total = 0.0
            for a in range(m):
                total += w[a] * targets[neighbors[i, a], c]
            mean[i, c] = total
        if kept:
            own[i + len(variance)] = k


@jit
def pull(
    start,
    stop,
    X,
    Q,
    neighbors,
    inverse_scale,
    noise,
    targets,
    weights,
    chol,
    slopes,
    own,
    p,
    q,
    by_scale,
    by_noise,
    by_rows,
):
    """Slopes of a scalar in the logarithms of the length-scales, (b, d), and of all noise variances, (b,), given its
    slopes p (b, C) and q (b,) in means and variances.

    Where ``by_rows`` is not empty, it becomes the slopes (b, m, d) in the scaled differences of the neighbours.
    """
    m, d, n_rows = neighbors.shape[1], X.shape[1], len(weights)
    rows, r, scratch, kept = np.empty((m, d)), np.empty(m), np.empty((m, d)), len(by_rows) > 0
    M = np.empty((m, m))
    for i in range(start, stop):
        _gather(X, neighbors[i], Q[i], inverse_scale, rows)
        w, k, G = weights[i], own[i + n_rows], by_rows[i] if kept else scratch
        for a in range(m):
            r[a] = _dot(targets[neighbors[i, a]], p[i], len(p[i])) - q[i] * k[a]
        _solve(chol[i], r)
        by_noise[i] = 0.0
        # dk / dz_a = 2 g' z_a and dK_ab / dz_a = 2 g' (z_a - z_b), so the slopes in z are a matrix times z
        for a in range(m):
            by_noise[i] -= r[a] * w[a] * noise[neighbors[i, a]]
            M[a, a] = (q[i] * w[a] - r[a]) * own[i, a]
            for b in range(a):
                pair = (r[a] * w[b] + r[b] * w[a]) * slopes[i, a, b]
                M[a, b] = -pair
                M[b, a] = -pair
                M[a, a] += pair
                M[b, b] += pair
        np.dot(M, rows, G)
        # dz_j / dlog l_j = -z_j
        by_scale[i] = 0.0
        for a in range(m):
            for j in range(d):
                by_scale[i, j] -= G[a, j] * rows[a, j]


@jit
def nearest(start, stop, X, Q, candidates, inverse_scale, chosen):
    """The nearest of each row's candidates, as many as ``chosen`` (b, m) has columns."""
    d, distance = X.shape[1], np.empty(candidates.shape[1])
    for i in range(start, stop):
        for a in range(candidates.shape[1]):
            total = 0.0
            for j in range(d):
                step = (X[candidates[i, a], j] - Q[i, j]) * inverse_scale[j]
                total += step * step
            distance[a] = total
        order = np.argsort(distance)
        for a in range(chosen.shape[1]):
            chosen[i, a] = candidates[i, order[a]]

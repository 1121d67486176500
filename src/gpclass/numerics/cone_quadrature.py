"""The probability of the largest of K noisy latent values, for arrays of any namespace: the twin of ``probit_moments``.

With x = f_i + u for the label i, u ~ N(0, 1), and z_j(u) = m_i - m_j + u the probability is

    P(y = i | m) = int N(u) prod_(j != i) Phi(z_j(u)) du = int exp(g(u)) du / sqrt(2 pi),

and its derivatives are moments of h_j = phi(z_j) / Phi(z_j) under exp(g). g is concave, with a curvature from 1 to K:
to the left of its mode u it falls at least as fast as a parabola of the curvature there, to the right at least as fast
as one of curvature 1. So two panels of Gauss-Legendre nodes hold all of exp(g) but 1e-16, and nodes are dense where
the two meet. All rows have the same number of nodes, and no row waits for another.
"""

from functools import cache

import numpy as np

from .arrays import Array, like, namespace
from .probit_moments import LARGEST_MEAN
from .special import log_ndtr_and_hazard

#: Nodes to the left and to the right of the mode, and how many standard deviations they reach.
_LEFT, _RIGHT, _REACH = 48, 64, 8.5
#: Newton's steps to the mode; from the left they never miss, as the slope is convex.
_STEPS = 14
#: Numbers in an array of rows by classes by nodes.
_BLOCK = 2**24
#: z of the label itself: Phi is 1 there, and phi is 0.
_SURE = 40.0


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Nodes (Q,) in units of the reach to either side, and weights."""
    (left, left_weights), (right, right_weights) = (np.polynomial.legendre.leggauss(q) for q in (_LEFT, _RIGHT))
    return np.r_[0.5 * (left - 1.0), 0.5 * (right + 1.0)], 0.5 * np.r_[left_weights, right_weights]


def derivatives(labels: np.ndarray, means: Array) -> tuple[Array, Array, Array]:
    """log Z (n,), its gradient (n, K) and Hessian (n, K, K) in the latent means (n, K)."""
    xp, (n, K) = namespace(means), means.shape
    if n and not bool(xp.max(xp.abs(means)) <= LARGEST_MEAN):
        raise ValueError(
            f"expected latent means up to {LARGEST_MEAN:g} in size, got {float(xp.max(xp.abs(means))):.3g}"
        )
    size = max(1, _BLOCK // (K * (_LEFT + _RIGHT)))
    blocks = [slice(at, min(at + size, n)) for at in range(0, n, size)]
    parts = [_rows(labels[rows], means[rows, :]) for rows in blocks]
    return tuple(xp.concat(part) for part in zip(*parts, strict=True))


def _rows(labels: np.ndarray, means: Array) -> tuple[Array, Array, Array]:
    xp, K = namespace(means), means.shape[1]
    own = like(np.eye(K)[np.asarray(labels, dtype=int)], means)
    is_own = own > 0.5
    gaps = xp.sum(own * means, axis=1, keepdims=True) - means

    def at(u: Array) -> tuple[Array, Array, Array]:
        """z, log Phi(z) and h (n, K, Q) at u (n, Q), with nothing from the label itself."""
        z = xp.where(is_own[:, :, None], _SURE, gaps[:, :, None] + u[:, None, :])
        return z, *log_ndtr_and_hazard(z)

    mode, curvature = gaps[:, :1] * 0.0, gaps[:, :1] * 0.0 + 1.0
    for _ in range(_STEPS):
        z, _, h = at(mode)
        curvature = 1.0 + xp.sum(h * (z + h), axis=1)
        mode = mode + (xp.sum(h, axis=1) - mode) / curvature
    places, weights = (like(part, means) for part in _nodes())
    reach = xp.where(places < 0.0, _REACH / xp.sqrt(curvature), _REACH)  # (n, Q)
    u = mode + reach * places
    z, log_phi, h = at(u)
    g = xp.sum(log_phi, axis=1) - 0.5 * u * u
    peak = xp.max(g, axis=1, keepdims=True)
    share = weights * reach * xp.exp(g - peak)
    total = xp.sum(share, axis=1, keepdims=True)
    log_z = (peak + xp.log(total))[:, 0] - 0.5 * float(np.log(2.0 * np.pi))
    share = (share / total)[:, :, None]
    first = xp.matmul(h, share)[:, :, 0]  # E h_j, 0 for the label
    # d2 log Z / dm_j dm_l = E h_j h_l - E h_j E h_l for two others, and E h_j' for one; rows sum to 0.
    hessian = xp.matmul(h * share[:, None, :, 0], xp.matrix_transpose(h)) - first[:, :, None] * first[:, None, :]
    eye = like(np.eye(K), means)
    hessian = hessian - eye * xp.matmul(h * (z + h), share)
    by_own = -xp.sum(hessian, axis=2)
    hessian = hessian + own[:, :, None] * by_own[:, None, :] + by_own[:, :, None] * own[:, None, :]
    hessian = hessian - own[:, :, None] * own[:, None, :] * xp.sum(by_own, axis=1)[:, None, None]
    return log_z, own * xp.sum(first, axis=1, keepdims=True) - first, hessian

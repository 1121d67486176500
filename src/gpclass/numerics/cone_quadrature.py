"""The probability of the largest of K noisy latent values, for arrays of any namespace: the twin of ``probit_moments``.

With x = f_i + u for the label i, u ~ N(0, 1), and z_j(u) = m_i - m_j + u the probability is

    P(y = i | m) = int N(u) prod_(j != i) Phi(z_j(u)) du = int exp(g(u)) du / sqrt(2 pi),

and its derivatives are moments of h_j = phi(z_j) / Phi(z_j) under exp(g). g is concave, with a curvature from 1 to K:
to the left of its mode u it falls at least as fast as a parabola of the curvature there, to the right at least as fast
as one of curvature 1. So two panels of Gauss-Legendre nodes hold all of exp(g) but 1e-16, and nodes are dense where
the two meet. All rows have the same number of nodes, and no row waits for another.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from .arrays import Array, like, namespace, take, to_host
from .probit_moments import LARGEST_MEAN, Moments
from .special import log_ndtr_and_hazard

#: Nodes to the left and to the right of the mode, and how many standard deviations they reach.
_LEFT, _RIGHT, _REACH = 48, 64, 8.5
#: Newton's steps to the mode; from the left they never miss, as the slope is convex.
_STEPS = 14
#: Numbers in an array of rows by classes by nodes.
_BLOCK = 2**24
#: Largest slope of z in u for one panel to either side; more panels where it is larger.
_STEEP = 2.5
#: z of the label itself: Phi is 1 there, and phi is 0.
_SURE = 40.0


@cache
def _nodes(n_panels: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (Q,) of so many panels to either side, in units of the reach, and weights."""
    starts = np.arange(n_panels)[:, None]
    (left, left_weights), (right, right_weights) = (np.polynomial.legendre.leggauss(q) for q in (_LEFT, _RIGHT))
    places = [(0.5 * (left - 1.0) - starts).ravel(), (0.5 * (right + 1.0) + starts).ravel()]
    weights = [np.tile(left_weights, n_panels), np.tile(right_weights, n_panels)]
    return np.concatenate(places) / n_panels, 0.5 * np.concatenate(weights) / n_panels


def derivatives(labels: np.ndarray, means: Array) -> tuple[Array, Array, Array]:
    """log Z (n,), its gradient (n, K) and Hessian (n, K, K) in the latent means (n, K)."""
    return _over_blocks(_derivatives, labels, means)


def tilted(labels: np.ndarray, means: Array, variances: Array) -> tuple[Array, Array, Array]:
    """log Z (n,), and its first and second derivatives (n, K) in each mean, for latent means and variances (n, K).

    Rows whose variances differ much between classes get more panels, and are computed together.
    """
    xp, labels = namespace(means), np.asarray(labels, dtype=int)
    t = xp.sqrt(1.0 + variances)
    largest = xp.sum(_own(labels, means)[0] * t, axis=1) / xp.min(t, axis=1)
    levels = np.ceil(np.log2(np.maximum(to_host(largest) / _STEEP, 1.0))).astype(int)
    groups = [np.flatnonzero(levels == level) for level in np.unique(levels)]
    parts = []
    for rows in groups:
        some = (means, variances) if len(groups) == 1 else (take(means, rows), take(variances, rows))
        parts.append(_over_blocks(_tilted, labels[rows], *some, n_panels=2 ** int(levels[rows[0]])))
    if len(groups) == 1:
        return parts[0]
    places = np.argsort(np.concatenate(groups))
    log_z, first, second = (take(xp.concat(part), places) for part in zip(*parts, strict=True))
    return log_z, first, second


def _over_blocks(
    work: Callable[..., Moments], labels: np.ndarray, means: Array, *arrays: Array, n_panels: int = 1
) -> Moments:
    xp, (n, K) = namespace(means), means.shape
    if n and not bool(xp.max(xp.abs(means)) <= LARGEST_MEAN):
        raise ValueError(
            f"expected latent means up to {LARGEST_MEAN:g} in size, got {float(xp.max(xp.abs(means))):.3g}"
        )
    size = max(1, _BLOCK // (K * (_LEFT + _RIGHT) * n_panels))
    blocks = [slice(at, min(at + size, n)) for at in range(0, n, size)]
    parts = [work(labels[rows], *(array[rows, :] for array in (means, *arrays)), n_panels) for rows in blocks]
    log_z, first, second = (xp.concat(part) for part in zip(*parts, strict=True))
    return log_z, first, second


class _Nodes(NamedTuple):
    """What the integrals are made of: log Z (n,), z and h (n, K, Q) at the nodes, with nothing from the label itself,
    and shares (n, Q, 1) of the nodes in Z."""

    log_z: Array
    z: Array
    h: Array
    share: Array


def _nodes_of(own: Array, slopes: Array, gaps: Array, n_panels: int) -> _Nodes:
    """For z_j(u) = slopes_j u + gaps_j, and ``own`` (n, K), which is 1 for the label."""
    xp, is_own = namespace(gaps), own > 0.5

    def at(u: Array) -> tuple[Array, Array, Array]:
        """z, log Phi(z) and h at u (n, Q)."""
        z = xp.where(is_own[:, :, None], _SURE, gaps[:, :, None] + slopes[:, :, None] * u[:, None, :])
        return z, *log_ndtr_and_hazard(z)

    mode, curvature = gaps[:, :1] * 0.0, gaps[:, :1] * 0.0 + 1.0
    along = slopes[:, :, None]
    for _ in range(_STEPS):
        z, _, h = at(mode)
        curvature = 1.0 + xp.sum(along**2 * h * (z + h), axis=1)
        mode = mode + (xp.sum(along * h, axis=1) - mode) / curvature
    places, weights = (like(part, gaps) for part in _nodes(n_panels))
    reach = xp.where(places < 0.0, _REACH / xp.sqrt(curvature), _REACH)  # (n, Q)
    u = mode + reach * places
    z, log_phi, h = at(u)
    g = xp.sum(log_phi, axis=1) - 0.5 * u * u
    peak = xp.max(g, axis=1, keepdims=True)
    share = weights * reach * xp.exp(g - peak)
    total = xp.sum(share, axis=1, keepdims=True)
    log_z = (peak + xp.log(total))[:, 0] - 0.5 * float(np.log(2.0 * np.pi))
    return _Nodes(log_z, z, h, (share / total)[:, :, None])


def _own(labels: np.ndarray, means: Array) -> tuple[Array, Array]:
    """1 for the label of each row, and m_i - m_j, (n, K) each."""
    own = like(np.eye(means.shape[1])[np.asarray(labels, dtype=int)], means)
    return own, namespace(means).sum(own * means, axis=1, keepdims=True) - means


def _derivatives(labels: np.ndarray, means: Array, n_panels: int) -> Moments:
    xp = namespace(means)
    own, gaps = _own(labels, means)
    log_z, z, h, share = _nodes_of(own, 0.0 * gaps + 1.0, gaps, n_panels)
    first = xp.matmul(h, share)[:, :, 0]  # E h_j, 0 for the label
    # d2 log Z / dm_j dm_l = E h_j h_l - E h_j E h_l for two others, and E h_j' for one; rows sum to 0.
    hessian = xp.matmul(h * share[:, None, :, 0], xp.matrix_transpose(h)) - first[:, :, None] * first[:, None, :]
    eye = like(np.eye(means.shape[1]), means)
    hessian = hessian - eye * xp.matmul(h * (z + h), share)
    by_own = -xp.sum(hessian, axis=2)
    hessian = hessian + own[:, :, None] * by_own[:, None, :] + by_own[:, :, None] * own[:, None, :]
    hessian = hessian - own[:, :, None] * own[:, None, :] * xp.sum(by_own, axis=1)[:, None, None]
    return log_z, own * xp.sum(first, axis=1, keepdims=True) - first, hessian


def _tilted(labels: np.ndarray, means: Array, variances: Array, n_panels: int) -> Moments:
    """With t_j^2 = 1 + v_j, z_j(u) = (t_i u + m_i - m_j) / t_j. In b_j = (m_i - m_j) / t_j the slope of log Z is E h_j
    and its curvature Var h_j + E h_j'; m_i moves all b_j, and the variance of sum_j h_j / t_j is one integral too."""
    xp = namespace(means)
    own, gaps = _own(labels, means)
    t = xp.sqrt(1.0 + variances)
    log_z, z, h, share = _nodes_of(own, xp.sum(own * t, axis=1, keepdims=True) / t, gaps / t, n_panels)
    h, bend = h / t[:, :, None], h * (z + h) / (t**2)[:, :, None]

    def mean(values: Array) -> Array:
        return xp.matmul(values, share)[:, :, 0]

    first, bent = mean(h), mean(bend)
    second = mean((h - first[:, :, None]) ** 2) - bent
    together = xp.sum(h, axis=1, keepdims=True)
    total = xp.sum(first, axis=1, keepdims=True)
    by_own = mean((together - total[:, :, None]) ** 2) - xp.sum(bent, axis=1, keepdims=True)
    # The label's own h is 0 at every node, and so is all that comes of it.
    return log_z, own * total - first, own * by_own + (1.0 - own) * second

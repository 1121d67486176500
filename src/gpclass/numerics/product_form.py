"""The curvature of a multi-class likelihood in product form, so that determinants cost O(K n^3) and not O(K^3 n^3).

W = -d2 log p(y | f) / df df' of one row is a K x K graph Laplacian for the softmax and for the multinomial probit
(see ``probit_moments``): zero row sums, edges e_jl = -W_jl >= 0. For the softmax e_jl = pi_j pi_l, and that product
form is what makes Laplace's method cheap (WB98 appendix C). For the multinomial probit we take the product form with
the same diagonal,

    W^ = diag(d) - d d' / s,   s = sum_j d_j,   W^_jj = d_j - d_j^2 / s = W_jj,

K equations for K unknowns. A Laplacian of two or three classes is determined by its diagonal, so W^ is W for K <= 3 and
an approximation that keeps every class's own curvature beyond.
"""

from collections.abc import Callable

import numpy as np

from .arrays import Array, like, namespace

#: max W_jj / s is kept above this: a star-shaped Laplacian would need an infinite d.
_STAR = 1e-4
#: Rows with no more curvature than this have zero derivatives.
_SMALLEST = 1e-100
#: Least W_jj, relative to the largest, of all but the two largest: determines d where only two classes matter.
_LIFT = 1e-8


def precision(d: Array) -> Array:
    """The matrices diag(d) - d d' / sum(d), (n, K, K), for d (n, K) of any namespace."""
    rho = d / namespace(d).sum(d, axis=1, keepdims=True)
    return d[:, :, None] * (like(np.eye(d.shape[1]), d) - rho[:, None, :])


def curvature_blocks(d: Array) -> Array:
    """W itself (n, C, C): d for one latent function, the product form for several."""
    return d[:, :, None] if d.shape[1] == 1 else precision(d)


def product_form(w: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """(d, pullback) for diagonals w (n, K): pullback(dL/dlog d) = dL/dw.

    With rho = d / s and tau = max w / s the equations are rho_j (1 - rho_j) = tau w_j / max w and sum rho = 1. Only the
    largest class can have rho > 1/2. We solve for its slope t = 1 - 2 rho_max, so that tau = (1 - t^2) / 4, and write
    the others' slopes 1 - 2 rho_j as sqrt(t^2 + (1 - w_j / max w)(1 - t^2)): no digits are lost where two classes
    share all the curvature and both slopes vanish.
    """
    rows = np.arange(len(w))
    order = np.argsort(w, axis=1)
    at_max = rows, order[:, -1]
    largest = np.maximum(w[at_max], _SMALLEST)
    curved = (largest > _SMALLEST)[:, None]
    if w.shape[1] == 2:
        # One edge: every d_1 d_2 / (d_1 + d_2) = w would do; take the symmetric one.
        d = np.repeat(2.0 * largest[:, None], 2, axis=1)
        return d, lambda c: np.where(curved, np.repeat((c / d).sum(axis=1, keepdims=True), 2, axis=1), 0.0)

    relative = w / largest[:, None]
    short = np.maximum(largest[:, None] - w, 0.0) / largest[:, None]
    lift = np.full_like(w, _LIFT)
    lift[at_max] = lift[rows, order[:, -2]] = 0.0
    lifted = relative + lift
    others = np.ones_like(w, dtype=bool)
    others[at_max] = False

    def slopes(t: np.ndarray) -> np.ndarray:
        return np.sqrt(t[:, None] ** 2 + short * (1.0 - t[:, None] ** 2))

    def shares(t: np.ndarray) -> np.ndarray:
        """rho of the other classes: the small root of rho (1 - rho) = q is 2 q / (1 + slope)."""
        q = 0.25 * (1.0 - t[:, None] ** 2) * lifted
        return np.where(others, 2.0 * q / (1.0 + slopes(t)), 0.0)

    lowest = -np.sqrt(1.0 - 4.0 * _STAR)
    low, high = np.full(len(w), lowest), np.ones(len(w))
    # Two halves, so that bisection keeps relative precision in t around 0.
    positive = shares(np.zeros(len(w))).sum(axis=1) >= 0.5
    low, high = np.where(positive, 0.0, low), np.where(positive, high, 0.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        right = shares(middle).sum(axis=1) > 0.5 * (1.0 + middle)
        low, high = np.where(right, middle, low), np.where(right, high, middle)
    t = 0.5 * (low + high)
    star = t <= lowest + 1e-12

    s = largest * 4.0 / (1.0 - t * t)
    rho = shares(t)
    rho[at_max] = 1.0 - rho.sum(axis=1)
    d = np.maximum(rho * s[:, None], 1e-20 * _SMALLEST)

    def pullback(cotangent: np.ndarray) -> np.ndarray:
        # dw_j = (1 - 2 rho_j) dd_j + rho_j^2 ds with ds = sum_j dd_j, solved without dividing by t.
        c = cotangent / d
        inverse = np.where(others, 1.0 / np.where(others, slopes(t), 1.0), 0.0)
        rho_max, c_max = rho[at_max], c[at_max]
        e = (c - c_max[:, None]) * inverse
        by_s = c_max - (e * rho**2).sum(axis=1)
        denominator = t * (1.0 + (rho**2 * inverse).sum(axis=1)) + rho_max**2
        ds_max = np.where(star, 1.0 / _STAR, 1.0 / np.where(star, 1.0, denominator))
        ds_other = np.where(star, 0.0, t * ds_max)[:, None] * inverse
        out = e + by_s[:, None] * ds_other
        out[at_max] = by_s * ds_max
        out[at_max] += (lift * out).sum(axis=1)
        return np.where(curved, out, 0.0)

    return d, pullback

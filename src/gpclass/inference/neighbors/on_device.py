"""Regression of many rows on their neighbours, and the search for them, by arrays of a device: the twin of the compiled
loops of ``numerics.local_gp``, where the formulas are. All rows of a batch are one stack of small matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.externals import array_api_compat as compat

from ...numerics.arrays import Array, device, like, namespace, sum_product, to_host
from ...numerics.devices import Place

#: Distances that a search computes at a time.
_BLOCK_ENTRIES = 2**27


@dataclass(frozen=True, eq=False)
class SentRows:
    """Training rows X (n, d), targets (n, C) and weights (n,) on a device."""

    X: Array
    targets: Array
    weights: Array | None

    @classmethod
    def of(cls, place: Place, X: np.ndarray, targets: np.ndarray, weights: np.ndarray | None) -> SentRows | None:
        """None for the host, where nothing needs to be sent."""
        if place.on_host:
            return None
        return cls(place.send(X), place.send(targets), None if weights is None else place.send(weights))


class Slopes(NamedTuple):
    """Slopes in the logarithms of the length-scales (d,), of all noise variances, and in the mixing (d, d)."""

    length_scale: np.ndarray
    noise: float
    mixing: np.ndarray | None


def stationary(nu: float, squared: Array) -> tuple[Array, Array]:
    """g(s) and -2 g'(s) of Matern kernels, RBF where nu is infinite."""
    xp = namespace(squared)
    if nu == np.inf:
        k = xp.exp(-0.5 * squared)
        return k, k
    r = xp.sqrt(squared)
    if nu == 0.5:
        k = xp.exp(-r)
        return k, xp.where(r > 1e-8, k / xp.where(r > 1e-8, r, 1.0), 0.0)
    r = float(np.sqrt(2.0 * nu)) * r
    k = xp.exp(-r)
    if nu == 1.5:
        return (1.0 + r) * k, 3.0 * k
    return (1.0 + r + r * r / 3.0) * k, 5.0 / 3.0 * (1.0 + r) * k


def regress(
    rows: SentRows,
    Q: np.ndarray,
    neighbors: np.ndarray,
    nu: float,
    inverse_scale: np.ndarray,
    noise: float,
    mixing: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray, np.ndarray], Slopes]]:
    """Means (b, C) and variances (b,) of rows Q given their neighbours (b, m), and the pullback of slopes in them."""
    xp, (b, m), X = namespace(rows.X), neighbors.shape, rows.X
    places = xp.asarray(np.ascontiguousarray(neighbors).ravel(), device=device(X))

    def gathered(values: Array) -> Array:
        return xp.reshape(xp.take(values, places, axis=0), (b, m, -1))

    scaled = (gathered(X) - like(Q, X)[:, None, :]) * like(inverse_scale, X)
    U = None if mixing is None else like(mixing, X)
    z = scaled if U is None else scaled + scaled @ U
    norms = xp.sum(z * z, axis=2)
    between = norms[:, :, None] + norms[:, None, :] - 2.0 * (z @ xp.matrix_transpose(z))
    K, slopes = stationary(nu, xp.clip(between, 0.0, None))
    k, own = stationary(nu, norms)
    noises = noise + 0.0 * norms if rows.weights is None else noise / gathered(rows.weights)[:, :, 0]
    eye = like(np.eye(m), X)
    A = K * (1.0 - eye) + eye * (1.0 + noises)[:, :, None]
    T = gathered(rows.targets)
    w = _solved(A, k)
    mean = (w[:, None, :] @ T)[:, 0, :]
    variance = 1.0 - xp.sum(w * k, axis=1)

    def pullback(p: np.ndarray, q: np.ndarray) -> Slopes:
        by_mean, by_variance = like(p, X), like(q, X)[:, None]
        r = _solved(A, (T @ by_mean[:, :, None])[:, :, 0] - by_variance * k)
        crossed = r[:, :, None] * w[:, None, :]
        pairs = (crossed + xp.matrix_transpose(crossed)) * slopes * (1.0 - eye)
        M = eye * ((by_variance * w - r) * own + xp.sum(pairs, axis=2))[:, :, None] - pairs
        G = xp.reshape(M @ z, (b * m, -1))
        flat = xp.reshape(scaled, (b * m, -1))
        by_rows = G if U is None else G + G @ U.T
        by_scale = -sum_product(by_rows, flat, axis=0)
        by_mixing = None if U is None else to_host(flat.T @ G)
        return Slopes(to_host(by_scale), -float(xp.sum(r * w * noises)), by_mixing)

    return to_host(mean), to_host(variance), pullback


def _solved(A: Array, b: Array) -> Array:
    """A^-1 b for stacks of matrices and vectors."""
    return namespace(A).linalg.solve(A, b[:, :, None])[:, :, 0]


def device_search(rows: np.ndarray, place: Place) -> Callable[[np.ndarray, int], np.ndarray]:
    """Finds the nearest of some rows by their distances to all of them."""
    origin = rows.mean(axis=0)
    X = place.send(rows - origin)
    xp = namespace(X)
    norms = xp.sum(X * X, axis=1)
    step = max(1, _BLOCK_ENTRIES // len(rows))

    def search(queries: np.ndarray, n_neighbors: int) -> np.ndarray:
        found = []
        for start in range(0, len(queries), step):
            some = like(queries[start : start + step] - origin, X)
            found.append(to_host(_smallest(norms - 2.0 * (some @ X.T), n_neighbors)))
        return np.concatenate(found)

    return search


def _smallest(values: Array, m: int) -> Array:
    """The places (b, m) of the smallest values of each row, smallest first."""
    xp: Any = namespace(values)
    if compat.is_torch_namespace(xp):
        return xp.topk(values, m, dim=1, largest=False).indices
    return xp.argsort(values, axis=1)[:, :m]

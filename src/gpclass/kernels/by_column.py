"""Stationary kernels that look at one column at a time: products and means of one-dimensional ones."""

from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar

import numpy as np

from ..numerics.arrays import Array, is_numpy, namespace, sum_product
from ..numerics.compiled import jit, jit_sums, over_rows
from ..numerics.local_gp import PROFILES, stationary
from ..numerics.parameters import POSITIVE
from .base import Kernel, Pullback
from .rows import features
from .stationary import RBF, Matern, Stationary


@jit_sums
def _absolute_distances(start, stop, X, Z, distance):
    for i in range(start, stop):
        for j in range(len(Z)):
            total = 0.0
            for d in range(X.shape[1]):
                total += abs(X[i, d] - Z[j, d])
            distance[i, j] = total


@jit
def _absolute_gradient(start, stop, W, X, Z, by_row):
    """sum_j W_ij |x_id - z_jd| for every row i and column d."""
    for i in range(start, stop):
        by_row[i] = 0.0
        for j in range(len(Z)):
            for d in range(X.shape[1]):
                by_row[i, d] += W[i, j] * abs(X[i, d] - Z[j, d])


@dataclass(frozen=True, eq=False, repr=False)
class Laplacian(Stationary):
    """exp(-sum_d |x_d - z_d| / length_scale_d): the product of an exponential kernel of each input.

    Functions are rough and change along one input at a time, as those of trees do: it is the limit of the kernels of
    random partitions. Often a good choice for counts and ratings.
    """

    def _profile(self, squared: Array) -> tuple[Array, Array]:
        """exp(-s) for the sum s of absolute distances, and its slope in -s."""
        K = namespace(squared).exp(-squared)
        return K, K

    def _distances(self, X: Array, Z: Array | None) -> Array:
        """The sum of absolute distances in units of the length-scales."""
        if not is_numpy(X):
            scales = np.broadcast_to(self.length_scale, X.shape[1:]).tolist()
            return sum(part / scale for part, scale in zip(self._column_distances(X, Z), scales, strict=True))
        X, Z = self._scaled(X, Z)
        distance = np.empty((len(X), len(Z)))
        over_rows(_absolute_distances, len(X), 0.3 * Z.size, X, Z, distance)
        return distance

    def _scaled(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        scaled = np.ascontiguousarray(X / self.length_scale)
        return scaled, scaled if Z is None else np.ascontiguousarray(Z / self.length_scale)

    def _column_distance(self, x: Array, z: Array) -> Array:
        return namespace(x).abs(x - z)

    def _scale_gradients(self, G: Array, slope: Array, X: Array, Z: Array | None) -> np.ndarray:
        """sum_ij G_ij K_ij |x_id - z_jd| / length_scale_d for every column d."""
        if not is_numpy(X):
            return np.array([sum_product(G, slope, part) for part in self._column_distances(X, Z)]) / self.length_scale
        X, Z = self._scaled(X, Z)
        by_row = np.empty(X.shape)
        over_rows(_absolute_gradient, len(X), 0.3 * Z.size, G * slope, X, Z, by_row)
        return by_row.sum(axis=0)


@jit
def _additive(start, stop, X, Z, symmetric, profile, order, K):
    """Means over columns, or pairs of them, of (products of) one-dimensional kernels."""
    d = X.shape[1]
    for i in range(start, stop):
        for j in range(i + 1 if symmetric else len(Z)):
            total, squares = 0.0, 0.0
            for c in range(d):
                step = X[i, c] - Z[j, c]
                k, _ = stationary(profile, step * step)
                total += k
                squares += k * k
            K[i, j] = total / d if order == 1 else (total * total - squares) / (d * (d - 1))
            if symmetric:
                K[j, i] = K[i, j]


@jit
def _additive_gradient(start, stop, G, X, Z, symmetric, profile, order, by_row):
    """sum_j G_ij dK_ij / dlog length_scale_c for every row i and column c."""
    d = X.shape[1]
    own, slopes = np.empty(d), np.empty(d)
    for i in range(start, stop):
        by_row[i] = 0.0
        for j in range(i if symmetric else len(Z)):  # on the diagonal there is no slope
            weight = G[i, j] + G[j, i] if symmetric else G[i, j]
            total = 0.0
            for c in range(d):
                step = X[i, c] - Z[j, c]
                own[c], slope = stationary(profile, step * step)
                slopes[c] = slope * step * step
                total += own[c]
            for c in range(d):
                # e_2 = (e_1^2 - sum k^2) / 2 has the slope e_1 - k_c
                rest = 1.0 / d if order == 1 else 2.0 * (total - own[c]) / (d * (d - 1))
                by_row[i, c] += weight * rest * slopes[c]


@dataclass(frozen=True, eq=False, repr=False)
class Additive(Stationary):
    """The mean over all columns of a one-dimensional kernel of each; with ``order=2``, over all pairs of columns of the
    products of two.

    Functions are sums of functions of one input, or of two: such a model needs few rows, and ignores interactions of
    more inputs. Add a kernel of all inputs for those: ``Additive() + Matern(nu=2.5)``. The variance is 1. ``nu`` is
    that of Matern, infinity the RBF kernel (Duvenaud, Nickisch and Rasmussen 2011).
    """

    order: int = 1
    nu: float = 2.5
    domains: ClassVar = {"length_scale": POSITIVE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in PROFILES:
            raise ValueError(f"Additive: nu must be one of {list(PROFILES)}, got {self.nu!r}")
        if self.order not in (1, 2):
            raise ValueError(f"Additive: order must be 1 or 2, got {self.order!r}")

    def bind(self, X: Any, n_latent: int = 1, columns: Any = None) -> Kernel:
        if X.shape[1] < self.order:
            raise ValueError(f"Additive: order={self.order} needs {self.order} columns, got {X.shape[1]}")
        return super().bind(X, n_latent, columns)

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        X, Z = features(X), features(Z)
        ard = np.ndim(self.length_scale) > 0
        if not is_numpy(X):
            K, by_column = self._by_columns(X, Z)
        else:
            scaled = np.ascontiguousarray(X / self.length_scale)
            other = scaled if Z is None else np.ascontiguousarray(Z / self.length_scale)
            common, cost = (scaled, other, Z is None, PROFILES[self.nu], self.order), 8.0 * other.size
            K = np.empty((len(scaled), len(other)))
            over_rows(_additive, len(scaled), cost, *common, K)

            def by_column(G: Array) -> np.ndarray:
                by_row = np.empty(scaled.shape)
                over_rows(_additive_gradient, len(scaled), cost, np.ascontiguousarray(G), *common, by_row)
                return by_row.sum(axis=0)

        def pullback(G: Array) -> np.ndarray:
            own = by_column(G)
            return self._collect({"length_scale": own if ard else own.sum()})

        return K, pullback

    def _by_columns(self, X: Array, Z: Array | None) -> tuple[Array, Any]:
        """The same for any namespace, one column at a time."""
        one = RBF() if np.isinf(self.nu) else Matern(nu=self.nu)
        scales = np.broadcast_to(self.length_scale, X.shape[1:]).tolist()
        parts = [
            (one._profile(squared / scale**2), squared / scale**2)
            for squared, scale in zip(self._column_distances(X, Z), scales, strict=True)
        ]
        total, share = sum(k for (k, _), _ in parts), 1.0 / comb(len(parts), self.order)
        K = share * total
        if self.order == 2:
            K = 0.5 * share * (total**2 - sum(k**2 for (k, _), _ in parts))

        def by_column(G: Array) -> np.ndarray:
            rests = [1.0 if self.order == 1 else total - k for (k, _), _ in parts]
            return np.array(
                [
                    share * sum_product(G * rest, slope, squared)
                    for rest, ((_, slope), squared) in zip(rests, parts, strict=True)
                ]
            )

        return K, by_column

"""A kernel for columns that hold categories."""

from dataclasses import dataclass

import numpy as np

from ..numerics.arrays import Array, full, is_numpy, namespace
from ..numerics.compiled import jit, over_rows
from .columns import Columns
from .stationary import Stationary


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Stationary):
    """k(x, z) = exp(-sum_j [x_j != z_j] / length_scale_j^2): the more categories two rows share, the more similar.

    Each column multiplies the covariance by 1, or by exp(-1 / length_scale_j^2) where its categories differ: the RBF
    kernel of indicators (one-hot columns), without computing them. The columns hold codes, which an estimator makes
    from columns of text in a data frame; a negative code is an unknown category, which equals no other.
    """

    def _check_columns(self, columns: Columns) -> None:
        pass

    def categorical_columns(self, columns: Columns, n_features: int) -> np.ndarray:
        return np.ones(n_features, bool)

    def _profile(self, squared: Array) -> tuple[Array, Array]:
        K = namespace(squared).exp(-0.5 * squared)
        return K, K

    def _column_distance(self, x: Array, z: Array) -> Array:
        different = (x != z) | (x < 0.0)
        return namespace(x).where(different, full((), 2.0, x), full((), 0.0, x))

    def _distances(self, X: Array, Z: Array | None) -> Array:
        """r^2 = 2 sum_j [x_j != z_j] / length_scale_j^2, that of indicators."""
        if not is_numpy(X):
            return super()._distances(X, Z)
        other = X if Z is None else Z
        squared = np.empty((len(X), len(other)))
        over_rows(_mismatches, len(X), float(other.size), X, other, self._per_column(X), squared)
        if Z is None:
            np.fill_diagonal(squared, 0.0)
        return squared

    def _scale_gradients(self, G: Array, slope: Array, X: Array, Z: Array | None) -> np.ndarray:
        if not is_numpy(X):
            return super()._scale_gradients(G, slope, X, Z)
        W = G * slope
        if Z is None:
            np.fill_diagonal(W, 0.0)
        total = np.zeros(X.shape[1])
        _sum_mismatches(W, X, X if Z is None else Z, total)
        return total * self._per_column(X)

    def _per_column(self, X: np.ndarray) -> np.ndarray:
        return np.broadcast_to(2.0 / np.square(self.length_scale), X.shape[1:]).astype(float)


@jit
def _mismatches(start, stop, X, Z, weight, squared):
    for i in range(start, stop):
        for j in range(len(Z)):
            total = 0.0
            for d in range(X.shape[1]):
                if X[i, d] != Z[j, d] or X[i, d] < 0.0:
                    total += weight[d]
            squared[i, j] = total


@jit
def _sum_mismatches(W, X, Z, total):
    """total_d = sum_ij W_ij [x_id != z_jd]"""
    for i in range(len(X)):
        for j in range(len(Z)):
            for d in range(X.shape[1]):
                if X[i, d] != Z[j, d] or X[i, d] < 0.0:
                    total[d] += W[i, j]

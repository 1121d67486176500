"""A kernel for columns that hold categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.compiled import jit, over_rows
from .columns import Columns
from .stationary import Stationary


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Stationary):
    """k(x, z) = exp(-sum_j [x_j != z_j] / length_scale_j^2): rows are the nearer the more categories they share.

    Each column multiplies the covariance by 1, or by exp(-1 / length_scale_j^2) where its categories differ: the RBF
    kernel of indicators (one-hot columns), without making them. The columns hold codes, as columns of text in a data
    frame become them; a negative code, a category that was not there in training, equals none.
    """

    def _check_columns(self, columns: Columns) -> None:
        pass

    def categorical_columns(self, columns: Columns, n_features: int) -> np.ndarray:
        return np.ones(n_features, bool)

    def _profile(self, squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        K = np.exp(-0.5 * squared)
        return K, K

    def _distances(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        """r^2 = 2 sum_j [x_j != z_j] / length_scale_j^2, that of indicators."""
        other = X if Z is None else Z
        squared = np.empty((len(X), len(other)))
        over_rows(_mismatches, len(X), float(other.size), X, other, self._per_column(X), squared)
        if Z is None:
            np.fill_diagonal(squared, 0.0)
        return squared

    def _scale_gradients(self, G: np.ndarray, slope: np.ndarray, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
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

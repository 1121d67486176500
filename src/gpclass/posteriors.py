"""Posteriors: what is known of the latent functions anywhere, after fitting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from . import linalg
from .inference.base import Weights, class_matrix
from .kernels import Kernel

#: Rows are predicted in blocks, each with about this many bytes of covariances.
BLOCK_BYTES = 64 * 2**20


class Latent(NamedTuple):
    """Gaussian beliefs about C latent functions at m rows: mean (m, C) and cov.

    ``cov`` holds the marginal variances (m, C), or the full covariances between rows (C, m, m) when those were asked
    for.
    """

    mean: np.ndarray
    cov: np.ndarray


def row_blocks(n_rows: int, n_train: int, n_matrices: int = 1) -> Iterator[slice]:
    """Slices of rows whose covariances with the training rows fit into a block."""
    size = max(1, BLOCK_BYTES // (8 * max(n_train, 1) * n_matrices))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


@dataclass(frozen=True)
class GaussianPosterior:
    """Gaussian process given the training rows, in the form of ``Weights``."""

    kernel: Kernel
    X: np.ndarray
    weights: Weights

    @property
    def n_latent(self) -> int:
        return self.weights.alpha.shape[1]

    def latent(self, X: np.ndarray) -> Latent:
        """Marginal means and variances at new rows, computed in blocks."""
        mean = np.empty((len(X), self.n_latent))
        variance = np.empty((len(X), self.n_latent))
        stacked = 1 if self.weights.chol.ndim == 2 else self.n_latent
        for rows in row_blocks(len(X), len(self.X), stacked):
            cross = self.kernel(X[rows], self.X)
            prior = self.kernel.diag(X[rows])
            mean[rows] = self._mean(cross)
            for c in range(stacked):
                V = self._half(cross, c)
                own = prior if prior.ndim == 1 else prior[c]
                target = slice(None) if stacked == 1 else slice(c, c + 1)
                # Rounding can push a variance just below zero where the data settle everything.
                value = np.maximum(own - np.einsum("ij,ij->j", V, V), 1e-12 * own)
                variance[rows, target] = value[:, None]
        return Latent(mean, variance)

    def joint(self, X: np.ndarray) -> Latent:
        """Means and full covariances (C, m, m) between new rows."""
        cross, prior = self.kernel(X, self.X), self.kernel(X)
        covariances = []
        for c in range(self.n_latent):
            if c == 0 or self.weights.chol.ndim == 3:
                V = self._half(cross, c)
                covariance = class_matrix(prior, c) - V.T @ V
            covariances.append(covariance)
        return Latent(self._mean(cross), np.stack(covariances))

    def sample(self, X: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows."""
        mean, covariances = self.joint(X)
        draws = np.empty((n_samples, *mean.shape))
        for c, covariance in enumerate(covariances):
            L = linalg.cholesky(covariance)
            draws[:, :, c] = mean[:, c] + rng.standard_normal((n_samples, len(X))) @ L.T
        return draws

    def _mean(self, cross: np.ndarray) -> np.ndarray:
        return linalg.product(cross, self.weights.alpha)

    def _half(self, cross: np.ndarray, c: int) -> np.ndarray:
        """L^-1 (root * k*), one column for each new row."""
        root = self.weights.root if self.weights.root.ndim == 1 else self.weights.root[:, c]
        return linalg.half_solve(class_matrix(self.weights.chol, c), root[:, None] * class_matrix(cross, c).T)

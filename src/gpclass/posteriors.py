"""Posteriors: what is known of the latent functions anywhere, after fitting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from . import linalg
from .inference.base import Weights, class_matrix
from .inference.coupling import add_coupling
from .kernels import Kernel

#: Rows are predicted in blocks, each with about this many bytes of covariances.
BLOCK_BYTES = 64 * 2**20


class Latent(NamedTuple):
    """Gaussian beliefs about C latent functions at m rows: mean (m, C) and cov.

    ``cov`` holds the marginal variances (m, C); or covariances between latent functions at each row (m, C, C), from
    an engine that couples them; or the full covariances between rows (C, m, m) when those were asked
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
        coupled = self.weights.coupling is not None
        stacked = 1 if self.weights.chol.ndim == 2 else self.n_latent
        mean = np.empty((len(X), self.n_latent))
        cov = np.empty((len(X), self.n_latent, self.n_latent) if coupled else (len(X), self.n_latent))
        for rows in row_blocks(len(X), len(self.X), stacked * (2 if coupled else 1)):
            cross = self.kernel(X[rows], self.X)
            prior = self.kernel.diag(X[rows])
            mean[rows] = self._mean(cross)
            own, between = [], []
            for c in range(stacked):
                V = self._half(cross, c)
                variance = prior if prior.ndim == 1 else prior[c]
                # Rounding can push a variance just below zero where the data settle everything.
                own.append(np.maximum(variance - np.einsum("ij,ij->j", V, V), 1e-12 * variance))
                if coupled:
                    between.append(self._shared(V, c))
            cov[rows] = add_coupling(own, between) if coupled else np.stack(own, axis=1)
        return Latent(mean, cov)

    def _shared(self, V: np.ndarray, c: int) -> np.ndarray:
        """What latent function c shares with the others at new rows (``inference.coupling``): M^-1/2 R_c L_c^-T V."""
        assert self.weights.coupling is not None
        assert self.weights.root_rho is not None
        back = solve_triangular(self.weights.chol[c], V, lower=True, trans="T", check_finite=False)
        return linalg.half_solve(self.weights.coupling, self.weights.root_rho[:, c, None] * back)

    def joint(self, X: np.ndarray) -> Latent:
        """Means and full covariances (C, m, m) between new rows."""
        if self.kernel.pairwise:
            raise ValueError(
                "covariances between new rows need their own Gram matrix, which a Precomputed kernel does not have; "
                "ask for variances (full_cov=False)"
            )
        cross, prior = self.kernel(X, self.X), self.kernel(X)
        covariances = []
        for c in range(self.n_latent):
            if c == 0 or self.weights.chol.ndim == 3:
                V = self._half(cross, c)
                covariance = class_matrix(prior, c) - V.T @ V
                if self.weights.coupling is not None:
                    shared = self._shared(V, c)
                    covariance += shared.T @ shared
            covariances.append(covariance)
        return Latent(self._mean(cross), np.stack(covariances))

    def sample(self, X: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, m, C) of the latent functions at new rows."""
        mean, covariances = self.joint(X)
        shared = self.weights.chol.ndim == 2
        draws = np.empty((n_samples, *mean.shape))
        for c, covariance in enumerate(covariances):
            if c == 0 or not shared:
                L = linalg.cholesky(covariance)
            draws[:, :, c] = mean[:, c] + rng.standard_normal((n_samples, len(X))) @ L.T
        return draws

    def _mean(self, cross: np.ndarray) -> np.ndarray:
        return linalg.product(cross, self.weights.alpha)

    def _half(self, cross: np.ndarray, c: int) -> np.ndarray:
        """L^-1 (root * k*), one column for each new row."""
        root = self.weights.root if self.weights.root.ndim == 1 else self.weights.root[:, c]
        return linalg.half_solve(class_matrix(self.weights.chol, c), root[:, None] * class_matrix(cross, c).T)

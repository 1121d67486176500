"""Gaussian posteriors whose precision couples the classes in product form: C + 1 factorisations for C classes.

The likelihood contributes a precision W_n = diag(d_n) - d_n d_n' / s_n to each row, s_n = sum_c d_nc (just d_n when C
= 1). With B_c = I + D_c^1/2 K_c D_c^1/2, rho = d / s and R_c = diag(rho_c)^1/2, Woodbury's identity for the rank-one
part of every row leaves one more n x n matrix, M = sum_c R_c B_c^-1 R_c (WB98 appendix C for the softmax). Scaled by
rho like this its eigenvalues lie in (0, 1], however small the curvatures are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from .. import linalg
from .base import Weights, class_matrix


class Coupled:
    """(K^-1 + W)^-1 for one prior covariance and one set of curvatures d (n, C)."""

    def __init__(self, K: np.ndarray, d: np.ndarray) -> None:
        self.K = K
        self.n_latent = d.shape[1]
        self.root_d = np.sqrt(d)
        self.rho = d / d.sum(axis=1, keepdims=True)
        self.root_rho = np.sqrt(self.rho)
        n = len(d)
        self.chol, self.inverse = np.empty((2, self.n_latent, n, n))
        linalg.for_each_class(self._factorise, self.n_latent)
        if self.n_latent > 1:
            scaled = (r[:, None] * B * r for r, B in zip(self.root_rho.T, self.inverse, strict=True))
            self.coupling = linalg.cholesky(reduce(np.add, scaled))

    def _factorise(self, c: int) -> None:
        B = self.root_d[:, c, None] * class_matrix(self.K, c) * self.root_d[:, c]
        B[np.diag_indices(len(B))] += 1.0
        self.chol[c] = linalg.cholesky(B)
        self.inverse[c] = linalg.inverse(self.chol[c])

    @property
    def log_det(self) -> float:
        """log |I + W K| = sum_c log |B_c| + log |M|"""
        total = float(np.sum(linalg.log_det(self.chol)))
        return total + float(linalg.log_det(self.coupling)) if self.n_latent > 1 else total

    def log_det_gradient(self) -> tuple[np.ndarray, np.ndarray]:
        """d log_det / dK, shaped as K, and d log_det / d log d (n, C)."""

        def one(c: int) -> tuple[np.ndarray, np.ndarray]:
            inner = self.inverse[c]
            by_log_d = 1.0 - np.diag(inner)
            if self.n_latent > 1:
                V = linalg.half_solve(self.coupling, self.root_rho[:, c, None] * inner)
                square = linalg.gram(V)
                by_log_d += np.diag(square) - self.rho[:, c]
                inner = inner - square
            return self.root_d[:, c, None] * inner * self.root_d[:, c], by_log_d

        by_K, by_log_d = zip(*linalg.for_each_class(one, self.n_latent), strict=True)
        shared = self.K.ndim == 2
        return reduce(np.add, by_K) if shared else np.stack(by_K), np.stack(by_log_d, axis=1)

    def precision(self) -> np.ndarray:
        """W itself, (n, C, C)."""
        d = self.root_d**2
        W = np.einsum("nc,cd->ncd", d, np.eye(self.n_latent))
        return W if self.n_latent == 1 else W - d[:, :, None] * self.rho[:, None, :]

    def apply(self, r: np.ndarray) -> np.ndarray:
        """(K^-1 + W)^-1 r for r (n, C): K (r - (E - E M^-1 E) K r) with E_c = D_c^1/2 B_c^-1 D_c^1/2."""

        def scaled(t: np.ndarray) -> np.ndarray:
            return self.root_d * np.matmul(self.inverse, (self.root_d * t).T[:, :, None])[:, :, 0].T

        inner = scaled(linalg.product(self.K, r))
        if self.n_latent > 1:
            root_s = np.sqrt((self.root_d**2).sum(axis=1))
            common = linalg.solve(self.coupling, inner.sum(axis=1) / root_s) / root_s
            inner = inner - scaled(np.repeat(common[:, None], self.n_latent, axis=1))
        return linalg.product(self.K, r - inner)

    def marginals(self) -> np.ndarray:
        """Posterior covariances (n, C, C) between the latent functions at each training row."""

        def one(c: int) -> tuple[np.ndarray, np.ndarray | None]:
            scaled = self.root_d[:, c, None] * class_matrix(self.K, c)
            Q = self.inverse[c] @ scaled
            own = np.diag(class_matrix(self.K, c)) - np.einsum("kn,kn->n", scaled, Q)
            if self.n_latent == 1:
                return own, None
            return own, linalg.half_solve(self.coupling, self.root_rho[:, c, None] * Q)

        own, shared = zip(*linalg.for_each_class(one, self.n_latent), strict=True)
        return add_coupling(own, shared if self.n_latent > 1 else ())

    def draws(self, mean: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, n, C) from N(mean, (K^-1 + W)^-1)."""
        n = len(mean)
        out = np.empty((n_samples, n, self.n_latent))
        common = rng.standard_normal((n_samples, n))
        for c in range(self.n_latent):
            own = class_matrix(self.K, c)
            scaled = self.root_d[:, c, None] * own
            Q = self.inverse[c] @ scaled
            # What is the latent function's own, and what it shares with the others (``marginals`` has the same split).
            root = linalg.cholesky(own - scaled.T @ Q)
            out[:, :, c] = mean[:, c] + rng.standard_normal((n_samples, n)) @ root.T
            if self.n_latent > 1:
                out[:, :, c] += common @ linalg.half_solve(self.coupling, self.root_rho[:, c, None] * Q)
        return out

    def weights(self, alpha: np.ndarray) -> Weights:
        """For predictions elsewhere."""
        coupling = self.coupling if self.n_latent > 1 else None
        return Weights(alpha, self.root_d, self.chol, coupling, self.root_rho)


def add_coupling(own: Sequence[np.ndarray], shared: Sequence[np.ndarray]) -> np.ndarray:
    """diag(own) + what the coupling adds between classes, one C x C matrix for each row."""
    C = len(own)
    covariance = np.zeros((len(own[0]), C, C))
    for a in range(C):
        covariance[:, a, a] = own[a]
        for b in range(a + 1 if len(shared) else 0):
            added = np.einsum("kn,kn->n", shared[a], shared[b])
            covariance[:, a, b] += added
            if a != b:
                covariance[:, b, a] += added
    return covariance

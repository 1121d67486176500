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

from ...numerics import linalg
from ...numerics import product_form as curvature
from ...numerics.compiled import jit, over_rows
from ..base import GaussianTerms, class_matrix


class Workspace:
    """Memory for C factors, their inverses and one more matrix each; fresh memory costs as much as a factorisation."""

    def __init__(self, n: int, n_latent: int) -> None:
        # Every matrix in the order of LAPACK, which then works in place.
        blocks = (np.empty((n, n, n_latent), order="F") for _ in range(3))
        self.chol, self.inverse, self.spare = (block.transpose(2, 0, 1) for block in blocks)


class ProductFormPosterior:
    """(K^-1 + W)^-1 for one prior covariance and one set of curvatures d (n, C).

    Takes its matrices' memory from ``workspace`` where that is given, so that a ProductFormPosterior made there before is lost.
    """

    def __init__(self, K: np.ndarray, d: np.ndarray, workspace: Workspace | None = None) -> None:
        self.K = K
        self.n_rows, self.n_latent = d.shape
        self.root_d = np.sqrt(d)
        self.rho = d / d.sum(axis=1, keepdims=True)
        self.root_rho = np.sqrt(self.rho)
        self._workspace = Workspace(*d.shape) if workspace is None else workspace
        self.chol, self.inverse = self._workspace.chol, self._workspace.inverse
        linalg.for_each_class(self._factorise, self.n_latent, self.n_rows)
        if self.n_latent > 1:
            M = np.zeros(self.chol.shape[1:])
            over_rows(_add_scaled, len(d), 3.0 * d.size, self.inverse.transpose(0, 2, 1), self.root_rho, M)
            self.coupling = linalg.cholesky(M)

    def _factorise(self, c: int) -> None:
        B, root = self.chol[c], self.root_d[:, c]
        np.multiply(class_matrix(self.K, c).T, root, out=B)
        B *= root[:, None]
        B[np.diag_indices(len(B))] += 1.0
        linalg.cholesky_in_place(B)
        linalg.inverse(B, out=self.inverse[c])

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
                V = linalg.solve_triangular(self.coupling, self.root_rho[:, c, None] * inner)
                square = linalg.gram(V)
                by_log_d += np.diag(square) - self.rho[:, c]
                inner = inner - square
            return self.root_d[:, c, None] * inner * self.root_d[:, c], by_log_d

        by_K, by_log_d = zip(*linalg.for_each_class(one, self.n_latent, self.n_rows), strict=True)
        shared = self.K.ndim == 2
        return reduce(np.add, by_K) if shared else np.stack(by_K), np.stack(by_log_d, axis=1)

    def precision(self) -> np.ndarray:
        """W itself, (n, C, C)."""
        d = self.root_d**2
        return d[:, :, None] if self.n_latent == 1 else curvature.precision(d)

    def apply(self, r: np.ndarray) -> np.ndarray:
        """(K^-1 + W)^-1 r for r (n, C)."""
        return linalg.product(self.K, self.alpha(r))

    def alpha(self, r: np.ndarray) -> np.ndarray:
        """K^-1 (K^-1 + W)^-1 r = (I + W K)^-1 r = r - (E - E M^-1 E) K r with E_c = D_c^1/2 B_c^-1 D_c^1/2."""

        def scaled(t: np.ndarray) -> np.ndarray:
            return self.root_d * np.matmul(self.inverse, (self.root_d * t).T[:, :, None])[:, :, 0].T

        inner = scaled(linalg.product(self.K, r))
        if self.n_latent > 1:
            root_s = np.sqrt((self.root_d**2).sum(axis=1))
            common = linalg.solve(self.coupling, inner.sum(axis=1) / root_s) / root_s
            inner = inner - scaled(np.repeat(common[:, None], self.n_latent, axis=1))
        return r - inner

    def times_precision(self, f: np.ndarray) -> np.ndarray:
        """W f for f (n, C)."""
        shift = 0.0 if self.n_latent == 1 else (self.rho * f).sum(axis=1, keepdims=True)
        return self.root_d**2 * (f - shift)

    def marginals(self) -> np.ndarray:
        """Posterior covariances (n, C, C) between the latent functions at each training row."""

        shared = self._workspace.spare

        def one(c: int) -> np.ndarray:
            own, Q = self._settled(c, shared[c])
            if self.n_latent > 1:
                Q *= self.root_rho[:, c, None]
                linalg.solve_triangular_in_place(self.coupling, Q)
            return own

        own = linalg.for_each_class(one, self.n_latent, self.n_rows)
        return add_coupling(own, shared if self.n_latent > 1 else None)

    def _settled(self, c: int, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Variances at the training rows without coupling, and Q = B_c^-1 D_c^1/2 K_c, in the memory given.

        As B = I + D^1/2 K D^1/2, Q = (I - B^-1) D^-1/2 and the variances are (1 - diag B^-1) / d: no product of
        matrices. Where d is so small that these differences have no digits left, the rows are taken the long way.
        """
        K, root = class_matrix(self.K, c), self.root_d[:, c]
        prior = np.diag(K)
        weak = np.flatnonzero(root**2 * prior < 1e-7)
        safe = root.copy()
        safe[weak] = 1.0
        np.divide(self.inverse[c], -safe, out=Q)
        diagonal = np.diag_indices(len(Q))
        Q[diagonal] += 1.0 / safe
        own = Q[diagonal] / safe
        if len(weak):
            scaled = root[:, None] * K[:, weak]
            Q[:, weak] = self.inverse[c] @ scaled
            own[weak] = prior[weak] - np.einsum("kn,kn->n", scaled, Q[:, weak])
        return own, Q

    def draws(self, mean: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n_samples, n, C) from N(mean, (K^-1 + W)^-1)."""
        n = len(mean)
        out = np.empty((n_samples, n, self.n_latent))
        common = rng.standard_normal((n_samples, n))
        for c in range(self.n_latent):
            own, (_, Q) = class_matrix(self.K, c), self._settled(c, self._workspace.spare[c])
            # What is the latent function's own, and what it shares with the others (``marginals`` has the same split).
            root = linalg.cholesky(own - (self.root_d[:, c, None] * own).T @ Q)
            out[:, :, c] = mean[:, c] + rng.standard_normal((n_samples, n)) @ root.T
            if self.n_latent > 1:
                out[:, :, c] += common @ linalg.solve_triangular(self.coupling, self.root_rho[:, c, None] * Q)
        return out

    def weights(self, alpha: np.ndarray) -> GaussianTerms:
        """For predictions elsewhere."""
        coupling = self.coupling if self.n_latent > 1 else None
        return GaussianTerms(alpha, self.root_d, self.chol, coupling, self.root_rho)


def add_coupling(own: Sequence[np.ndarray], shared: np.ndarray | None) -> np.ndarray:
    """diag(own) + sum_k shared[a, k] shared[b, k] between classes a and b, one C x C matrix for each row."""
    C, n = len(own), len(own[0])
    covariance = np.zeros((n, C, C))
    if shared is not None:
        along = np.ascontiguousarray(shared.transpose(0, 2, 1))  # no copy for matrices in LAPACK's order
        over_rows(_add_products, n, 0.5 * C * C * shared.shape[1], along, covariance)
    for c in range(C):
        covariance[:, c, c] += own[c]
    return covariance


@jit
def _add_products(start, stop, shared, out):
    """``shared`` comes with rows and columns exchanged, so that the inner loop runs along memory."""
    C, _, size = shared.shape
    for n in range(start, stop):
        for a in range(C):
            for b in range(a + 1):
                total = 0.0
                for k in range(size):
                    total += shared[a, n, k] * shared[b, n, k]
                out[n, a, b] += total
                if a != b:
                    out[n, b, a] += total


@jit
def _add_scaled(start, stop, matrices, roots, out):
    """out += sum_c R_c A_c R_c for rows start to stop."""
    C, n, _ = matrices.shape
    for c in range(C):
        for i in range(start, stop):
            for j in range(n):
                out[i, j] += roots[i, c] * roots[j, c] * matrices[c, i, j]

"""Gaussian posteriors whose precision couples the classes in product form: C + 1 factorisations for C classes.

The likelihood contributes a precision W_n = diag(d_n) - d_n d_n' / s_n to each row, s_n = sum_c d_nc (just d_n when C
= 1). With B_c = I + D_c^1/2 K_c D_c^1/2, rho = d / s and R_c = diag(rho_c)^1/2, Woodbury's identity for the rank-one
part of every row leaves one more n x n matrix, M = sum_c R_c B_c^-1 R_c (WB98 appendix C for the softmax). Scaled by
rho like this its eigenvalues lie in (0, 1], however small the curvatures are.

K (n, n) or (C, n, n) and d (n, C) are arrays of one namespace, and so is everything computed from them.
"""

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from ...numerics import linalg
from ...numerics import product_form as curvature
from ...numerics.arrays import Array, device, identity, is_numpy, like, namespace
from ..base import GaussianTerms, class_matrix


class Workspace:
    """Memory for C factors, their inverses and one more matrix each; fresh memory costs as much as a factorisation.

    In the namespace and on the device of ``reference``, and NumPy's without one.
    """

    def __init__(self, n: int, n_latent: int, reference: Array | None = None) -> None:
        self._shape, self._reference = (n_latent, n, n), np.empty(0) if reference is None else reference
        self.chol, self.inverse = self._empty(), self._empty()

    def _empty(self) -> Array:
        xp, dtype = namespace(self._reference), self._reference.dtype
        # Transposed, every matrix is in the order of LAPACK, which then works in place.
        return xp.matrix_transpose(xp.empty(self._shape, dtype=dtype, device=device(self._reference)))

    @cached_property
    def spare(self) -> Array:
        """Only marginals and draws need it."""
        return self._empty()


class ProductFormPosterior:
    """(K^-1 + W)^-1 for one prior covariance and one set of curvatures d (n, C).

    Its matrices are in ``workspace`` where that is given, and overwrite those of an earlier posterior there.
    """

    def __init__(self, K: Array, d: Array, workspace: Workspace | None = None) -> None:
        self._xp = xp = namespace(K, d)
        self.K = K
        self.n_rows, self.n_latent = d.shape
        self.sqrt_d = xp.sqrt(d)
        self.rho = d / xp.sum(d, axis=1, keepdims=True)
        self.sqrt_rho = xp.sqrt(self.rho)
        self._workspace = Workspace(self.n_rows, self.n_latent, d) if workspace is None else workspace
        self.chol, self.inverse = self._workspace.chol, self._workspace.inverse
        self._for_each_class(self._factorise)
        if self.n_latent > 1:
            self.coupling = linalg.cholesky(linalg.scaled_sum(self.inverse, self.sqrt_rho))

    def _for_each_class(self, work: Any) -> list[Any]:
        return linalg.for_each_class(work, self.n_latent, self.n_rows, on_host=is_numpy(self.K))

    def _factorise(self, c: int) -> None:
        linalg.whitened_factor(class_matrix(self.K, c), self.sqrt_d[:, c], out=self.chol[c, ...])
        linalg.inverse(self.chol[c, ...], out=self.inverse[c, ...])

    @property
    def log_det(self) -> float:
        """log |I + W K| = sum_c log |B_c| + log |M|"""
        total = float(self._xp.sum(linalg.log_det(self.chol)))
        return total + float(linalg.log_det(self.coupling)) if self.n_latent > 1 else total

    def log_det_gradient(self) -> tuple[Array, Array]:
        """d log_det / dK, shaped as K, and d log_det / d log d (n, C)."""
        xp = self._xp

        def one(c: int) -> tuple[Array, Array]:
            inner = self.inverse[c, ...]
            by_log_d = 1.0 - xp.linalg.diagonal(inner)
            if self.n_latent > 1:
                V = linalg.solve_triangular(self.coupling, self.sqrt_rho[:, c, None] * inner)
                square = linalg.gram(V)
                by_log_d += xp.linalg.diagonal(square) - self.rho[:, c]
                inner = inner - square
            return self.sqrt_d[:, c, None] * inner * self.sqrt_d[:, c], by_log_d

        by_K, by_log_d = zip(*self._for_each_class(one), strict=True)
        shared = self.K.ndim == 2
        return reduce(xp.add, by_K) if shared else xp.stack(by_K), xp.stack(by_log_d, axis=1)

    def precision(self) -> Array:
        """W itself, (n, C, C)."""
        return curvature.curvature_blocks(self.sqrt_d**2)

    def apply(self, r: Array) -> Array:
        """(K^-1 + W)^-1 r for r (n, C)."""
        return linalg.product(self.K, self.alpha(r))

    def alpha(self, r: Array) -> Array:
        """K^-1 (K^-1 + W)^-1 r = (I + W K)^-1 r = r - (E - E M^-1 E) K r with E_c = D_c^1/2 B_c^-1 D_c^1/2."""

        def scaled(t: Array) -> Array:
            return self.sqrt_d * linalg.product(self.inverse, self.sqrt_d * t)

        inner = scaled(linalg.product(self.K, r))
        if self.n_latent > 1:
            sqrt_s = self._xp.sqrt(self._xp.sum(self.sqrt_d**2, axis=1))
            common = linalg.solve(self.coupling, self._xp.sum(inner, axis=1) / sqrt_s) / sqrt_s
            inner = inner - scaled(common[:, None])
        return r - inner

    def times_precision(self, f: Array) -> Array:
        """W f for f (n, C)."""
        shift = 0.0 if self.n_latent == 1 else self._xp.sum(self.rho * f, axis=1, keepdims=True)
        return self.sqrt_d**2 * (f - shift)

    def marginals(self) -> Array:
        """Posterior covariances (n, C, C) between the latent functions at each training row."""
        own, shared = self._parts
        return add_coupling(own, shared) if self.n_latent > 1 else own[0][:, None, None]

    def joint(self) -> tuple[Array, Array]:
        """Posterior covariances between all rows, in two parts (C, n, n) each: those of a latent function's own, and U
        with the covariances U_a' U_b that functions a and b share, for several latent functions."""
        own = self._workspace._empty()

        def one(c: int) -> None:
            own[c, ...] = self._own_covariance(c)

        self._for_each_class(one)
        return own, self._parts[1]

    def draws(self, mean: Array, n_samples: int, rng: np.random.Generator) -> Array:
        """Draws (n_samples, n, C) from N(mean, (K^-1 + W)^-1)."""

        def normal() -> Array:
            return like(rng.standard_normal((n_samples, self.n_rows)), mean)

        common, draws = normal(), []
        for c in range(self.n_latent):
            # What is the latent function's own, and what it shares with the others.
            own = mean[:, c] + normal() @ linalg.cholesky(self._own_covariance(c)).T
            if self.n_latent > 1:
                own += common @ self._parts[1][c, ...]
            draws.append(own)
        return self._xp.stack(draws, axis=2)

    @cached_property
    def _parts(self) -> tuple[list[Array], Array]:
        """Variances (n,) of each latent function without coupling, and U_c = L^-1 R_c B_c^-1 D_c^1/2 K_c (C, n, n) for
        the factor L of M, in the spare memory.

        As B = I + D^1/2 K D^1/2, B^-1 D^1/2 K = (I - B^-1) D^-1/2 and the variances are (1 - diag B^-1) / d: no product
        of matrices. Where d is so small that these differences have no digits left, they are computed as the product.
        """
        xp, spare = self._xp, self._workspace.spare

        def one(c: int) -> Array:
            K, sqrt_d, Q = class_matrix(self.K, c), self.sqrt_d[:, c], spare[c, ...]
            weak = self._weak(c)
            safe = xp.where(weak, 1.0, sqrt_d)
            linalg.divide(self.inverse[c, ...], -safe, out=Q)
            linalg.add_to_diagonal(Q, 1.0 / safe)
            own = xp.linalg.diagonal(Q) / safe
            if xp.any(weak):
                scaled = sqrt_d * K[weak]  # rows: K is symmetric
                columns = scaled @ self.inverse[c, ...]
                Q.T[weak] = columns
                own[weak] = xp.linalg.diagonal(K)[weak] - xp.vecdot(scaled, columns)
            if self.n_latent > 1:
                Q *= self.sqrt_rho[:, c, None]
                linalg.solve_triangular_in_place(self.coupling, Q)
            return own

        return self._for_each_class(one), spare

    def _own_covariance(self, c: int) -> Array:
        """Covariances (n, n) without coupling, D_c^-1/2 (I - B_c^-1) D_c^-1/2; by products for rows of tiny d."""
        xp, K, sqrt_d = self._xp, class_matrix(self.K, c), self.sqrt_d[:, c]
        weak = self._weak(c)
        safe = xp.where(weak, 1.0, sqrt_d)
        own = -self.inverse[c, ...] / safe
        linalg.add_to_diagonal(own, 1.0 / safe)
        own = own / safe[:, None]
        if xp.any(weak):
            rows = K[weak] - (sqrt_d * K[weak]) @ self.inverse[c, ...] @ (sqrt_d[:, None] * K)
            own[weak] = rows
            own.T[weak] = rows
        return own

    def _weak(self, c: int) -> Array:
        """Rows (n,) whose d is so small that differences of B^-1 have no digits left."""
        return self.sqrt_d[:, c] ** 2 * self._xp.linalg.diagonal(class_matrix(self.K, c)) < 1e-7

    def terms(self, alpha: Array) -> GaussianTerms:
        """For predictions elsewhere."""
        coupling = self.coupling if self.n_latent > 1 else None
        return GaussianTerms(alpha, self.sqrt_d, self.chol, coupling, self.sqrt_rho)


def add_coupling(own: Sequence[Array], shared: Array) -> Array:
    """diag(own) + sum_k shared[a, k] shared[b, k] between classes a and b, one C x C matrix for each row."""
    covariance, xp = linalg.class_covariances(shared), namespace(shared)
    return covariance + xp.stack(own, axis=1)[:, :, None] * identity(len(own), covariance)

"""log |I + W (I x K)| for curvatures in product form: K + 1 factorisations for K classes (WB98 appendix C)."""

from __future__ import annotations

import numpy as np

from .. import linalg
from .base import class_matrix


def coupled_log_det(
    K: np.ndarray, d: np.ndarray, gradient: bool = False
) -> tuple[float, np.ndarray | None, np.ndarray | None]:
    """(log det, d/dK, d/dlog d) for W = diag(d) - d d'/s a row, s = sum_c d_c (W = d if C = 1).

    With B_c = I + D_c^1/2 K_c D_c^1/2 and rho = d / s,

        log |I + W K| = sum_c log |B_c| + log |sum_c R_c B_c^-1 R_c|,   R_c = diag(rho_c)^1/2.

    That is the matrix determinant lemma for the rank-one part of each row, scaled so that the last matrix has
    eigenvalues in (0, 1] however small the curvatures are.
    """
    n, C = d.shape
    root_d = np.sqrt(d)
    rho = d / d.sum(axis=1, keepdims=True)
    root_rho = np.sqrt(rho)

    def factorise(c: int) -> tuple[float, np.ndarray | None]:
        """log |B_c| and, where it is needed, B_c^-1."""
        B = root_d[:, c, None] * class_matrix(K, c) * root_d[:, c]
        B[np.diag_indices(n)] += 1.0
        L = linalg.cholesky(B)
        return float(linalg.log_det(L)), linalg.inverse(L) if C > 1 or gradient else None

    log_dets, inverses = zip(*linalg.for_each_class(factorise, C), strict=True)
    total = sum(log_dets)
    if C > 1:
        coupling = np.zeros((n, n))
        for c in range(C):
            coupling += root_rho[:, c, None] * inverses[c] * root_rho[:, c]
        M = linalg.cholesky(coupling)
        total += float(linalg.log_det(M))
    if not gradient:
        return total, None, None

    def differentiate(c: int) -> tuple[np.ndarray, np.ndarray]:
        """d/dK_c and d/dlog d_c."""
        inner = inverses[c]
        by_log_d = 1.0 - np.diag(inner)
        if C > 1:
            V = linalg.half_solve(M, root_rho[:, c, None] * inner)
            square = V.T @ V
            by_log_d += np.diag(square) - rho[:, c]
            inner = inner - square
        return root_d[:, c, None] * inner * root_d[:, c], by_log_d

    by_K, by_log_d = zip(*linalg.for_each_class(differentiate, C), strict=True)
    return total, sum(by_K) if K.ndim == 2 else np.stack(by_K), np.stack(by_log_d, axis=1)

"""Cholesky factors with one jitter rule, and the solves and determinants made from them.

A shared kernel gives one matrix (n, n) for all latent functions, ``PerClass`` a stack (C, n, n). The functions here
take either, so that engines factorise once whenever the algebra allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from threading import Lock, local
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, blas, lapack
from threadpoolctl import ThreadpoolController

from . import lapack as _lapack
from .compiled import jit, n_threads

#: Relative to the mean of the diagonal. The first that factorises is used.
JITTER_LADDER = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)

#: Below this many rows several BLAS threads cost more than they give.
SMALL = 600
#: Below this many rows starting threads takes longer than factorising.
TINY = 150


class _OneThread:
    """BLAS on one thread inside the ``with``; threads may enter and leave in any order, and nest.

    threadpoolctl lets only one living thread set a pool, so every thread puts back what was there before the first
    one came in. A thread that loses the setting early computes the same, with more BLAS threads.
    """

    def __init__(self) -> None:
        self._pools = ThreadpoolController().select(user_api="blas").lib_controllers
        self._lock = Lock()
        self._inside = 0
        self._own = local()
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [pool.num_threads for pool in self._pools]
            self._inside += 1
            self._own.depth = getattr(self._own, "depth", 0) + 1
            if self._own.depth == 1:
                self._set([1] * len(self._pools))

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            self._own.depth -= 1
            if self._own.depth == 0:
                self._set(self._before)

    def _set(self, counts: list[int]) -> None:
        for pool, count in zip(self._pools, counts, strict=True):
            pool.set_num_threads(count)


#: NumPy and SciPy bring a BLAS pool each, and on small matrices those pools fight for the cores.
one_thread = _OneThread()


def suited_threads(n: int) -> AbstractContextManager:
    """One BLAS thread for small matrices, as many as there are for large ones."""
    return one_thread if n < SMALL else nullcontext()


def for_each_class(work: Callable[[int], Any], n_classes: int, n_rows: int) -> list[Any]:
    """[work(0), work(1), ...], the classes shared out over threads with BLAS on one thread each where that pays."""
    threads = min(n_classes, n_threads())
    if threads <= 1 or n_rows < TINY:
        return [work(c) for c in range(n_classes)]
    with one_thread, ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(n_classes)))


def cholesky(A: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor of A or of every matrix of a stack, climbing the jitter ladder when needed."""
    if A.ndim == 3:
        return np.stack([cholesky(matrix) for matrix in A])
    if not np.isfinite(np.sum(A)):  # one pass, no temporary: a sum passes NaN and infinity on
        raise LinAlgError("expected a finite matrix to factorise, got NaN or infinity in it")
    scale = float(np.mean(np.diag(A)))
    for jitter in JITTER_LADDER:
        # LAPACK wants Fortran order: the transpose of a symmetric matrix is already that, and copies straight.
        work = np.array(A.T, dtype=float, order="F")
        if jitter:
            work[np.diag_indices_from(work)] += jitter * scale
        if _lapack.factorise(work):
            clear_upper(work.T)
            return work
    smallest = np.linalg.eigvalsh(A)[0]
    raise LinAlgError(
        f"expected a positive definite matrix, got one with smallest eigenvalue {smallest:.6g} "
        f"and mean diagonal {scale:.6g}; jitter of {JITTER_LADDER[-1]:g} of the diagonal did not mend it"
    )


def whitened_factor(K: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Lower factor of I + diag(root) K diag(root), the form in which posteriors keep their precision; or of a stack."""
    return cholesky(root[:, None] * K * root + np.eye(len(root)))


def cholesky_in_place(A: np.ndarray) -> None:
    """A, in LAPACK's order, becomes its lower factor; with jitter if it must."""
    diagonal = np.diag(A).copy()
    if _lapack.factorise(A):
        clear_upper(A.T)
    else:
        # The upper triangle still has the matrix.
        full = np.triu(A, 1)
        A[...] = cholesky(full + full.T + np.diag(diagonal))


def solve(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(L L')^-1 B; column c of B belongs to matrix c where L is a stack."""
    if L.ndim == 3:
        return np.stack([solve(factor, B[:, c]) for c, factor in enumerate(L)], axis=1)
    solution, info = lapack.dpotrs(L, B, lower=1)
    if info != 0:
        raise LinAlgError(f"dpotrs: argument {-info} is not valid")
    return solution.reshape(B.shape)


def solve_triangular(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """L^-1 B for one factor."""
    solution = np.array(B.reshape(len(L), -1), dtype=float, order="F")
    solve_triangular_in_place(L, solution)
    return solution.reshape(B.shape)


def solve_triangular_in_place(L: np.ndarray, B: np.ndarray) -> None:
    """L^-1 B for one factor, in the place of B, which has LAPACK's order."""
    _lapack.solve_triangle(np.asfortranarray(L), B)


def gram(V: np.ndarray) -> np.ndarray:
    """V' V, at half the cost of a general product, in the precision of V."""
    rank_k_update = blas.ssyrk if V.dtype == np.float32 else blas.dsyrk
    upper = rank_k_update(1.0, V.T if V.flags.c_contiguous else V, trans=0 if V.flags.c_contiguous else 1)
    return upper + np.triu(upper, 1).T


def column_norms(R: np.ndarray, V: np.ndarray) -> np.ndarray:
    """|R v|^2 for every column v of V, R lower triangular in C order, in the precision of V."""
    multiply = blas.strmm if V.dtype == np.float32 else blas.dtrmm
    half = multiply(1.0, R.T, V.T, side=1)  # (R V)' = V' R', in LAPACK's order
    return np.einsum("ns,ns->n", half, half)


def inverse(L: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """(L L')^-1 as a full symmetric matrix; into ``out``, which has LAPACK's order, where that is given."""
    if L.ndim == 3:
        return np.stack([inverse(factor) for factor in L])
    full = np.empty(L.shape, order="F") if out is None else out
    full[...] = L
    _lapack.invert_factored(full)
    mirror_upper(full.T)
    return full


def inverse_factor(L: np.ndarray) -> np.ndarray:
    """L^-1 for one factor."""
    lower = np.array(L, order="F")
    _lapack.invert_triangle(lower)
    return lower


def log_det(L: np.ndarray) -> float | np.ndarray:
    """log |L L'|, one value for each matrix of a stack."""
    return 2.0 * np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(axis=-1)


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B, column c by column c where A is a stack."""
    return A @ B if A.ndim == 2 else np.einsum("cij,jc->ic", A, B)


@jit
def clear_upper(A):
    """Zero below the diagonal of A in C order, which is above it in LAPACK's."""
    n = len(A)
    for i in range(n):
        for j in range(i):
            A[i, j] = 0.0


@jit
def mirror_upper(A):
    """The upper triangle copied to the lower one, block by block."""
    n, block = len(A), 64
    for top in range(0, n, block):
        for left in range(0, top + 1, block):
            for i in range(top, min(top + block, n)):
                for j in range(left, min(left + block, i)):
                    A[i, j] = A[j, i]

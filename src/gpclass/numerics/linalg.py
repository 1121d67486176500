"""Cholesky factors with one jitter rule, and the solves, determinants and products made from them.

A shared kernel gives one matrix (n, n) for all latent functions, ``PerClass`` a stack (C, n, n). The functions here
take either, so that engines factorise once whenever the algebra allows it.

Matrices may be NumPy arrays, CuPy arrays, torch tensors or those of any other namespace of the array API standard.
NumPy arrays go to LAPACK in place and without the interpreter lock (``lapack``), or to compiled loops; for the others
this module adds what the standard lacks: triangular solves, and the jitter where a factorisation fails.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock, local
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, blas, lapack
from sklearn.externals import array_api_compat as compat
from threadpoolctl import ThreadpoolController

from . import lapack as _lapack
from .allocation import keep_memory
from .arrays import Array, identity, is_numpy, namespace, sum_product
from .compiled import jit, n_threads, over_rows, thread_pool

keep_memory()

#: Relative to the mean of the diagonal. The first that factorises is used.
JITTER_LADDER = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)

#: Below this many rows several BLAS threads cost more than they give.
SMALL = 1500
#: Below this many rows starting threads takes longer than factorising.
TINY = 150


class _OneThread:
    """BLAS on one thread inside the ``with``; threads may enter and leave in any order, and nest.

    threadpoolctl lets only one running thread set a pool, so every thread restores what was set before the first
    entered. A thread that loses the setting early computes the same, with more BLAS threads.
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


#: NumPy and SciPy have a BLAS pool each, and on small matrices those pools compete for the cores.
one_thread = _OneThread()


def suited_threads(n: int) -> AbstractContextManager:
    """One BLAS thread for small matrices, as many as there are for large ones."""
    return one_thread if n < SMALL else nullcontext()


def for_each_class(work: Callable[[int], Any], n_classes: int, n_rows: int, on_host: bool = True) -> list[Any]:
    """[work(0), work(1), ...], the classes shared out over threads with BLAS on one thread each where that pays.

    Work on another device (not ``on_host``) is queued there in turn.
    """
    threads = min(n_classes, n_threads())
    if threads <= 1 or n_rows < TINY or not on_host:
        return [work(c) for c in range(n_classes)]
    with one_thread:
        return list(thread_pool(os.getpid(), "gpclass-classes").map(work, range(n_classes)))


def add_to_diagonal(A: Array, values: Any) -> None:
    """A, or every matrix of a stack, becomes A + diag(values)."""
    if is_numpy(A):
        np.einsum("...ii->...i", A)[...] += values
    elif hasattr(A, "diagonal"):  # torch and CuPy give a view
        A.diagonal(0, -2, -1)[...] += values
    else:
        A += identity(A.shape[-1], A) * values


def set_diagonal(A: Array, values: Array) -> None:
    """The diagonal of A becomes ``values``."""
    add_to_diagonal(A, values - namespace(A).linalg.diagonal(A))


def cholesky(A: Array) -> Array:
    """Lower Cholesky factor of A or of every matrix of a stack, with the least jitter of the ladder that it needs."""
    xp = namespace(A)
    if A.ndim == 3:
        return xp.stack([cholesky(A[c, ...]) for c in range(A.shape[0])])
    if not xp.isfinite(xp.sum(A)):  # one pass, no temporary: a sum passes NaN and infinity on
        raise LinAlgError("expected a finite matrix to factorise, got NaN or infinity in it")
    scale = float(xp.mean(xp.linalg.diagonal(A)))
    for jitter in JITTER_LADDER:
        L = _factor(A, jitter * scale)
        if L is not None:
            return L
    raise LinAlgError(
        f"expected a positive definite matrix, got one with smallest eigenvalue {float(xp.linalg.eigvalsh(A)[0]):.6g} "
        f"and mean diagonal {scale:.6g}; jitter of {JITTER_LADDER[-1]:g} of the diagonal did not mend it"
    )


def _factor(A: Array, jitter: float) -> Array | None:
    """Lower factor of A + jitter I; None where that is not positive definite."""
    xp = namespace(A)
    # LAPACK wants Fortran order: the transpose of a symmetric matrix is already that, and copies straight.
    work = np.array(A.T, dtype=float, order="F") if is_numpy(A) else xp.asarray(A, copy=True) if jitter else A
    if jitter:
        add_to_diagonal(work, jitter)
    if is_numpy(A):
        if not _lapack.factorise(work):
            return None
        clear_upper(work.T)
        return work
    if compat.is_torch_namespace(xp):
        L, info = xp.linalg.cholesky_ex(work)
        return L if int(info) == 0 else None
    try:
        L = xp.linalg.cholesky(work)
    except np.linalg.LinAlgError:
        return None
    return L if xp.isfinite(xp.sum(xp.linalg.diagonal(L))) else None  # CuPy gives NaN and raises nothing


def cholesky_in_place(A: Array) -> None:
    """A becomes its lower factor, with jitter if it must; NumPy arrays are in LAPACK's order."""
    if not is_numpy(A):
        A[...] = cholesky(A)
        return
    diagonal = np.diag(A).copy()
    # NaN anywhere in a row of the matrix reaches the diagonal of the factor, and not every LAPACK reports it.
    if _lapack.factorise(A) and np.isfinite(np.sum(np.diag(A))):
        clear_upper(A.T)
    else:
        # The upper triangle still has the matrix.
        full = np.triu(A, 1)
        A[...] = cholesky(full + full.T + np.diag(diagonal))


def whitened_factor(K: Array, sqrt_precision: Array, out: Array | None = None) -> Array:
    """Lower factor of I + S K S, S = diag(sqrt_precision): the form in which posteriors keep their precision.

    K is symmetric, or a stack of such; ``out``, in LAPACK's order for NumPy, takes the factor of one matrix.
    """
    if K.ndim == 3:
        return namespace(K).stack([whitened_factor(K[c, ...], sqrt_precision) for c in range(K.shape[0])])
    in_order = np.empty(K.shape, order="F") if is_numpy(K) and out is None else out
    B = np.multiply(K.T, sqrt_precision, out=in_order) if is_numpy(K) else K * sqrt_precision
    B *= sqrt_precision[:, None]
    add_to_diagonal(B, 1.0)
    cholesky_in_place(B)
    return B if is_numpy(K) else _into(out, B)


def solve(L: Array, B: Array) -> Array:
    """(L L')^-1 B; column c of B belongs to matrix c where L is a stack."""
    if L.ndim == 3:
        return namespace(L).stack([solve(L[c, ...], B[:, c]) for c in range(L.shape[0])], axis=1)
    if not is_numpy(L):
        return solve_triangular(L, solve_triangular(L, B), transposed=True)
    solution, info = lapack.dpotrs(L, B, lower=1)
    if info != 0:
        raise LinAlgError(f"dpotrs: argument {-info} is not valid")
    return solution.reshape(B.shape)


def solve_triangular(L: Array, B: Array, transposed: bool = False) -> Array:
    """L^-1 B, or L^-T B where ``transposed``, for one factor."""
    xp = namespace(L, B)
    if B.ndim == 1:
        return solve_triangular(L, B[:, None], transposed)[:, 0]
    if is_numpy(L):
        solution = np.array(B, dtype=float, order="F")
        _lapack.solve_triangle(np.asfortranarray(L), solution, transposed)
        return solution
    if compat.is_torch_namespace(xp):
        return xp.linalg.solve_triangular(L.T if transposed else L, B, upper=transposed)
    if compat.is_cupy_namespace(xp):
        from cupyx.scipy.linalg import solve_triangular as on_cupy

        return on_cupy(L, B, trans=int(transposed), lower=True)
    return xp.linalg.solve(L.T if transposed else L, B)


def solve_triangular_in_place(L: Array, B: Array) -> None:
    """L^-1 B for one factor, in the place of B, which has LAPACK's order if it is a NumPy array."""
    if is_numpy(L):
        _lapack.solve_triangle(np.asfortranarray(L), B)
    else:
        B[...] = solve_triangular(L, B)


def inverse(L: Array, out: Array | None = None) -> Array:
    """(L L')^-1 as a full symmetric matrix; into ``out``, in LAPACK's order for NumPy, where that is given."""
    xp = namespace(L)
    if L.ndim == 3:
        return xp.stack([inverse(L[c, ...]) for c in range(L.shape[0])])
    if is_numpy(L):
        full = np.empty(L.shape, order="F") if out is None else out
        full[...] = L
        _lapack.invert_factored(full)
        mirror_upper(full.T)
        return full
    return _into(out, xp.cholesky_inverse(L) if compat.is_torch_namespace(xp) else gram(inverse_factor(L)))


def _into(out: Array | None, values: Array) -> Array:
    """``values``, in the memory of ``out`` where that is given."""
    if out is None:
        return values
    out[...] = values
    return out


def inverse_factor(L: Array) -> Array:
    """L^-1 for one factor."""
    if not is_numpy(L):
        return solve_triangular(L, identity(L.shape[0], L))
    lower = np.array(L, order="F")
    _lapack.invert_triangle(lower)
    return lower


def log_det(L: Array) -> Array:
    """log |L L'|, one value for each matrix of a stack."""
    xp = namespace(L)
    return 2.0 * xp.sum(xp.log(xp.linalg.diagonal(L)), axis=-1)


def product(A: Array, B: Array) -> Array:
    """A B, column c by column c where A is a stack."""
    return A @ B if A.ndim == 2 else (A @ B.T[:, :, None])[:, :, 0].T


def divide(A: Array, b: Array, out: Array) -> None:
    """``out`` becomes A / b."""
    if is_numpy(A):
        np.divide(A, b, out=out)
    else:
        out[...] = A / b


def dot(a: Array, b: Array) -> float:
    """The sum of the products of all elements."""
    return float(sum_product(a, b))


def gram(V: Array) -> Array:
    """V' V, on the CPU at half the cost of a general product, in the precision of V."""
    if not is_numpy(V):
        return V.T @ V
    rank_k_update = blas.ssyrk if V.dtype == np.float32 else blas.dsyrk
    upper = rank_k_update(1.0, V.T if V.flags.c_contiguous else V, trans=0 if V.flags.c_contiguous else 1)
    return upper + np.triu(upper, 1).T


def column_norms(R: Array, V: Array) -> Array:
    """|R v|^2 for every column v of V, R lower triangular (in C order for NumPy), in the precision of V."""
    if not is_numpy(V):
        return namespace(V).sum((R @ V) ** 2, axis=0)
    multiply = blas.strmm if V.dtype == np.float32 else blas.dtrmm
    product = multiply(1.0, R.T, V.T, side=1)  # (R V)' = V' R', in LAPACK's order
    return np.einsum("ns,ns->n", product, product)


def squared_norms(V: Array) -> Array:
    """|v|^2 for every column v of V."""
    return sum_product(V, V, axis=0)


def least_squares(A: Array, b: Array) -> Array:
    """The shortest x with the smallest |A x - b|; singular values below 1e-10 of the largest count as zero."""
    if is_numpy(A):
        return np.linalg.lstsq(A, b, rcond=1e-10)[0]
    return namespace(A).linalg.pinv(A, rtol=1e-10) @ b


def row_products(W: Array, x: Array) -> Array:
    """W_n x_n for every row n, W (n, C, C) and x (n, C)."""
    return np.einsum("ncd,nd->nc", W, x) if is_numpy(W) else (W @ x[:, :, None])[:, :, 0]


def outer(a: Array, b: Array, stacked: bool) -> Array:
    """a_c b_c' for the columns c of a and b, (C, n, n) where ``stacked``, else their sum (n, n)."""
    if a.shape[1] == 1 and not stacked:
        return a * b.T
    return a.T[:, :, None] * b.T[:, None, :] if stacked else a @ b.T


def scaled_sum(A: Array, scale: Array) -> Array:
    """sum_c S_c A_c S_c for symmetric matrices A (C, n, n) and S_c = diag(scale[:, c])."""
    C, n = A.shape[:2]
    if is_numpy(A):
        total = np.zeros((n, n))
        over_rows(_add_scaled, n, 3.0 * scale.size, A.transpose(0, 2, 1), scale, total)
        return total
    return sum(scale[:, c, None] * A[c, ...] * scale[:, c] for c in range(C))


def class_covariances(A: Array) -> Array:
    """sum_k A_akn A_bkn between classes a and b for every column n of A (C, m, n), as (n, C, C)."""
    if not is_numpy(A):
        xp = namespace(A)
        return xp.permute_dims(A, (2, 0, 1)) @ xp.permute_dims(A, (2, 1, 0))
    C, m, n = A.shape
    covariance = np.zeros((n, C, C))
    along = np.ascontiguousarray(A.transpose(0, 2, 1))  # no copy for matrices in LAPACK's order
    over_rows(_add_products, n, 0.5 * C * C * m, along, covariance)
    return covariance


@jit
def clear_upper(A):
    """Zero below the diagonal of A in C order, which is above it in LAPACK's."""
    for i in range(len(A)):
        A[i, :i] = 0.0


@jit
def mirror_upper(A):
    """The upper triangle copied to the lower one, block by block."""
    n, block = len(A), 64
    for top in range(0, n, block):
        for left in range(0, top + 1, block):
            for i in range(top, min(top + block, n)):
                for j in range(left, min(left + block, i)):
                    A[i, j] = A[j, i]


@jit
def _add_products(start, stop, columns, out):
    """out[n] += the products of columns n; the array comes with rows and columns exchanged, so that the inner loop runs
    along memory."""
    C, _, size = columns.shape
    for n in range(start, stop):
        for a in range(C):
            for b in range(a + 1):
                total = 0.0
                for k in range(size):
                    total += columns[a, n, k] * columns[b, n, k]
                out[n, a, b] += total
                if a != b:
                    out[n, b, a] += total


@jit
def _add_scaled(start, stop, matrices, scale, out):
    """out += sum_c S_c A_c S_c for rows start to stop."""
    C, n, _ = matrices.shape
    for c in range(C):
        for i in range(start, stop):
            for j in range(n):
                out[i, j] += scale[i, c] * scale[j, c] * matrices[c, i, j]


def positive_part(W: Array) -> Array:
    """Symmetric matrices (n, C, C) with their negative eigenvalues set to zero."""
    xp = namespace(W)
    values, vectors = xp.linalg.eigh(W)
    return (vectors * xp.clip(values, 0.0, None)[:, None, :]) @ xp.matrix_transpose(vectors)

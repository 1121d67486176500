"""Factors and inverses in the memory of the matrix itself, for matrices that fill a device.

NumPy arrays go to LAPACK. Elsewhere libraries copy the matrix at every step, so that two or three of them must fit;
here panels of ``BLOCK`` columns are the only other memory. Nearly all work is products of blocks, at which devices are
best: n^3 / 3 operations for the factor and 2 n^3 / 3 for the inverse.
"""

from collections.abc import Iterator

from . import lapack, linalg
from .arrays import Array, is_numpy, namespace

#: Columns in a panel.
BLOCK = 2048


def empty_square(n: int, reference: Array) -> Array:
    """Memory for a symmetric matrix beside ``reference``, in LAPACK's order for NumPy."""
    xp = namespace(reference)
    if is_numpy(reference):
        return xp.empty((n, n), order="F")
    return xp.empty((n, n), dtype=reference.dtype, device=reference.device)


def factorise(A: Array) -> None:
    """The lower Cholesky factor of A takes its place."""
    if is_numpy(A):
        linalg.cholesky_in_place(A)
        return
    _factorise_lower(A)
    for a, b in _panels(A):
        A[a:b, b:] = 0.0


def invert(A: Array) -> float:
    """The inverse of a positive definite A takes its place; log |A|."""
    if is_numpy(A):
        linalg.cholesky_in_place(A)
        log_det = float(linalg.log_det(A))
        lapack.invert_factored(A)
        linalg.mirror_upper(A.T)
        return log_det
    _factorise_lower(A)
    log_det = float(linalg.log_det(A))
    _invert_lower(A)
    _square_lower(A)
    for a, b in _panels(A):
        A[:a, a:b] = A[a:b, :a].T
    return log_det


def _panels(A: Array, start: int = 0) -> Iterator[tuple[int, int]]:
    n = A.shape[0]
    for a in range(start, n, BLOCK):
        yield a, min(a + BLOCK, n)


def _factorise_lower(A: Array) -> None:
    """The lower triangle of A becomes that of L, L L' = A: panel by panel, each taken from the columns to its right."""
    for a, b in _panels(A):
        L = linalg.cholesky(A[a:b, a:b])
        A[a:b, a:b] = L
        A[b:, a:b] = linalg.solve_triangular(L, A[b:, a:b].T).T
        for c, d in _panels(A, b):
            A[c:, c:d] -= A[c:, a:b] @ A[c:d, a:b].T


def _invert_lower(A: Array) -> None:
    """The lower triangle of A becomes that of its inverse.

    With the inverse X of the rows and columns from b on known, the panel below the block D of rows a to b is
    -X A D^-1; its rows are found from the last on, as each needs those above it.
    """
    for a, b in reversed(list(_panels(A))):
        inverse = linalg.inverse_factor(A[a:b, a:b])
        A[a:b, a:b] = inverse
        panel = A[b:, a:b] @ inverse
        for c, d in reversed(list(_panels(A, b))):
            A[c:d, a:b] = -(A[c:d, b:d] @ panel[: d - b, :])


def _square_lower(A: Array) -> None:
    """The lower triangle of A, which is X, becomes that of X' X; blocks on the diagonal are whole."""
    for a, b in _panels(A):
        rows = A[a:, a:b].T
        block, left = rows @ A[a:, a:b], rows @ A[a:, :a]
        A[a:b, a:b] = block
        A[a:b, :a] = left

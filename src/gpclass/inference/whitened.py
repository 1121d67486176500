"""I + S K S for the covariances K of many rows, computed a block of rows at a time into a single matrix."""

from typing import Any

from ..kernels import Kernel
from ..kernels.rows import select
from ..numerics import in_place, linalg
from ..numerics.arrays import Array, like

#: Models of more rows than this keep a single n x n matrix.
MANY_ROWS = 10_000
#: So many covariances are computed at a time.
_BLOCK_ENTRIES = 2**25


def whitened(kernel: Kernel, X: Any, root: Array, out: Array | None = None) -> Array:
    """I + S K S with S = diag(root), into ``out`` where that is given."""
    n = X.shape[0]
    out = in_place.empty_square(n, root) if out is None else out
    step = max(1, _BLOCK_ENTRIES // n)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        block = like(kernel(select(X, rows), X), root)
        block *= root
        block *= root[rows, None]
        out[rows, :] = block
    # A kernel may have noise that rows share with themselves alone.
    linalg.set_diagonal(out, 1.0 + root**2 * like(kernel.diag(X), root))
    return out


def whitened_factor(kernel: Kernel, X: Any, root: Array, out: Array | None = None) -> Array:
    """The lower Cholesky factor of that."""
    matrix = whitened(kernel, X, root, out)
    in_place.factorise(matrix)
    return matrix

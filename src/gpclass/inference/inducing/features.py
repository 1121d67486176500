"""Gaussian processes through S inducing points, conditioned on the labels of all rows.

Given the latent values u at the inducing rows, latent values at different rows are taken as independent: f_n = v_n' w +
noise of variance D_n, with w = L^-1 u ~ N(0, I), L L' = K_uu, v_n = L^-1 k_un and D_n = k_nn - |v_n|^2. That is the
prior called FITC: marginal variances are exact, and where the inducing rows are all rows, so is everything else. Where
they are few, D is most of the variance, and labels observed with so much noise say little about w; the prior called
DTC leaves D out of inference, and adds it where rows are predicted. White noise is part of D under both, not of u.

V and matrices of S x S are arrays in the place of the inducing rows. Numbers for each row, or each row and class, are
NumPy's.

Work over the rows is sums over blocks of rows of S x S and S x C pieces. Nothing of size n x S need ever exist, though
where it fits into ``CACHE_BYTES`` it is kept, because every pass needs it.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from ...kernels import Kernel, PerClass
from ...numerics import linalg
from ...numerics.arrays import Array, cast, is_numpy, like, namespace, to_host
from ..settings import check_setting

#: Memory for the whitened covariances V of all rows with the inducing ones; beyond it each pass computes them again.
CACHE_BYTES = 2 * 2**30
#: Rows of a block.
BLOCK_ROWS = 2048
APPROXIMATIONS = ("dtc", "fitc")


class BlockedRows(Protocol):
    """Rows in the kernel's units, a block at a time, the same blocks each time."""

    def __len__(self) -> int: ...
    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]: ...


class ArrayRows:
    """The rows of an array."""

    def __init__(self, X: np.ndarray) -> None:
        self.X = X

    def __len__(self) -> int:
        return len(self.X)

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, len(self.X), BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, len(self.X)))
            yield rows, self.X[rows]


class Block(NamedTuple):
    """Some rows: which, V (S, b), the part of D (b,) that inference has as noise of f about v' w, and the rest (b,)."""

    rows: slice
    V: Array
    site_noise: np.ndarray
    dropped_variance: np.ndarray


class Features:
    """v_n and D_n of all rows, block by block, kept where memory allows.

    ``approximation`` is "dtc" or "fitc", ``dtype`` that of V.
    """

    def __init__(
        self, kernel: Kernel, Z: Array, rows: BlockedRows, approximation: str = "fitc", dtype: str = "float64"
    ) -> None:
        check_setting("dtype", dtype)
        if approximation not in APPROXIMATIONS:
            raise ValueError(f"approximation must be one of {list(APPROXIMATIONS)}, got {approximation!r}")
        if isinstance(kernel, PerClass):
            raise TypeError("inducing rows need one kernel for all classes, got a PerClass kernel")
        self.kernel, self.Z, self.rows, self.dtype = kernel, Z, rows, np.dtype(dtype)
        # K(Z, Z) as between different rows: white noise belongs to D.
        between = kernel(Z, Z)
        diagonal = to_host(namespace(between).linalg.diagonal(between))
        if not bool(namespace(between).any(between != 0.0)):
            raise ValueError("inducing rows need a kernel that relates different rows, got one of white noise alone")
        self.chol = linalg.cholesky(between)
        white = to_host(kernel.diag(Z)) - diagonal
        if approximation == "dtc" and np.ptp(white) > 1e-9 * np.max(diagonal):
            raise ValueError(
                "approximation='dtc' needs white noise of the same variance everywhere; use approximation='fitc'"
            )
        self.approximation, self.white = approximation, max(float(white[0]), 0.0)
        self._inverse = linalg.inverse_factor(self.chol)
        self._kept: list[Block] | None = [] if len(rows) * Z.shape[0] * self.dtype.itemsize <= CACHE_BYTES else None
        self._complete = False

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Block]:
        if self._complete:
            assert self._kept is not None
            yield from self._kept
            return
        kept: list[Block] = []
        for rows, X in self.rows.blocks():
            block = self.block(rows, X)
            if self._kept is not None:
                kept.append(block)
            yield block
        if self._kept is not None:
            self._kept, self._complete = kept, True

    def dropped_variance(self) -> np.ndarray:
        """The part of D (n,) that inference leaves out."""
        return np.concatenate([block.dropped_variance for block in self])

    def block(self, rows: slice, X: np.ndarray) -> Block:
        X = like(X, self.Z)
        V = self._inverse @ self.kernel(self.Z, X)
        D = np.maximum(to_host(self.kernel.diag(X) - linalg.squared_norms(V)), 0.0)
        site_noise = D if self.approximation == "fitc" else np.minimum(D, self.white)
        return Block(rows, cast(V, self.dtype), site_noise, D - site_noise)


def weighted_gram(V: Array, weight: np.ndarray) -> Array:
    """V diag(weight) V', on the CPU at half the cost of a product; weights may have either sign."""
    if not is_numpy(V):
        return cast((V * like(weight, V)) @ V.T, float)
    scaled, negative = V * np.sqrt(np.abs(weight)).astype(V.dtype), weight < 0.0
    if not np.any(negative):
        return np.asarray(linalg.gram(scaled.T), float)
    total = np.zeros((len(V), len(V)))
    for sign, which in ((1.0, ~negative), (-1.0, negative)):
        if np.any(which):
            total += sign * linalg.gram(np.ascontiguousarray(scaled[:, which]).T)
    return total

"""Gaussian processes through S inducing points, conditioned on the labels of all rows.

Given the latent values u at the inducing points, latent values at different rows are taken as independent: f_n =
v_n' w + noise of variance D_n, with w = L^-1 u ~ N(0, I), L L' = K_uu, v_n = L^-1 k_un and D_n = k_nn - |v_n|^2. That
is the prior called FITC: marginal variances are exact, and where the inducing points are all rows, so is everything
else. Where they are few, D is most of the variance, and labels observed with so much noise say little about w; the
prior called DTC leaves D out of inference, and adds it where rows are predicted. White noise is part of D under both,
not of u.

All of this is arrays in the place of the inducing points.

Work over the rows is sums over blocks of rows of S x S and S x C pieces. Nothing of size n x S need ever exist, though
where it fits into ``CACHE_BYTES`` it is kept, because every pass needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ...kernels import Kernel, PerClass
from ...numerics import linalg
from ...numerics.arrays import Array, cast, is_numpy, like, namespace, to_host
from ...numerics.devices import Place
from ..settings import check_setting

#: Memory for the whitened covariances V of all rows with the inducing ones, on a device at least this and half of what
#: is free; beyond it each pass computes them again.
CACHE_BYTES = 2 * 2**30
#: Rows of a block; of many rows blocks are larger, which devices like.
BLOCK_ROWS, LARGE_BLOCK_ROWS, MANY_ROWS = 2048, 8192, 2**17
APPROXIMATIONS = ("dtc", "fitc")
T = TypeVar("T")


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


class DeviceRows:
    """The blocks of some rows, read and sent to a device while it is at work on the block before."""

    def __init__(self, rows: BlockedRows, place: Place) -> None:
        self.rows, self.place = rows, place

    def __len__(self) -> int:
        return len(self.rows)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        return ahead((rows, self.place.send(X)) for rows, X in self.rows.blocks())


def ahead(items: Iterable[T]) -> Iterator[T]:
    """The same items, each made in another thread while the one before is in use."""
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1, "gpclass-blocks") as pool:
        coming: Any = pool.submit(next, iterator, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, iterator, end)
            yield item


class Block(NamedTuple):
    """Some rows: which, V (S, b), the part of D (b,) that inference has as noise of f about v' w, and the rest (b,)."""

    rows: slice
    V: Array
    site_noise: Array
    dropped_variance: Array


class InducingBasis:
    """Inducing points with all that turns rows X into blocks: v_n and D_n.

    ``approximation`` is "dtc" or "fitc", ``dtype`` that of V.
    """

    def __init__(self, kernel: Kernel, Z: Array, approximation: str = "fitc", dtype: str = "float64") -> None:
        check_setting("dtype", dtype)
        if approximation not in APPROXIMATIONS:
            raise ValueError(f"approximation must be one of {list(APPROXIMATIONS)}, got {approximation!r}")
        if isinstance(kernel, PerClass):
            raise TypeError("inducing points need one kernel for all classes, got a PerClass kernel")
        self.kernel, self.Z, self.approximation, self.dtype = kernel, Z, approximation, np.dtype(dtype)
        # K(Z, Z) as between different rows: white noise belongs to D.
        between = kernel(Z, Z)
        diagonal = to_host(namespace(between).linalg.diagonal(between))
        if not bool(namespace(between).any(between != 0.0)):
            raise ValueError("inducing points need a kernel that relates different rows, got one of white noise alone")
        self.chol = linalg.cholesky(between)
        white = to_host(kernel.diag(Z)) - diagonal
        if approximation == "dtc" and np.ptp(white) > 1e-9 * np.max(diagonal):
            raise ValueError(
                "approximation='dtc' needs white noise of the same variance everywhere; use approximation='fitc'"
            )
        self.white = max(float(white[0]), 0.0)
        self._inverse = linalg.inverse_factor(self.chol)

    def sent(self, place: Place) -> InducingBasis:
        """The same in another place."""
        moved = copy(self)
        moved.Z, moved.chol, moved._inverse = (place.send(part) for part in (self.Z, self.chol, self._inverse))
        return moved

    def block(self, rows: slice, X: np.ndarray) -> Block:
        """v_n and D_n of some rows."""
        X = like(X, self.Z)
        V = self._inverse @ self.kernel(self.Z, X)
        D = namespace(V).clip(self.kernel.diag(X) - linalg.squared_norms(V), 0.0, None)
        site_noise = D if self.approximation == "fitc" else namespace(V).clip(D, None, self.white)
        return Block(rows, cast(V, self.dtype), site_noise, D - site_noise)


class BlockSums(Protocol):
    """What inference through inducing points needs of all rows, wherever they are: sums over blocks of them."""

    basis: InducingBasis

    def __len__(self) -> int: ...
    def sums(self, part: Callable[..., tuple[Any, ...]], y: Any, *args: Any) -> tuple[Any, ...]:
        """The sum over blocks of ``part(block, labels of the block, *args)``, a tuple of arrays and numbers."""

    def local_sample(self, y: Any) -> tuple[Features, np.ndarray]:
        """Rows that are here, with their labels: all of them, or a sample where they are elsewhere."""


class Features:
    """v_n and D_n of all rows, block by block, kept where memory allows."""

    def __init__(
        self, kernel: Kernel, Z: Array, rows: BlockedRows, approximation: str = "fitc", dtype: str = "float64"
    ) -> None:
        self._set(InducingBasis(kernel, Z, approximation, dtype), rows)

    @classmethod
    def on(cls, basis: InducingBasis, rows: BlockedRows) -> Features:
        """Of rows through inducing points that others go through too."""
        found = cls.__new__(cls)
        found._set(basis, rows)
        return found

    def _set(self, basis: InducingBasis, rows: BlockedRows) -> None:
        self.basis, self.rows = basis, rows
        size = len(rows) * basis.Z.shape[0] * self.dtype.itemsize
        self._kept: list[Block] | None = [] if size <= _cache_bytes(Place.of(basis.Z)) else None
        self._complete = False

    @property
    def kernel(self) -> Kernel:
        return self.basis.kernel

    @property
    def Z(self) -> Array:
        return self.basis.Z

    @property
    def chol(self) -> Array:
        return self.basis.chol

    @property
    def dtype(self) -> np.dtype:
        return self.basis.dtype

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Block]:
        if self._complete:
            assert self._kept is not None
            yield from self._kept
            return
        kept: list[Block] = []
        for rows, X in self.rows.blocks():
            block = self.basis.block(rows, X)
            if self._kept is not None:
                kept.append(block)
            yield block
        if self._kept is not None:
            self._kept, self._complete = kept, True

    def sums(self, part: Callable[..., tuple[Any, ...]], y: np.ndarray, *args: Any) -> tuple[Any, ...]:
        """As for ``BlockSums``."""
        return reduce(added, (part(block, y[block.rows], *args) for block in self))

    def local_sample(self, y: np.ndarray) -> tuple[Features, np.ndarray]:
        return self, y

    def dropped_variance(self) -> np.ndarray:
        """The part of D (n,) that inference leaves out."""
        return np.concatenate([to_host(block.dropped_variance) for block in self])


def added(sums: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
    """Two sums over blocks as one."""
    return tuple(a + b for a, b in zip(sums, more, strict=True))


def _cache_bytes(place: Place) -> int:
    free = None if place.on_host else place.free_memory()
    return CACHE_BYTES if free is None else max(CACHE_BYTES, free // 2)


def weighted_gram(V: Array, weight: Array) -> Array:
    """V diag(weight) V' in double precision, on the CPU at half the cost of a product; weights may have either sign."""
    if not is_numpy(V):
        return cast((V * namespace(V).astype(weight, V.dtype)) @ V.T, float)
    scaled, negative = V * np.sqrt(np.abs(weight)).astype(V.dtype), weight < 0.0
    if not np.any(negative):
        return np.asarray(linalg.gram(scaled.T), float)
    total = np.zeros((len(V), len(V)))
    for sign, which in ((1.0, ~negative), (-1.0, negative)):
        if np.any(which):
            total += sign * linalg.gram(np.ascontiguousarray(scaled[:, which]).T)
    return total

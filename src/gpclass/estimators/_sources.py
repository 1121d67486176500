"""Where the rows of a large fit come from: an array, a memory map, or blocks that can be read again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.utils import assert_all_finite, check_array, column_or_1d

from ..inference.inducing.features import BLOCK_ROWS
from ._base import refuse_huge
from ._labels import refuse_mixed_labels


class Source:
    """Rows of numbers (n, p) with their labels y (n,), read in blocks; n, mean and variance of each column are found in
    a first pass. ``read()`` gives blocks of X, the same each time."""

    def __init__(self, read: Callable[[], Iterator[np.ndarray]], y: Any) -> None:
        self.read, self.y = read, y
        n, mean, squares = 0, np.zeros(0), np.zeros(0)
        for X in read():
            refuse_huge(X, first_row=n)
            m, centre = len(X), X.mean(axis=0)
            if n and X.shape[1] != len(mean):
                raise ValueError(f"expected blocks of {len(mean)} columns, got one of {X.shape[1]} after {n} rows")
            # Means and sums of squares of two samples make those of both (Chan, Golub and LeVeque).
            if n == 0:
                mean, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
            step = centre - mean
            squares += ((X - centre) ** 2).sum(axis=0) + step**2 * n * m / (n + m)
            mean = mean + step * m / (n + m)
            n += m
        if n != len(y):
            raise ValueError(f"expected as many labels as rows, got {len(y)} labels for {n} rows")
        if n < 2:
            raise ValueError(f"expected at least 2 rows, got {n}")
        self.n_rows, self.mean, self.variance = n, mean, squares / n

    @property
    def n_features(self) -> int:
        return len(self.mean)

    def subset(self, rows: np.ndarray) -> np.ndarray:
        """Some rows, given by increasing numbers."""
        start, found = 0, []
        for X in self.read():
            inside = rows[(rows >= start) & (rows < start + len(X))]
            found.append(X[inside - start])
            start += len(X)
        return np.concatenate(found)


def from_array(X: np.ndarray, y: Any) -> Source:
    """An array in memory or on disk; only a block at a time is converted to double precision."""
    if X.ndim != 2:
        raise ValueError(f"expected X with two dimensions, got {X.ndim}")

    def read() -> Iterator[np.ndarray]:
        for start in range(0, len(X), BLOCK_ROWS):
            yield check_array(X[start : start + BLOCK_ROWS], dtype=np.float64, order="C")

    return Source(read, y)


def from_blocks(blocks: Any) -> Source:
    """Blocks (X, y): a sequence of them, or a function that gives a fresh iterator each time it is called."""
    if not callable(blocks) and not isinstance(blocks, Sequence):
        raise TypeError(
            "blocks are read several times: expected a list of (X, y) pairs or a function that returns a new iterator "
            f"over them (pass the generator function itself, without calling it), got {type(blocks).__name__}"
        )
    given: Callable[[], Any] = blocks if callable(blocks) else lambda: iter(blocks)

    def pieces() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for number, pair in enumerate(given()):
            if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
                raise ValueError(f"expected blocks (X, y), got {type(pair).__name__} as block {number}")
            refuse_mixed_labels(pair[1])
            X, y = check_array(pair[0], dtype=np.float64, order="C"), column_or_1d(pair[1])
            assert_all_finite(y, input_name=f"y of block {number}")
            if len(X) != len(y):
                raise ValueError(f"block {number} has {len(X)} rows and {len(y)} labels")
            yield X, y

    labels, sums = [], []
    for X, y in pieces():
        labels.append(y)
        sums.append(crc32(X))  # type: ignore[arg-type]
    if not labels:
        raise ValueError("expected at least one block of rows, got none")
    refuse_mixed_labels([y[:1].tolist()[0] for y in labels])  # each block has one type

    def read() -> Iterator[np.ndarray]:
        # Blocks larger than ours are cut.
        for number, (X, _) in enumerate(pieces()):
            if number >= len(sums) or crc32(X) != sums[number]:  # type: ignore[arg-type]
                raise ValueError(
                    f"expected the same rows in every pass over the blocks, got others in block {number}: a function "
                    "that makes blocks must not shuffle anew each time"
                )
            for start in range(0, len(X), BLOCK_ROWS):
                yield X[start : start + BLOCK_ROWS]

    return Source(read, np.concatenate(labels))


class ScaledRows:
    """The rows of a source in the kernel's units (``inference.inducing.Rows``)."""

    def __init__(self, source: Source, scaled: Callable[[np.ndarray], np.ndarray]) -> None:
        self.source, self.scaled = source, scaled

    def __len__(self) -> int:
        return self.source.n_rows

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        start = 0
        for X in self.source.read():
            yield slice(start, start + len(X)), self.scaled(X)
            start += len(X)
        if start != self.source.n_rows:
            raise ValueError(f"expected {self.source.n_rows} rows in every pass over the blocks, got {start}")

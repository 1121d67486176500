"""Where the rows of a large fit come from: an array, a memory map, or blocks that can be read again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array

from ..inference.inducing.features import (
    BLOCK_ROWS,
    LARGE_BLOCK_ROWS,
    MANY_ROWS,
    DeviceRows,
    Features,
    InducingBasis,
)
from ..inference.problem import Problem
from ..numerics.devices import Place
from ..training.row_order import RowOrder
from ..training.trained import LabelWeights, Trained
from ._inputs import Inputs, refuse_huge
from ._labels import Labels, check_labels, label_column, refuse_masked
from ._sampling import chosen, class_sizes, priorities, row_hashes


class Source:
    """Rows (n, p) with their labels y (n,), read in blocks. A first pass finds n and the moments of the columns.

    ``read()`` returns an iterator over blocks of X, the same each time.
    """

    def __init__(self, read: Callable[[], Iterator[np.ndarray]], y: Any) -> None:
        self.read, self.y = read, y
        self.scaler, n = StandardScaler(), 0
        for X in read():
            refuse_huge(X, first_row=n)
            if n and X.shape[1] != self.n_features:
                raise ValueError(
                    f"expected blocks of {self.n_features} columns, got one of {X.shape[1]} after {n} rows"
                )
            self.scaler.partial_fit(X)
            n += len(X)
        if n != len(y):
            raise ValueError(f"expected as many labels as rows, got {len(y)} labels for {n} rows")
        if n < 2:
            raise ValueError(f"expected at least 2 rows, got {n}")
        self.n_rows = n

    @property
    def n_features(self) -> int:
        return self.scaler.n_features_in_

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
            refuse_masked(pair[0], f"X of block {number}")
            X = check_array(pair[0], dtype=np.float64, order="C")
            y = label_column(pair[1], f"y of block {number}")
            if len(X) != len(y):
                raise ValueError(f"block {number} has {len(X)} rows and {len(y)} labels")
            yield X, y

    labels, sums = [], []
    for X, y in pieces():
        labels.append(y)
        sums.append(_checksum(X))
    if not labels:
        raise ValueError("expected at least one block of rows, got none")
    check_labels([y[:1].tolist()[0] for y in labels])  # each block has one type

    def read() -> Iterator[np.ndarray]:
        # Blocks larger than ours are cut.
        for number, (X, _) in enumerate(pieces()):
            if number >= len(sums) or _checksum(X) != sums[number]:
                raise ValueError(
                    f"expected the same rows in every pass over the blocks, got others in block {number}: a function "
                    "that makes blocks must not shuffle again in each pass"
                )
            for start in range(0, len(X), BLOCK_ROWS):
                yield X[start : start + BLOCK_ROWS]

    return Source(read, np.concatenate(labels))


def _checksum(X: np.ndarray) -> int:
    return crc32(X.tobytes())


class ScaledRows:
    """The rows of a source in the kernel's units (``inference.inducing.features.BlockedRows``)."""

    def __init__(self, source: Source, scaled: Callable[[np.ndarray], np.ndarray]) -> None:
        self.source, self.scaled = source, scaled

    def __len__(self) -> int:
        return self.source.n_rows

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        n = self.source.n_rows
        size = 1 if n < MANY_ROWS else LARGE_BLOCK_ROWS  # blocks of many rows are put together
        start, stop, waiting = 0, 0, []
        for X in self.source.read():
            waiting.append(X)
            stop += len(X)
            if stop - start >= min(size, n - start):
                yield slice(start, stop), self.scaled(np.concatenate(waiting))
                start, waiting = stop, []
        if stop != n:
            raise ValueError(f"expected {n} rows in every pass over the blocks, got {stop}")


@dataclass(frozen=True)
class SourceRows:
    """Training rows of this machine, for estimators that learn from a ``sample`` of them and then read all in blocks.

    ``few`` are the numbers of the sampled rows in the ``order`` of training.
    """

    inputs: Inputs
    source: Source
    order: RowOrder
    labels: Labels
    codes: np.ndarray
    sample: np.ndarray
    sample_codes: np.ndarray
    few: np.ndarray
    place: Place

    #: whether rows are on other machines
    elsewhere: ClassVar[bool] = False

    @classmethod
    def of(
        cls, inputs: Inputs, source: Source, order: RowOrder, n_sampled: int, place: Place, rng: np.random.Generator
    ) -> SourceRows:
        labels = Labels.of(source.y)
        codes = labels.encode(source.y)
        few = np.arange(source.n_rows)
        if source.n_rows > n_sampled:
            seed = int(rng.integers(2**63))
            numbers = slice(None) if inputs.columns.categorical is None else ~inputs.columns.categorical
            hashes = np.concatenate([row_hashes(X[:, numbers], seed) for X in source.read()])
            few = chosen(priorities(hashes), codes, class_sizes(np.bincount(codes), n_sampled))
        sample = source.subset(few)
        among = RowOrder.of(sample, codes[few])  # once more, for the rows of blocks
        few = few[among.rows]
        return cls(inputs, source, order, labels, codes, sample[among.rows], codes[few], few, place)

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    @property
    def scaler(self) -> StandardScaler:
        return self.source.scaler

    @property
    def label_weights(self) -> LabelWeights:
        return LabelWeights.of(self.codes, len(self.labels))

    @property
    def loo_codes(self) -> np.ndarray:
        """Those of all rows, numbered as in the table."""
        return self.codes[self.order.places]

    def sums(self, basis: InducingBasis, inputs: Inputs, sample: Problem) -> Features:
        """All rows through inducing points."""
        scaled = ScaledRows(self.source, inputs.scaled)
        return Features.on(basis, scaled if self.place.on_host else DeviceRows(scaled, self.place))

    @property
    def content(self) -> int:
        """A checksum of the labels and of the sampled rows."""
        return crc32(self.codes.tobytes(), crc32(np.ascontiguousarray(self.sample).tobytes()))

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of their own."""
        return {}

    def renumbered(self, trained: Trained) -> Trained:
        """What was trained, with rows numbered as in the table."""
        return replace(trained, hyper=trained.hyper.renumbered(self.few)).renumbered(self.order.rows)

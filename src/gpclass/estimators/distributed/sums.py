"""Sums over blocks of rows that are in a Dask collection (``inference.inducing.features.BlockSums``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ...inference.inducing.features import ArrayRows, DeviceRows, Features, InducingBasis, added
from ...numerics.arrays import is_numpy, to_host
from ...numerics.devices import Place, place_of
from .._inputs import Inputs
from .._labels import Labels
from .collections import Chunks, total
from .survey import checksum


@dataclass(frozen=True)
class Reader:
    """How a chunk becomes rows in the kernel's units and codes of classes. ``estimator`` has no fit but its columns."""

    inputs: Inputs
    labels: Labels
    estimator: Any
    checksums: tuple[int, ...]
    device: str | None

    def read(self, number: int, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Refused where the chunk is not what it was in the first pass."""
        if checksum(X, y) != self.checksums[number]:
            raise ValueError(
                f"expected the same rows in every pass, got others in chunk {number}: a collection must not draw "
                "random numbers or read changing files anew each time; persist() it, or fix its seeds"
            )
        rows, _ = self.inputs.check(self.estimator, X)
        return self.inputs.scaled(rows), self.labels.encode(np.asarray(y))


@dataclass(frozen=True)
class ChunkSums:
    """All rows of a collection; a sample of them, with codes of its labels, is local."""

    basis: InducingBasis
    chunks: Chunks
    reader: Reader
    n_rows: int
    sample: Features
    sample_codes: np.ndarray

    def __len__(self) -> int:
        return self.n_rows

    def sums(self, part: Callable[..., tuple[Any, ...]], y: Any, *args: Any) -> tuple[Any, ...]:
        """As for ``BlockSums``; labels are with their rows."""
        tasks = self.chunks.each(_chunk_sums, self.reader, self.basis, part, args)
        (found,) = self.chunks.compute([total(tasks, _added)])
        if found is None:
            raise ValueError("expected rows, got empty chunks alone")
        return found

    def local_sample(self, y: Any) -> tuple[Features, np.ndarray]:
        """The sample."""
        return self.sample, self.sample_codes


def _chunk_sums(
    number: int, X: Any, y: Any, reader: Reader, basis: InducingBasis, part: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """The sums over the blocks of a chunk, on the device of the worker where it is to use one."""
    if not len(X):
        return None
    rows, codes = reader.read(number, X, y)
    place = place_of(reader.device, None)
    source: Any = ArrayRows(rows)
    if not place.on_host:
        basis, args, source = basis.sent(place), _sent(args, place), DeviceRows(source, place)
    blocks = (basis.block(which, own) for which, own in source.blocks())
    found = reduce(added, (part(block, codes[block.rows], *args) for block in blocks))
    return tuple(one if isinstance(one, (int, float)) else to_host(one) for one in found)


def _added(sums: tuple[Any, ...] | None, more: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Two sums as one; None is that of no rows."""
    if sums is None or more is None:
        return more if sums is None else sums
    return added(sums, more)


def _sent(value: Any, place: Place) -> Any:
    """A value with all its arrays on a device."""
    if isinstance(value, tuple):
        parts = [_sent(one, place) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return place.send(value) if isinstance(value, np.ndarray) and is_numpy(value) else value

"""Features of a kernel from columns of X: missing values filled, and features added that are made of a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.arrays import Array, is_numpy, namespace
from ._dates import CYCLES, Times
from ._words import Words

#: Steps of sines and cosines, a power of two.
_STEPS = 2.0**40


@dataclass(frozen=True)
class Added:
    """A feature made of a column: ``part`` is "missing", "sine" or "cosine" of a cycle, or "word"; ``of`` is the cycle
    or the word, ``origin`` that of the dates."""

    column: int
    part: str
    of: str = ""
    origin: float = 0.0

    @property
    def suffix(self) -> str:
        """What follows the name of the column."""
        return (
            f" ({self.part})"
            if not self.of
            else f" ({self.of})"
            if self.part == "word"
            else f" ({self.of}, {self.part})"
        )

    def values(self, column: Array, texts: Any) -> Array:
        """The feature (n, 1) from the column (n, 1) with its missing values; ``texts`` are its sets of words."""
        if self.part == "word":
            return np.array([[self.of in words] for words in texts], dtype=float).reshape(-1, 1)
        xp = namespace(column)
        missing = xp.isnan(column)
        if self.part == "missing":
            return xp.astype(missing, column.dtype)
        angle = CYCLES[self.of].phase(column + self.origin)
        place = xp.sin(angle) if self.part == "sine" else xp.cos(angle)
        # Rounded, as equal values may differ by rounding, which ranks would magnify. No date is nowhere on a cycle.
        return xp.where(missing, 0.0, xp.floor(place * _STEPS + 0.5) / _STEPS)


@dataclass(frozen=True)
class FeatureMap:
    """Columns (n, n_columns) become features (n, n_features): themselves with ``fills`` (n_columns,) for missing
    values, and then those ``added``."""

    fills: np.ndarray
    added: tuple[Added, ...] = ()

    @classmethod
    def fit(
        cls, rows: np.ndarray, codes: np.ndarray, times: Mapping[int, Times], words: Mapping[int, Words], adds: bool
    ) -> FeatureMap:
        """Medians fill columns, and the most frequent code those of ``codes`` (n_columns,). Features are added where
        ``adds``: whether a value is missing, where some were and others not; and the cycles of dates, and words."""
        missing = np.isnan(rows)
        fills = np.array(
            [_typical(column[~gaps], coded) for column, gaps, coded in zip(rows.T, missing.T, codes, strict=True)]
        )
        if not adds:
            return cls(fills)
        indicators = [Added(int(j), "missing") for j in np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0))]
        cycles = [
            Added(j, part, name, own.origin)
            for j, own in times.items()
            for name in own.cycles
            for part in ("sine", "cosine")
        ]
        return cls(
            fills, (*indicators, *cycles, *(Added(j, "word", word) for j, own in words.items() for word in own.words))
        )

    def transform(self, rows: Array, texts: Mapping[int, Sequence[Any]]) -> Array:
        """The features of checked rows; ``texts`` has the sets of words of columns that hold text."""
        xp = namespace(rows)
        missing = xp.isnan(rows)
        if not is_numpy(rows):
            filled = xp.where(missing, self.fills, rows)
        elif np.any(missing):
            filled = rows.copy()
            filled[missing] = np.broadcast_to(self.fills, rows.shape)[missing]
        else:
            filled = rows
        if not self.added:
            return filled
        made = [one.values(rows[:, one.column : one.column + 1], texts.get(one.column)) for one in self.added]
        return xp.concat([filled, *made], axis=1)

    def names(self, columns: Sequence[Any]) -> list[str]:
        """Names of the features, given those of the columns."""
        return [*columns, *(f"{columns[one.column]}{one.suffix}" for one in self.added)]

    def by_column(self, values: np.ndarray) -> np.ndarray:
        """The largest of the values (..., n_features) of each column, (..., n_columns)."""
        n_columns = len(self.fills)
        largest = values[..., :n_columns].copy()
        for value, one in zip(np.moveaxis(values[..., n_columns:], -1, 0), self.added, strict=True):
            largest[..., one.column] = np.maximum(largest[..., one.column], value)
        return largest


def _typical(known: np.ndarray, coded: bool) -> float:
    """What stands for a missing value: the median, or the most frequent code; 0 where there is no value at all."""
    if not len(known):
        return 0.0
    if not coded:
        return float(np.median(known))
    values, counts = np.unique(known, return_counts=True)
    return float(values[counts.argmax()])

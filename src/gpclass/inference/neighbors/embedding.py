"""Rows with codes of categories as points whose Euclidean distances count the categories that differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Embedding:
    """For each column its number of categories, 0 for numbers. A category becomes indicators, one for each code; two
    rows of different categories are then 2^1/2 apart, as far as two typical rows in a standardised number. An unknown
    category, with a negative code, equals none."""

    n_categories: tuple[int, ...]

    @property
    def is_identity(self) -> bool:
        return not any(self.n_categories)

    @property
    def columns(self) -> np.ndarray:
        """The column (D,) that each coordinate belongs to."""
        return np.repeat(np.arange(len(self.n_categories)), np.maximum(self.n_categories, 1))

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Points (m, D) for rows (m, d)."""
        if self.is_identity:
            return X
        parts = [
            (column[:, None] == np.arange(size)).astype(float) if size else column[:, None]
            for column, size in zip(X.T, self.n_categories, strict=True)
        ]
        return np.hstack(parts)

    def pooled(self, relevance: np.ndarray) -> np.ndarray:
        """The mean relevance (d,) of the coordinates (D,) of each column."""
        return np.bincount(self.columns, weights=relevance) / np.maximum(self.n_categories, 1)

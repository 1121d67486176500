"""The order in which rows are trained on: a function of the rows, whatever the order in which they come.

Position counts in many places: of rows that score alike the first becomes active (under a stationary kernel all do,
until one is), samples of rows are evenly spaced, random draws are of positions, and sums are rounded in the order of
their terms. So rows are sorted before anything is computed from them, and results are given back in the order of the
table.

Rows near the mean come first: of rows that say as much, a typical one is near more of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler


@dataclass(frozen=True)
class RowOrder:
    """Which rows (n,) of the table come first, second and so on."""

    rows: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> RowOrder:
        """By distance from the mean, in standard deviations of the columns, where missing values count as the mean; at
        equal distances by the values of the row, then by y."""
        by_value = np.lexsort((y, *X.T))
        Z = np.nan_to_num(StandardScaler(copy=False).fit_transform(X[by_value]), copy=False)
        distance = np.sum(np.square(Z, out=Z), axis=1)
        return cls(by_value[np.argsort(distance, kind="stable")])

    @classmethod
    def unsorted(cls, n_rows: int) -> RowOrder:
        """As they come."""
        return cls(np.arange(n_rows))

    @property
    def places(self) -> np.ndarray:
        """Where each row of the table has come to, (n,)."""
        return np.argsort(self.rows)

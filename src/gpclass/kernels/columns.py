"""What a kernel may know of the columns of X when it is bound to data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Columns:
    """Names of the columns, which of them hold categories, and where Gram matrices stand.

    An estimator writes Gram matrices behind the ``n_features`` columns of features: for the matrix called ``name``, in
    the columns ``grams[name]``, every row has its number among the rows of ``fit`` (-1 if it is new), its own variance
    (NaN if this source knows nothing of it), and its covariances with the rows of ``fit``.
    """

    names: Sequence[str] | None = None
    categorical: np.ndarray | None = None
    grams: Mapping[str, slice] = field(default_factory=dict)
    n_features: int | None = None

    @classmethod
    def of(cls, known: Any) -> Columns:
        """Columns, or names of columns, or nothing known."""
        return known if isinstance(known, cls) else cls(known)

    def refuse_categories(self, kernel: str) -> None:
        """For kernels that would take codes of categories for numbers."""
        if self.categorical is not None and np.any(self.categorical):
            first = int(np.flatnonzero(self.categorical)[0])
            name = first if self.names is None else self.names[first]
            raise ValueError(
                f"{kernel} is for numbers, but column {name!r} holds categories; split them: View({kernel}(), "
                "dtype='number') and View(Categorical(), dtype='category')"
            )

    def subset(self, columns: Any, n_columns: int) -> Columns:
        """What is known of some of the columns."""
        places = np.arange(n_columns)[columns]
        names = None if self.names is None else [self.names[j] for j in places if j < len(self.names)]
        categorical = None if self.categorical is None else self.categorical[places[places < len(self.categorical)]]
        return Columns(names, categorical)

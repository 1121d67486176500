"""What a kernel may know of the columns of X when it is bound to data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Columns:
    """Names of the columns, and which of them hold categories."""

    names: Sequence[str] | None = None
    categorical: np.ndarray | None = None

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

    def subset(self, places: np.ndarray) -> Columns:
        """What is known of the columns with these numbers."""
        names = None if self.names is None else [self.names[j] for j in places]
        return Columns(names, None if self.categorical is None else self.categorical[places])

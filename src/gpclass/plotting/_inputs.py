"""What displays are given: rows in an array or a data frame, labels, and estimators with something to show."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ..estimators._tables import as_codes, find_categories, is_frame


def require(estimator: Any, expected: str, *attributes: str) -> None:
    """Refuse an estimator that is not fitted, or lacks what is to be drawn."""
    check_is_fitted(estimator)
    if not all(hasattr(estimator, name) for name in attributes):
        raise TypeError(f"expected {expected}, got {type(estimator).__name__}")


class Inputs:
    """Rows as they are given, as numbers, and new rows of the same kind.

    ``numbers`` is (n, p): NaN where something is missing, and codes where a column of a data frame holds categories.
    """

    def __init__(self, X: Any) -> None:
        self._given, self._categories = X, find_categories(X)
        self._columns = list(X.columns) if is_frame(X) else None
        if self._columns is not None and len(set(self._columns)) < len(self._columns):
            raise ValueError(f"expected columns with different names, got {self._columns}")
        coded, _ = as_codes(X, self._categories, gaps=True)
        try:
            self.numbers = check_array(coded, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
        except ValueError as error:
            if not str(error).startswith("could not convert string to float"):
                raise
            raise ValueError(
                f"expected numbers, or a data frame for columns of categories, got {type(X).__name__} with text"
            ) from error

    def __len__(self) -> int:
        return len(self.numbers)

    def name(self, place: int) -> str:
        return f"x{place + 1}" if self._columns is None else str(self._columns[place])

    def place(self, feature: Any) -> int:
        """Where a column is that is given by its place or its name; it must hold numbers."""
        n = self.numbers.shape[1]
        if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool) and -n <= feature < n:
            place = int(feature) % n
        elif isinstance(feature, str) and feature in (self._columns or ()):
            place = self._columns.index(feature)  # type: ignore[union-attr]
        else:
            named = "" if self._columns is None else f" or the name of one of {self._columns}"
            raise ValueError(f"expected the place of one of {n} columns{named}, got {feature!r}")
        if self._columns is not None and self._columns[place] in self._categories:
            raise ValueError(f"expected a column of numbers, got {self._columns[place]!r}, which holds categories")
        if not np.any(np.isfinite(self.numbers[:, place])):
            raise ValueError(f"expected numbers in column {self.name(place)!r}, got none")
        return place

    def two_places(self, features: Any) -> tuple[int, int]:
        """Where the two columns of a plane are."""
        wanted = [features] if isinstance(features, str) or np.ndim(features) == 0 else list(features)
        places = [self.place(feature) for feature in wanted]
        if len(places) != 2 or places[0] == places[1]:
            raise ValueError(f"expected two different features, by place or name, got {features!r}")
        return places[0], places[1]

    def plane(self, places: tuple[int, int], resolution: int) -> tuple[tuple[np.ndarray, np.ndarray], Any]:
        """A plane through the rows over two inputs, the others where they are typical: its axes, and it as rows."""
        along = self._range(places[0], resolution, 0.06), self._range(places[1], resolution, 0.06)
        grid = np.meshgrid(*along)
        return along, self._rows({place: values.ravel() for place, values in zip(places, grid, strict=True)})

    def line(self, place: int, resolution: int, margin: float = 0.0, among: Any = slice(None)) -> tuple[Any, Any]:
        """A line through some of the rows along one input, the others where they are typical: inputs, and rows."""
        along = self._range(place, resolution, margin)
        return along, self._rows({place: along}, among)

    def _range(self, place: int, resolution: int, margin: float) -> np.ndarray:
        low, high = np.nanmin(self.numbers[:, place]), np.nanmax(self.numbers[:, place])
        beyond = margin * (high - low) if high > low else 0.5  # a constant column has no width of its own
        return np.linspace(low - beyond, high + beyond, resolution)

    def _rows(self, values: dict[int, np.ndarray], among: Any = slice(None)) -> Any:
        """Rows with these values in some columns, and in others the median or the most frequent category."""
        n_rows = len(next(iter(values.values())))
        columns = []
        for place in range(self.numbers.shape[1]):
            typical = self._typical(place, among)
            columns.append(values[place] if place in values else [typical] * n_rows)
        if self._columns is None:
            return np.column_stack(columns)
        return type(self._given)(dict(zip(self._columns, columns, strict=True)))

    def _typical(self, place: int, among: Any) -> Any:
        """The median of a column's numbers, or its most frequent category."""
        known = self.numbers[among, place]
        known = known[np.isfinite(known)]
        kinds = None if self._columns is None else self._categories.get(self._columns[place])
        if kinds is None:
            return float(np.median(known)) if len(known) else np.nan
        return kinds.values[np.bincount(known.astype(int)).argmax()] if len(known) else None


def class_places(y: Any, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """Which of the classes each label is, (n_rows,); -1 where it is none of them, as where there is no label."""
    labels = np.ravel(np.asarray(y)).tolist()
    if len(labels) != n_rows:
        raise ValueError(f"expected y with {n_rows} labels, one for each row of X, got {len(labels)}")
    known = {label: place for place, label in enumerate(np.asarray(classes).tolist())}
    places = np.array([known.get(label, -1) for label in labels])
    if np.all(places < 0):
        raise ValueError(f"expected labels among {list(known)}, got {labels[0]!r} and no others of them")
    return places


def targets(y: Any, n_rows: int) -> np.ndarray:
    """Numbers (n_rows,) that a regressor is about."""
    y = np.ravel(np.asarray(y, dtype=float))
    if len(y) != n_rows:
        raise ValueError(f"expected y with {n_rows} numbers, one for each row of X, got {len(y)}")
    return y

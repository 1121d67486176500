"""Checks of the input of displays: rows in an array or a data frame, labels, and fitted estimators."""

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ..estimators._frames import FrameColumns, is_frame, known_categories

#: The two columns of a plane, by index or name.
Plane = tuple[Any, Any]


def require(estimator: Any, expected: str, *attributes: str) -> None:
    """Refuse an estimator that is not fitted or lacks an attribute."""
    check_is_fitted(estimator)
    if not all(hasattr(estimator, name) for name in attributes):
        raise TypeError(f"expected {expected}, got {type(estimator).__name__}")


class PlotInputs:
    """Rows as numbers, and new rows of the same columns.

    ``values`` is (n, p): NaN for missing values, and codes in categorical columns of a data frame.
    """

    def __init__(self, X: Any) -> None:
        frame = FrameColumns.fit(X)
        self._given, self._times = X, set(frame.times)
        self._categories = {name: known_categories(own) for name, own in frame.categories.items()}
        self._columns = list(X.columns) if is_frame(X) else None
        coded, _ = frame.transform(X, missing_is_nan=True)
        try:
            self.values = check_array(coded, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
        except ValueError as error:
            if not str(error).startswith("could not convert string to float"):
                raise
            expected = "expected numbers, or a data frame for categorical columns"
            raise ValueError(f"{expected}, got {type(X).__name__} with text") from error

    def __len__(self) -> int:
        return len(self.values)

    def name(self, index: int) -> str:
        return f"x{index + 1}" if self._columns is None else str(self._columns[index])

    def index(self, feature: Any) -> int:
        """The index of a numeric column that is given by index or name."""
        n, columns = self.values.shape[1], self._columns or []
        if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool) and -n <= feature < n:
            index = int(feature) % n
        elif isinstance(feature, str) and feature in columns:
            index = columns.index(feature)
        else:
            named = f" or the name of one of {columns}" if columns else ""
            raise ValueError(f"expected the index of one of {n} columns{named}, got {feature!r}")
        for kind, names in (("categories", self._categories), ("dates", self._times)):
            if columns and columns[index] in names:
                raise ValueError(f"expected a numeric column, got {columns[index]!r}, which holds {kind}")
        if not np.any(np.isfinite(self.values[:, index])):
            raise ValueError(f"expected numbers in column {self.name(index)!r}, got none")
        return index

    def two(self, features: Any) -> tuple[tuple[int, int], tuple[str, str]]:
        """Indices and names of the two columns of a plane."""
        given = [features] if isinstance(features, str) or np.ndim(features) == 0 else list(features)
        indices = [self.index(feature) for feature in given]
        if len(indices) != 2 or indices[0] == indices[1]:
            raise ValueError(f"expected two different features, by index or name, got {features!r}")
        i, j = indices
        return (i, j), (self.name(i), self.name(j))

    def target(self, y: Any, classes: np.ndarray | None) -> np.ndarray | None:
        """The class index of each row (-1 for other labels), or regression targets without ``classes``."""
        if y is None:
            return None
        y = np.ravel(np.asarray(y, dtype=float if classes is None else None))
        if len(y) != len(self):
            kind = "numbers" if classes is None else "labels"
            raise ValueError(f"expected y with {len(self)} {kind}, one for each row of X, got {len(y)}")
        if classes is None:
            return y
        known = {label: index for index, label in enumerate(np.asarray(classes).tolist())}
        indices = np.array([known.get(label, -1) for label in y.tolist()])
        if np.all(indices < 0):
            raise ValueError(f"expected labels among {list(known)}, got {y.tolist()[0]!r} and no others of them")
        return indices

    def plane(self, indices: tuple[int, int], resolution: int) -> tuple[tuple[np.ndarray, np.ndarray], Any]:
        """A grid over two columns, the others at their typical values: its axes, and its points as rows."""
        axes = self._range(indices[0], resolution, 0.06), self._range(indices[1], resolution, 0.06)
        grid = np.meshgrid(*axes)
        return axes, self._rows({index: values.ravel() for index, values in zip(indices, grid, strict=True)})

    def line(self, index: int, resolution: int, margin: float = 0.0, among: Any = slice(None)) -> tuple[Any, Any]:
        """Values along one column, and rows with the others at their typical values among some rows."""
        along = self._range(index, resolution, margin)
        return along, self._rows({index: along}, among)

    def _range(self, index: int, resolution: int, margin: float) -> np.ndarray:
        low, high = np.nanmin(self.values[:, index]), np.nanmax(self.values[:, index])
        beyond = margin * (high - low) if high > low else 0.5
        return np.linspace(low - beyond, high + beyond, resolution)

    def _rows(self, values: dict[int, np.ndarray], among: Any = slice(None)) -> Any:
        """Rows with these values in some columns, and the median or the most frequent category in others."""
        n_rows = len(next(iter(values.values())))
        columns = [
            values[index] if index in values else [self._typical(index, among)] * n_rows
            for index in range(self.values.shape[1])
        ]
        if self._columns is None:
            return np.column_stack(columns)
        return type(self._given)(dict(zip(self._columns, columns, strict=True)))

    def _typical(self, index: int, among: Any) -> Any:
        """The median of a numeric column, the date nearest to it, or the most frequent category."""
        rows = np.arange(len(self))[among]
        rows = rows[np.isfinite(self.values[rows, index])]
        known = self.values[rows, index]
        if self._columns is not None and self._columns[index] in self._times:
            cells = self._given[self._columns[index]].to_list()
            return cells[rows[np.abs(known - np.median(known)).argmin()]] if len(rows) else None
        categories = None if self._columns is None else self._categories.get(self._columns[index])
        if categories is None:
            return float(np.median(known)) if len(known) else np.nan
        return categories[np.bincount(known.astype(int)).argmax()] if len(known) else None

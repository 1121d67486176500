"""Data frames with columns of text: categories become codes, and the same codes again for new rows."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ._labels import is_missing

#: Code of a category that was not there in training.
UNKNOWN = -1.0
_OF_TIME = ("datetime", "period", "timedelta")


class Categories(NamedTuple):
    """The categories, sorted, that a column has in training, and whether some were missing."""

    values: np.ndarray
    gaps: bool


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def find_categories(X: Any) -> dict[Any, Categories]:
    """The columns of a data frame that do not hold numbers, with their categories."""
    if not is_frame(X):
        return {}
    repeated = [name for name, count in Counter(X.columns).items() if count > 1]
    found = {}
    for name in X.columns:
        if name in repeated:
            continue
        column, kind = np.asarray(X[name]), str(getattr(X[name], "dtype", "")).lower()
        if column.dtype.kind in "biuf" and kind != "category":
            continue
        values = [value for value in column.tolist() if not is_missing(value)]
        if column.dtype.kind in "mM" or kind.startswith(_OF_TIME) or any(_is_time(value) for value in values):
            raise ValueError(f"column {name!r}: expected numbers or categories, got dates; make numbers of them first")
        if kind != "category" and all(isinstance(value, (Real, Decimal)) for value in values):
            continue
        found[name] = Categories(_sorted(name, values), len(values) < len(column))
    text = [name for name in repeated if any(kind not in "biuf" for kind in _kinds(X, name))]
    if repeated and (found or text):
        raise ValueError(f"expected columns with different names, got {repeated[0]!r} more than once")
    return found


def _is_time(value: Any) -> bool:
    return isinstance(value, (date, timedelta))


def _kinds(X: Any, name: Any) -> str:
    """The kinds of the columns that share a name."""
    return "".join(getattr(kind, "kind", "O") for kind in X[name].dtypes)


def _sorted(name: Any, values: list[Any]) -> np.ndarray:
    kinds = {str if isinstance(value, str) else type(value) for value in values}
    if len(kinds) > 1 and str in kinds:
        names = sorted(kind.__name__ for kind in kinds)
        raise ValueError(f"column {name!r}: expected categories of one type, got a mixture of {' and '.join(names)}")
    try:
        distinct = sorted(set(values))
    except TypeError:
        names = sorted(kind.__name__ for kind in kinds)
        raise ValueError(f"column {name!r}: expected text or other categories with an order, got {names[0]}") from None
    categories = np.empty(len(distinct), dtype=object)
    categories[:] = distinct
    return categories


def as_codes(X: Any, categories: dict[Any, Categories], gaps: bool) -> tuple[Any, list[Any]]:
    """The frame with codes instead of categories, and which columns had one that was not there in training.

    A missing category is NaN (``gaps``); otherwise it is a category of its own, if some were missing in training.
    """
    if not categories:
        return X, []
    if not is_frame(X):
        raise ValueError(
            f"expected a data frame with the columns of fit, among them {list(categories)} with categories; got "
            f"{type(X).__name__}"
        )
    names = list(X.columns)
    absent = [name for name in categories if name not in names]
    if absent:
        raise ValueError(f"expected a column named {absent[0]!r}, as in fit; got {names}")
    columns, strange = {}, []
    for name in names:
        if name not in categories:
            columns[name] = _numbers(name, X[name])
            continue
        known = {value: float(code) for code, value in enumerate(categories[name].values.tolist())}
        missing = np.nan if gaps else float(len(known)) if categories[name].gaps else UNKNOWN
        codes = np.array([missing if is_missing(v) else _code(v, known) for v in np.asarray(X[name]).tolist()], float)
        if np.any(codes == UNKNOWN):
            strange.append(name)
        columns[name] = codes
    return type(X)(columns), strange


def _code(value: Any, known: dict[Any, float]) -> float:
    try:
        return known.get(value, UNKNOWN)
    except TypeError:  # cannot be a category at all
        return UNKNOWN


def _numbers(name: Any, column: Any) -> np.ndarray:
    try:
        return np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        values = [np.nan if is_missing(value) else value for value in np.asarray(column).tolist()]
        try:
            return np.array(values, dtype=float)
        except (TypeError, ValueError):
            wrong = next(value for value in values if not isinstance(value, (Real, Decimal)))
            raise ValueError(f"column {name!r}: expected numbers, as in fit, got {wrong!r}") from None

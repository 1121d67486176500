"""Data frames with columns of text: categories become codes, and the same codes again for new rows."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from ._labels import is_missing

#: Code of a category that was not there in training.
UNKNOWN = -1.0


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def find_categories(X: Any) -> dict[str, np.ndarray]:
    """The columns of a data frame that do not hold numbers, and the categories, sorted, that each of them has."""
    if not is_frame(X):
        return {}
    found = {}
    for name in X.columns:
        column = np.asarray(X[name])
        if column.ndim != 1 or (column.dtype.kind in "biuf" and str(getattr(X[name], "dtype", "")) != "category"):
            continue
        if column.dtype.kind in "mM":
            raise ValueError(
                f"column {name!r}: expected numbers or categories, got dates; turn them into numbers first"
            )
        values = [value for value in column.tolist() if not is_missing(value)]
        declared = str(getattr(X[name], "dtype", "")) == "category"
        if not declared and all(isinstance(value, Real) for value in values):
            continue
        kinds = {str if isinstance(value, str) else type(value) for value in values}
        if len(kinds) > 1 and str in kinds:
            names = sorted(kind.__name__ for kind in kinds)
            raise ValueError(
                f"column {name!r}: expected categories of one type, got a mixture of {' and '.join(names)}"
            )
        found[str(name)] = np.array(sorted(set(values)), dtype=object)
    return found


def as_codes(X: Any, categories: Mapping[str, np.ndarray], gaps: bool) -> tuple[Any, list[str]]:
    """The frame with codes instead of categories, and which columns had a category that is not among them.

    A missing category is NaN (``gaps``), or a category of its own.
    """
    if not categories:
        return X, []
    if not is_frame(X):
        raise ValueError(
            f"expected a data frame with the columns of fit, among them {list(categories)} with categories; got "
            f"{type(X).__name__}"
        )
    absent = [name for name in categories if name not in list(X.columns)]
    if absent:
        raise ValueError(f"expected a column named {absent[0]!r}, as in fit; got {[str(c) for c in X.columns]}")
    columns, strange = {}, []
    for name in X.columns:
        if str(name) not in categories:
            columns[name] = np.asarray(X[name], dtype=float)
            continue
        known = {value: code for code, value in enumerate(categories[str(name)].tolist())}
        nothing = np.nan if gaps else float(len(known))
        values = np.asarray(X[name]).tolist()
        codes = np.array([nothing if is_missing(value) else known.get(value, UNKNOWN) for value in values], float)
        if np.any(codes == UNKNOWN):
            strange.append(str(name))
        columns[name] = codes
    return type(X)(columns), strange

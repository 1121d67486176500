"""Inputs of a recorded graph: a matrix of numbers, or one input for each column of a data frame or table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...estimators._inputs import UNKNOWN, Inputs, known_categories
from . import namespace as xp
from .graph import ExportError, Graph, RecordedArray

#: One column (n, 1) of numbers or text, by its name.
Columns = dict[str, RecordedArray]


def matrix(graph: Graph, n_features: int, dtype: Any) -> RecordedArray:
    """The input "X" (n, n_features), in double precision from here on."""
    return xp.astype(graph.input("X", dtype, n_features), np.float64)


def frame_columns(graph: Graph, inputs: Inputs, dtype: Any) -> Columns:
    """One input for each column of the data frame that an estimator was fitted to."""
    found = {}
    for name in inputs.frame_columns:
        if name in inputs.encoders:
            found[str(name)] = _category(graph, str(name), known_categories(inputs.encoders[name]), dtype)
        else:
            found[str(name)] = xp.astype(graph.input(str(name), dtype, 1), np.float64)
    return found


def table_columns(graph: Graph, schema: Any, imputer: Any, dtype: Any) -> Columns:
    """One input for each column that a table model uses, and missing numbers filled as its imputer does."""
    raw = {}
    for column in schema.used:
        number = column.kind == "number"
        raw[column.name] = graph.input(column.name, dtype if number else np.str_, 1)
    numbers = {name: xp.astype(part, np.float64) for name, part in raw.items() if name in imputer.medians_}
    missing = {name: xp.isnan(part) for name, part in numbers.items()}
    filled = {name: xp.where(missing[name], imputer.medians_[name], part) for name, part in numbers.items()}
    for name, indicator in imputer.indicators_.items():
        filled[indicator] = xp.astype(missing[name], np.float64)
    if imputer.views is not None:
        filled |= _without_views(imputer.views, raw, missing, filled)
    return {**raw, **filled}


def _without_views(views: Mapping[str, Any], raw: Columns, missing: Columns, filled: Columns) -> Columns:
    """Rows keep missing values in a view of which they have nothing, unless they have no values at all."""
    gaps = {name: missing[name] if name in missing else raw[name].equal("") for name in raw}
    absent = {}
    for view, columns in views.items():
        each = [xp.astype(gaps[name], np.float64) for name in columns]
        absent[view] = xp.sum(xp.concat(each, axis=1), axis=1, keepdims=True) > len(each) - 0.5
    of_all = xp.sum(xp.concat([xp.astype(part, np.float64) for part in absent.values()], axis=1), axis=1, keepdims=True)
    has_values = of_all < len(absent) - 0.5
    return {
        name: xp.where(absent[view] & has_values, np.nan, filled[name])
        for view, columns in views.items()
        for name in columns
        if name in filled
    }


def features(columns: Columns, inputs: Inputs) -> RecordedArray:
    """The rows (n, d) as the estimator has them, codes in place of categories."""
    names = list(inputs.frame_columns) or list(inputs.names if inputs.names is not None else columns)
    parts = []
    for name in names:
        part = columns[str(name)]
        parts.append(_codes(part, inputs.encoders[name], inputs.takes_missing) if name in inputs.encoders else part)
    return xp.concat(parts, axis=1)


def _category(graph: Graph, name: str, known: np.ndarray, dtype: Any) -> RecordedArray:
    if all(isinstance(value, str) for value in known):
        return graph.input(name, np.str_, 1)
    if all(isinstance(value, (bool, np.bool_)) for value in known):
        return xp.astype(graph.input(name, bool, 1), np.float64)
    try:
        known.astype(float)
    except (TypeError, ValueError):
        kind = type(known[0]).__name__
        raise ExportError(f"column {name!r}: expected categories of text or numbers, got {kind}") from None
    return xp.astype(graph.input(name, dtype, 1), np.float64)


def _codes(cells: RecordedArray, encoder: Any, missing_is_nan: bool) -> RecordedArray:
    """The places (n, 1) of categories among those of training; empty text and NaN are missing."""
    known, text = known_categories(encoder), cells.dtype.kind == "U"
    values = np.array([str(value) if text else float(value) for value in known])
    same = xp.astype(cells.equal(values[None, :] if text else values.astype(float)[None, :]), np.float64)
    codes = same @ (np.arange(len(known)) - UNKNOWN).astype(float)[:, None] + float(UNKNOWN)
    if text and "" in values:
        return codes
    was_missing = len(known) < len(encoder.categories_[0])
    absent = np.nan if missing_is_nan else float(len(known)) if was_missing else float(UNKNOWN)
    return xp.where(cells.equal("") if text else xp.isnan(cells), absent, codes)

"""Inputs of a recorded graph: a matrix of numbers, or one input for each column of a data frame or table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...estimators._frames import UNKNOWN, known_categories
from ...estimators._inputs import Inputs
from . import namespace as xp
from .graph import ExportError, Graph, RecordedArray

#: One column (n, 1) of numbers or text, by its name.
Columns = dict[str, RecordedArray]


def matrix(graph: Graph, n_columns: int, dtype: Any) -> RecordedArray:
    """The input "X" (n, n_columns), in double precision from here on."""
    return xp.astype(graph.input("X", dtype, n_columns), np.float64)


def frame_columns(graph: Graph, inputs: Inputs, dtype: Any) -> Columns:
    """One input for each column of the data frame that an estimator was fitted to; days since 1970 for dates."""
    _refuse_text(inputs)
    found = {}
    for name in inputs.frame.names:
        if name in inputs.encoders:
            found[str(name)] = _category(graph, str(name), known_categories(inputs.encoders[name]), dtype)
        else:
            found[str(name)] = xp.astype(graph.input(str(name), dtype, 1), np.float64)
    return found


def table_columns(graph: Graph, model: Any, dtype: Any) -> Columns:
    """One input for each column that a table model uses; missing values inside views are filled as it fills them."""
    schema, imputer = model.schema_, model.imputer_
    _refuse_text(model.estimator_._inputs)
    ordered = {column.name for column in schema.used if column.ordered}
    raw = {name: graph.input(name, dtype if name in ordered else np.str_, 1) for name in (c.name for c in schema.used)}
    numbers = {name: xp.astype(part, np.float64) for name, part in raw.items() if name in ordered}
    if not imputer.views:
        return {**raw, **numbers}
    missing = {name: xp.isnan(part) for name, part in numbers.items()}
    medians = {name: _days(value) for name, value in imputer.medians_.items()}
    filled = {name: xp.where(missing[name], medians[name], part) for name, part in numbers.items()}
    return {**raw, **filled, **_without_views(imputer.views, raw, missing, filled)}


def _days(value: Any) -> float:
    """A number, or a date as days since 1970."""
    return value.timestamp() / 86400.0 if hasattr(value, "timestamp") else float(value)


def _refuse_text(inputs: Inputs) -> None:
    if inputs.frame.words:
        name = next(iter(inputs.frame.words))
        raise ExportError(f"column {name!r}: expected numbers, dates or categories, got text, of which words count")


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
    """The rows (n, n_columns) as the estimator checks them: codes in place of categories, days since the first date."""
    parts = []
    for name in inputs.frame.names or columns:
        part = columns[str(name)]
        if name in inputs.encoders:
            part = _codes(part, inputs.encoders[name], inputs.takes_missing)
        elif name in inputs.frame.times:
            part = part - inputs.frame.times[name].origin
        parts.append(part)
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

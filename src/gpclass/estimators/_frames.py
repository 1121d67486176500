"""Columns of a data frame as numbers: categories, dates and text, each learned once in fit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder

from ._dates import Times, holds_times
from ._labels import is_missing
from ._words import Words, words_of

#: The code of a category that did not occur in fit.
UNKNOWN = -1
#: 12 kg, 35%, $3, <0.5, 1,5, 1 000, 8,600.0; not 1st or 2nd.
_WITH_UNIT = re.compile(
    r"[<>~]?[+-]?[$€£]?\s?(\d+([.,]\d+)?|\d{1,3}([,'\s]\d{3})+(\.\d+)?)"
    r"\s?(?!(st|nd|rd|th)$)([%°$€£]|[^\W\d_]{1,5})?"
)
_PLAIN = re.compile(r"[+-]?\d+(\.\d+)?")
_LEAST_WITH_UNIT = 3


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a data frame that do not hold numbers, and how they become some."""

    names: tuple[Any, ...] = ()
    #: by name: an encoder of categories, what is known of dates, frequent words of text
    categories: Mapping[Any, OrdinalEncoder] = field(default_factory=dict)
    times: Mapping[Any, Times] = field(default_factory=dict)
    words: Mapping[Any, Words] = field(default_factory=dict)

    @classmethod
    def fit(cls, X: Any, with_words: bool = False) -> FrameColumns:
        """Dates, text of repeated words (``with_words``) and categories among the columns of X."""
        if not is_frame(X):
            return cls()
        refuse_repeated_columns(X)
        categories: dict[Any, OrdinalEncoder] = {}
        times: dict[Any, Times] = {}
        words: dict[Any, Words] = {}
        for name in X.columns:
            column, kind = np.asarray(X[name]), str(getattr(X[name], "dtype", "")).lower()
            category = kind.startswith(("category", "categorical", "enum"))
            if column.dtype.kind in "biuf" and not category:
                continue
            values = [value for value in column.tolist() if not is_missing(value)]
            if holds_times(X[name], values):
                times[name] = Times.fit(name, X[name])
                continue
            if not category and all(isinstance(value, (Real, Decimal)) for value in values):
                continue
            text = Words.fit(values) if with_words and not category else None
            if text is not None:
                words[name] = text
                continue
            if not category:
                _refuse_units(name, values)
            _refuse_mixed_categories(name, values)
            encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=UNKNOWN)
            categories[name] = encoder.fit(_cells(column))
        return cls(tuple(X.columns) if categories or times or words else (), categories, times, words)

    def places(self, of: Mapping[Any, Any]) -> dict[int, Any]:
        """A mapping of names, with the numbers of columns instead."""
        return {j: of[name] for j, name in enumerate(self.names) if name in of}

    def texts(self, X: Any) -> dict[int, list[frozenset[str]]]:
        """The sets of words of the columns that hold text."""
        return {j: [words_of(cell) for cell in np.asarray(X[self.names[j]]).tolist()] for j in self.places(self.words)}

    def transform(self, X: Any, missing_is_nan: bool) -> tuple[Any, list[Any]]:
        """The frame as numbers, and which columns have unknown categories: codes of categories, days since the first
        date, numbers of words.

        A missing category is NaN, or (``missing_is_nan=False``) a category of its own if some were missing in fit.
        """
        if not self.names:
            return X, []
        special = {**self.categories, **self.times, **self.words}
        if not is_frame(X):
            kinds = "categories" if self.categories else "dates" if self.times else "text"
            raise ValueError(
                f"expected a data frame with the columns of fit, among them {list(special)} with {kinds}; got "
                f"{type(X).__name__}"
            )
        refuse_repeated_columns(X)
        names = list(X.columns)
        absent = [name for name in special if name not in names]
        if absent:
            raise ValueError(f"expected a column named {absent[0]!r}, as in fit; got {names}")
        coded, unknown = {}, []
        for name in names:
            if name in self.times:
                coded[name] = self.times[name].transform(name, X[name])
            elif name in self.words:
                coded[name] = Words.lengths(np.asarray(X[name]).tolist())
            elif name in self.categories:
                coded[name] = _codes(X[name], self.categories[name], missing_is_nan)
                if np.any(coded[name] == UNKNOWN):
                    unknown.append(name)
            else:
                coded[name] = numbers(name, X[name])
        return type(X)(coded), unknown


def _codes(column: Any, encoder: OrdinalEncoder, missing_is_nan: bool) -> np.ndarray:
    cells = _cells(column)
    known = known_categories(encoder)
    some_missing = len(known) < len(encoder.categories_[0])
    absent_code = np.nan if missing_is_nan else float(len(known)) if some_missing else UNKNOWN
    hashable = np.array([_is_hashable(value) for value in cells[:, 0]], bool)
    codes = np.full(len(cells), float(UNKNOWN))
    if np.any(hashable):
        codes[hashable] = encoder.transform(cells[hashable])[:, 0]
    codes[np.array([value is None for value in cells[:, 0]], bool)] = absent_code
    return codes


def _refuse_units(name: Any, values: list[Any]) -> None:
    """Refuse numbers that are written as text with a unit: as categories they would lose their order."""
    distinct = {value.strip() for value in values if isinstance(value, str)}
    found = sorted(value for value in distinct if with_unit(value))
    if len(found) >= _LEAST_WITH_UNIT and 2 * len(found) > len(distinct):
        raise ValueError(
            f"column {name!r}: expected numbers or categories, got numbers written with a unit or a comma, such as "
            f"{found[0]!r}; make numbers of them, or give the column the data type 'category' if they are categories"
        )


def with_unit(text: str) -> bool:
    """Whether a text is a number with a unit, a decimal comma, or groups of digits."""
    return _WITH_UNIT.fullmatch(text) is not None and _PLAIN.fullmatch(text) is None


def refuse_repeated_columns(X: Any) -> None:
    """Refuse a data frame with columns of the same name."""
    repeated = [name for name, count in Counter(X.columns).items() if count > 1]
    if repeated:
        raise ValueError(f"expected columns with different names, got {repeated[0]!r} more than once")


def _refuse_mixed_categories(name: Any, values: list[Any]) -> None:
    kinds = {str if isinstance(value, str) else type(value) for value in values}
    names = sorted(kind.__name__ for kind in kinds)
    if len(kinds) > 1 and str in kinds:
        raise ValueError(f"column {name!r}: expected categories of one type, got a mixture of {' and '.join(names)}")
    try:
        sorted(set(values))
    except TypeError:
        raise ValueError(f"column {name!r}: expected text or other categories with an order, got {names[0]}") from None


def _cells(column: Any) -> np.ndarray:
    """A column (n, 1) of objects; None where a value is missing, or cannot be a category at all."""
    cells = np.empty((len(column), 1), dtype=object)
    cells[:, 0] = [None if is_missing(value) else value for value in np.asarray(column).tolist()]
    return cells


def known_categories(encoder: OrdinalEncoder) -> np.ndarray:
    """The categories of a column, without the missing value that may be among them."""
    found = [value for value in encoder.categories_[0].tolist() if value is not None]
    known = np.empty(len(found), dtype=object)
    known[:] = found
    return known


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def numbers(name: Any, column: Any) -> np.ndarray:
    try:
        return np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        values = [np.nan if is_missing(value) else value for value in np.asarray(column).tolist()]
        try:
            return np.array(values, dtype=float)
        except (TypeError, ValueError):
            wrong = next(value for value in values if not isinstance(value, (Real, Decimal)))
            raise ValueError(f"column {name!r}: expected numbers, as in fit, got {wrong!r}") from None

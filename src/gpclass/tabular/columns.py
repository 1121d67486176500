"""Kinds of the columns of a table, inferred from the training table, and groups of columns (views)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ..estimators._inputs import LARGEST
from .tables import DASHES, Table, TableError, listed

#: Names of columns.
Names = Collection[str]
#: A column with at least this share of numbers is numeric, and text in it is an error.
_MIN_NUMERIC_SHARE = 0.5
#: Text with more distinct values than this, fewer than five rows each, identifies rows; fewer suffice where the name of
#: the column is that of an id.
_MANY_VALUES, _ROWS_PER_VALUE = 50, 5
_MANY_IDS = 20
#: Short words only where they are the whole name: "pixel row" is not an id.
_ID_NAME = re.compile(r"(.*[_\s.-])?(id|ids|uuid|guid|rownum)|index|row|no|nr|key", re.IGNORECASE)
#: 35%, 1 000, 8,600.0 or 86.0 mg
_NUMBER_WITH_UNIT = re.compile(r"[<>~]?[+-]?[$€£]?\s?\d[\d.,'\s]*\s?([%°]|[^\W\d]{1,5})?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")


@dataclass(frozen=True)
class Column:
    """One column of the training table.

    ``kind`` is "number" or "category"; columns that are not used, for the reason ``why``, are "id", which identifies
    rows, or "left out"."""

    name: str
    kind: str
    n_missing: int
    why: str = ""
    #: a possible misunderstanding, for the notes
    doubt: str = ""
    median: float = 0.0
    low: float = 0.0
    high: float = 0.0
    #: categories with their numbers of rows, most frequent first
    counts: tuple[tuple[str, int], ...] = ()

    @property
    def used(self) -> bool:
        return self.kind in ("number", "category")

    def summary(self) -> str:
        """A short description of the values."""
        missing = f", {self.n_missing} missing" if self.n_missing else ""
        if self.kind == "number":
            return f"{self.low:g} to {self.high:g}, median {self.median:g}{missing}"
        if self.kind == "category":
            shown = ", ".join(f"{value} ({count})" for value, count in self.counts[:4])
            more = f" and {len(self.counts) - 4} more" if len(self.counts) > 4 else ""
            return f"{shown}{more}{missing}"
        return self.why


@dataclass(frozen=True)
class Schema:
    """The columns of the training table, without target and weights."""

    columns: tuple[Column, ...]

    @property
    def used(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.used)

    @classmethod
    def learn(
        cls, table: Table, *, without: Names = (), drop: Names = (), keep: Names = (), category: Names = ()
    ) -> Schema:
        """Infer the kinds. ``without`` are target and weights; ``drop``, ``keep`` and ``category`` override."""
        for name in (*drop, *keep, *category):
            table.column(name)
        found = [
            Column(name, "left out", cells.count(None), why="as requested")
            if name in drop
            else _infer(table, name, name in keep, name in category)
            for name, cells in table.columns.items()
            if name not in without
        ]
        if not any(column.used for column in found):
            reasons = "; ".join(f"{column.name!r} is {column.why}" for column in found) or "there are no other columns"
            raise TableError(f"expected a column to learn from in {table.path}, and there is none: {reasons}")
        return cls(tuple(found))

    def notes(self, drop: Collection[str] = ()) -> list[str]:
        """Columns that are not used, except those dropped on request, and doubts about others."""
        unused = [column for column in self.columns if not column.used and column.name not in drop]
        doubtful = [column for column in self.columns if column.used and column.doubt]
        notes = [f"column {column.name!r} is left out: {column.why}" for column in unused]
        return notes + [f"column {column.name!r}: {column.doubt}" for column in doubtful]

    def frame(self, table: Table, imputed: bool = True) -> tuple[Any, list[str]]:
        """The used columns as a data frame, NaN and None for missing values; and notes for the reader, on missing
        values too where training had none: ``imputed`` is whether medians will replace them."""
        import pandas as pd

        absent = [column.name for column in self.used if column.name not in table.columns]
        if absent:
            expected = f"expected the columns of the training table in {table.path}"
            are = "is" if len(absent) == 1 else "are"
            raise TableError(f"{expected}: {listed(absent)} {are} not there; it has {listed(list(table.columns))}")
        values: dict[str, np.ndarray] = {}
        notes = []
        for column in self.used:
            numeric = column.kind == "number"
            cells = table.columns[column.name]
            values[column.name] = numeric_values(table, column.name) if numeric else np.array(cells, dtype=object)
            if not numeric:
                known = {None, *(value for value, _ in column.counts)}
                unknown = [i for i, cell in enumerate(cells) if cell not in known]
                if unknown:
                    more = f", nor were those of {len(unknown) - 1} more rows" if len(unknown) > 1 else ""
                    where = table.where(column.name, unknown[0])
                    notes.append(f"{where}: category {cells[unknown[0]]!r} was not in the training table{more}")
            n_missing = int(pd.isna(values[column.name]).sum())
            if n_missing and not column.n_missing:
                by = f", replaced by {column.median:g}" if imputed and numeric else ""
                number = "a missing value" if n_missing == 1 else f"{n_missing} missing values"
                notes.append(f"{table.path}, column {column.name!r}: {number}{by}; training had none")
        return pd.DataFrame(values), notes


def numeric_values(table: Table, name: str) -> np.ndarray:
    """A column as floats, NaN for missing values and dashes; other text and too large numbers are refused."""
    cells = table.column(name)
    known: dict[str | None, float] = dict.fromkeys((None, *DASHES), np.nan)
    for cell in set(cells) - known.keys():
        value = table.parse(cell or "")
        known[cell] = np.inf if value is None else value
    values = np.array([known[cell] for cell in cells], dtype=float)
    wrong = np.flatnonzero(np.abs(values) > LARGEST)
    if len(wrong):
        expected = "a smaller number" if table.parse(cells[wrong[0]] or "") is not None else "a number"
        raise TableError(f"{table.where(name, wrong[0])}: expected {expected}, got {cells[wrong[0]]!r}")
    return values


def _infer(table: Table, name: str, keep: bool, category: bool) -> Column:
    cells = table.columns[name]
    # Dashes do not count: they may be missing values of any kind of column.
    known = [cell for cell in cells if cell is not None and cell not in DASHES]
    n_missing, counts = len(cells) - len(known), Counter(known)
    if not known:
        return Column(name, "left out", n_missing, "empty")
    if len(counts) == 1 and not n_missing:
        return Column(name, "left out", n_missing, f"{known[0]!r} in every row")
    n_numbers = sum(count for cell, count in counts.items() if table.parse(cell) is not None)
    if not category and n_numbers == len(known):
        return _infer_numeric(table, name, keep, n_missing, len(counts))
    if not category and n_numbers >= _MIN_NUMERIC_SHARE * len(known):
        row = next(i for i, cell in enumerate(cells) if cell in counts and table.parse(cell or "") is None)
        raise TableError(
            f"{table.where(name, row)}: expected a number, as in {n_numbers} of {len(known)} rows, got {cells[row]!r}; "
            f"leave the cell empty if it is missing, or use --category {name!r} if the numbers are codes"
        )
    with_unit = [cell for cell in counts if _NUMBER_WITH_UNIT.fullmatch(cell) and table.parse(cell) is None]
    mostly_with_unit = len(with_unit) > max(2, len(counts) / 2)
    if not (keep or category):
        if all(_is_date(cell) for cell in counts):
            why = "dates; convert them to numbers, such as days since, to use them"
            return Column(name, "left out", n_missing, why)
        many = len(counts) > _MANY_VALUES and len(counts) * _ROWS_PER_VALUE > len(known)
        if many or _identifies_groups(name, len(counts), len(known)) or len(counts) == len(known) >= 5:
            hint = f"write {with_unit[0]!r} as a number if it is one" if mostly_with_unit else "--keep uses it"
            why = f"text with {len(counts)} different values in {len(known)} rows; {hint}"
            return Column(name, "id", n_missing, why)
    doubt = ""
    if mostly_with_unit and not category:
        doubt = f"text such as {with_unit[0]!r} is taken for categories; if it is a number, write it as one"
    # In a text column a dash is a category.
    counts = Counter(cell for cell in cells if cell is not None)
    return Column(name, "category", cells.count(None), doubt=doubt, counts=tuple(counts.most_common()))


def _infer_numeric(table: Table, name: str, keep: bool, n_missing: int, n_distinct: int) -> Column:
    values = numeric_values(table, name)
    known = values[~np.isnan(values)]
    if not keep and _numbers_rows(name, known, n_missing):
        return Column(name, "id", n_missing, "a different integer in every row")
    if not keep and np.all(known == np.round(known)) and _identifies_groups(name, n_distinct, len(known)):
        why = f"ids, {n_distinct} different ones in {len(known)} rows; --keep uses them"
        return Column(name, "id", n_missing, why)
    low, high = float(known.min()), float(known.max())
    if low == high and not n_missing:  # 1 and 1.0, for example
        return Column(name, "left out", n_missing, f"{low:g} in every row")
    return Column(name, "number", n_missing, median=float(np.median(known)), low=low, high=high)


def _identifies_groups(name: str, n_values: int, n_rows: int) -> bool:
    """Whether a column with the name of an id has a few rows for each value, like patients with several visits."""
    return bool(_ID_NAME.fullmatch(name)) and n_values > _MANY_IDS and n_values * _ROWS_PER_VALUE > n_rows


def _numbers_rows(name: str, values: np.ndarray, n_missing: int) -> bool:
    """Whether the values only number the rows."""
    if n_missing or len(values) < 5 or len(np.unique(values)) < len(values) or np.any(values != np.round(values)):
        return False
    return bool(_ID_NAME.fullmatch(name)) or bool(np.all(np.diff(values) == 1.0))


def _is_date(cell: str) -> bool:
    if _DATE.fullmatch(cell):
        return True
    try:
        datetime.fromisoformat(cell)
    except ValueError:
        return False
    return len(cell) >= 8


def view_columns(views: Mapping[str, Collection[str]], schema: Schema) -> dict[str, list[str]]:
    """The columns of each view, by name or by patterns such as "fou_*"; x[1] is a name where a column is called so."""
    names = {column.name for column in schema.columns}

    def matches(name: str, pattern: str) -> bool:
        return name == pattern if pattern in names else fnmatchcase(name, pattern)

    found = {}
    for name, patterns in views.items():
        columns = [column for column in schema.used if any(matches(column.name, pattern) for pattern in patterns)]
        if not columns:
            raise TableError(f"view {name!r}: expected columns named like {listed(list(patterns))}, got none")
        if len({column.kind for column in columns}) > 1:
            raise TableError(f"view {name!r}: expected numeric or categorical columns, got both; make two views")
        found[name] = [column.name for column in columns]
    return found


def view_kernel(views: Mapping[str, list[str]], schema: Schema) -> Any:
    """A weighted sum over views, each with a kernel for its kind of columns."""
    from ..kernels import RBF, Categorical, View, WeightedSum

    kinds = {column.name: column.kind for column in schema.used}
    kernels = {}
    for name, columns in views.items():
        scale = float(np.sqrt(len(columns)))
        kernels[name] = View(RBF(scale) if kinds[columns[0]] == "number" else Categorical(scale), columns)
    try:
        return 100.0 * WeightedSum(kernels)
    except ValueError as error:
        raise TableError(str(error)) from None

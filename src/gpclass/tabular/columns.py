"""Kinds of the columns of a table, inferred from the training table, and groups of columns (views)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ..estimators._dates import parse_iso
from ..estimators._frames import with_unit
from ..estimators._inputs import LARGEST
from ..estimators._words import Words
from .tables import DASHES, Table, TableError, listed, suggestion

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
#: Dates that may be read in two ways.
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Column:
    """One column of the training table.

    ``kind`` is "number", "date", "category" or "text", of which the frequent words count; columns that are not used,
    for the reason ``why``, are "id", which identifies rows, or "left out". Of dates, ``median``, ``low`` and ``high``
    are days since 1970."""

    name: str
    kind: str
    n_missing: int
    why: str = ""
    median: float = 0.0
    low: float = 0.0
    high: float = 0.0
    #: categories with their numbers of rows, most frequent first
    counts: tuple[tuple[str, int], ...] = ()
    #: frequent words of text
    words: tuple[str, ...] = ()

    @property
    def used(self) -> bool:
        return self.kind in ("number", "date", "category", "text")

    @property
    def ordered(self) -> bool:
        return self.kind in ("number", "date")

    def shown(self, value: float) -> str:
        """A number of this column, or the date for its days since 1970."""
        if self.kind == "number":
            return f"{value:g}"
        return (_EPOCH + timedelta(days=value)).isoformat(" ", "seconds").removesuffix(" 00:00:00")

    def summary(self) -> str:
        """A short description of the values."""
        missing = f", {self.n_missing} missing" if self.n_missing else ""
        if self.ordered:
            return f"{self.shown(self.low)} to {self.shown(self.high)}, median {self.shown(self.median)}{missing}"
        if self.kind == "text":
            more = f" and {len(self.words) - 4} more" if len(self.words) > 4 else ""
            return f"text with the frequent words {listed(list(self.words[:4]))}{more}{missing}"
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
            raise TableError(f"expected a column to learn from in {table.path}, got none: {reasons}")
        return cls(tuple(found))

    def notes(self, drop: Collection[str] = ()) -> list[str]:
        """Columns that are not used, except those dropped on request."""
        unused = [column for column in self.columns if not column.used and column.name not in drop]
        return [f"column {column.name!r} is left out: {column.why}" for column in unused]

    def frame(self, table: Table, imputed: bool = True) -> tuple[Any, list[str]]:
        """The used columns as a data frame, NaN and None for missing values; and notes for the reader, on missing
        values too where training had none: ``imputed`` is whether medians will replace them."""
        import pandas as pd

        absent = [column.name for column in self.used if column.name not in table.columns]
        if absent:
            expected = f"expected the columns of the training table in {table.path}"
            are = "is" if len(absent) == 1 else "are"
            others = [name for name in table.columns if name not in {column.name for column in self.used}]
            found = f"it has {listed(list(table.columns))}{suggestion(absent[0], others)}"
            raise TableError(f"{expected}: {listed(absent)} {are} missing; {found}")
        values: dict[str, Any] = {}
        notes = []
        for column in self.used:
            cells = table.columns[column.name]
            values[column.name] = _values(table, column)
            if column.kind == "category":
                known = {None, *(value for value, _ in column.counts)}
                unknown = [i for i, cell in enumerate(cells) if cell not in known]
                if unknown:
                    more = f", nor were those of {len(unknown) - 1} more rows" if len(unknown) > 1 else ""
                    where = table.where(column.name, unknown[0])
                    notes.append(f"{where}: category {cells[unknown[0]]!r} was not in the training table{more}")
            n_missing = int(pd.isna(values[column.name]).sum())
            if n_missing and not column.n_missing:
                by = f", replaced by {column.shown(column.median)}" if imputed and column.ordered else ""
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


def date_values(table: Table, name: str) -> np.ndarray:
    """A column as times, NaT for missing values and dashes; the clock on the wall where there is a time zone."""
    values = np.full(len(table), np.datetime64("NaT"), "datetime64[us]")
    for row, cell in enumerate(table.column(name)):
        if cell is None or cell in DASHES:
            continue
        moment = parse_iso(cell)
        if moment is None:
            raise TableError(f"{table.where(name, row)}: expected a date such as 2024-01-31, got {cell!r}")
        values[row] = np.datetime64(moment.replace(tzinfo=None), "us")
    return values


def _values(table: Table, column: Column) -> Any:
    """The cells of a used column, for a data frame."""
    import pandas as pd

    if column.kind == "number":
        return numeric_values(table, column.name)
    if column.kind == "date":
        return date_values(table, column.name)
    cells = np.array(table.columns[column.name], dtype=object)
    # Estimators take other columns of strings for text, where words repeat, or for dates.
    return cells if column.kind == "text" else pd.Categorical(cells)


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
    if not category:
        n_dates = sum(count for cell, count in counts.items() if parse_iso(cell) is not None)
        if n_dates >= _MIN_NUMERIC_SHARE * len(known):
            return _infer_dates(table, name, n_missing)
        _refuse_units(table, name, counts)
    if not (keep or category):
        if all(_is_date(cell) for cell in counts):
            why = f"dates in another form than 2024-01-31; write {known[0]!r} so to use them"
            return Column(name, "left out", n_missing, why)
        words = None if _ID_NAME.fullmatch(name) else Words.fit(known)
        if words is not None:
            return Column(name, "text", n_missing, words=words.words)
        many = len(counts) > _MANY_VALUES and len(counts) * _ROWS_PER_VALUE > len(known)
        if many or _identifies_groups(name, len(counts), len(known)) or len(counts) == len(known) >= 5:
            why = f"text with {len(counts)} different values in {len(known)} rows; --keep uses it"
            return Column(name, "id", n_missing, why)
    # In a text column a dash is a category.
    counts = Counter(cell for cell in cells if cell is not None)
    return Column(name, "category", cells.count(None), counts=tuple(counts.most_common()))


def _refuse_units(table: Table, name: str, counts: Counter) -> None:
    """Refuse numbers that are written with units: as categories they would lose their order."""
    found = [cell for cell in counts if table.parse(cell) is None and with_unit(cell)]
    if len(found) > max(2, len(counts) / 2):
        row = table.columns[name].index(found[0])
        raise TableError(
            f"{table.where(name, row)}: expected numbers without units, got {found[0]!r}; write plain numbers, "
            f"or use --category {name!r} if they are categories, or --drop {name!r}"
        )


def _infer_dates(table: Table, name: str, n_missing: int) -> Column:
    values = date_values(table, name)
    days = (values[~np.isnat(values)] - np.datetime64(_EPOCH)) / np.timedelta64(1, "D")
    return Column(name, "date", n_missing, median=float(np.median(days)), low=float(days.min()), high=float(days.max()))


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
    return _DATE.fullmatch(cell) is not None


def view_columns(views: Mapping[str, Collection[str]], schema: Schema) -> dict[str, list[str]]:
    """The columns of each view, by name or by patterns such as "fou_*"; x[1] is a name where a column is called so."""
    names = {column.name for column in schema.columns}

    def matches(name: str, pattern: str) -> bool:
        return name == pattern if pattern in names else fnmatchcase(name, pattern)

    found = {}
    for name, patterns in views.items():
        columns = [
            column
            for column in schema.used
            if column.kind != "text" and any(matches(column.name, pattern) for pattern in patterns)
        ]
        if not columns:
            raise TableError(f"view {name!r}: expected columns named like {listed(list(patterns))}, got none")
        if len({column.ordered for column in columns}) > 1:
            raise TableError(f"view {name!r}: expected numeric or categorical columns, got both; make two views")
        found[name] = [column.name for column in columns]
    return found


def view_kernel(views: Mapping[str, list[str]], schema: Schema) -> Any:
    """A weighted sum over views, each with a kernel for its kind of columns."""
    from ..kernels import RBF, Categorical, View, WeightedSum

    ordered = {column.name: column.ordered for column in schema.used}
    kernels = {}
    for name, columns in views.items():
        scale = float(np.sqrt(len(columns)))
        kernels[name] = View(RBF(scale) if ordered[columns[0]] else Categorical(scale), columns)
    try:
        return 100.0 * WeightedSum(kernels)
    except ValueError as error:
        raise TableError(str(error)) from None

"""What the columns of a table are: numbers, categories, or nothing to learn from. Found once, held to ever after."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from ..estimators._base import LARGEST
from .reading import DASHES, Table, TableError, listed

#: A column of which at least this share are numbers is one of numbers, and text in it is a mistake.
_MOSTLY_NUMBERS = 0.5
#: Text with more different values than this, fewer than five rows each, names rows and does not group them. Where the
#: name of the column says so, fewer will do.
_MANY_VALUES, _ROWS_OF_EACH = 50, 5
_MANY_IDS = 20
#: The row of a pixel is no id: short words count where they are the whole name.
_NAMES_OF_IDS = re.compile(r"(.*[_\s.-])?(id|ids|uuid|guid|rownum)|index|row|no|nr|key", re.IGNORECASE)
#: 35%, 1 000, 8,600.0 or 86.0 mg
_DISGUISED = re.compile(r"[<>~]?[+-]?[$€£]?\s?\d[\d.,'\s]*\s?([%°]|[^\W\d]{1,5})?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")


@dataclass(frozen=True)
class Column:
    """One column of the training table.

    ``kind`` is "number" or "category"; or, for the reason ``why``, it is not learned from: "id", which names rows, or
    "left out"."""

    name: str
    kind: str
    gaps: int
    why: str = ""
    #: what a reader should look at
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
        """In a few words."""
        gaps = f", {self.gaps} gaps" if self.gaps else ""
        if self.kind == "number":
            return f"{self.low:g} to {self.high:g}, median {self.median:g}{gaps}"
        if self.kind == "category":
            shown = ", ".join(f"{value} ({count})" for value, count in self.counts[:4])
            more = f" and {len(self.counts) - 4} more" if len(self.counts) > 4 else ""
            return f"{shown}{more}{gaps}"
        return self.why


@dataclass(frozen=True)
class Schema:
    """The columns of the training table, in their order, without target and weights."""

    columns: tuple[Column, ...]

    @property
    def used(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.used)

    @classmethod
    def learn(
        cls,
        table: Table,
        *,
        without: Collection[str] = (),
        drop: Collection[str] = (),
        keep: Collection[str] = (),
        category: Collection[str] = (),
    ) -> Schema:
        """What each column is. ``without`` are target and weights; ``drop``, ``keep`` and ``category`` overrule."""
        for name in (*drop, *keep, *category):
            table.column(name)
        found = []
        for name in table.columns:
            if name in without:
                continue
            if name in drop:
                gaps = table.columns[name].count(None)
                found.append(Column(name, "left out", gaps, why="by your wish"))
            else:
                found.append(_column(table, name, name in keep, name in category))
        if not any(column.used for column in found):
            reasons = "; ".join(f"{column.name!r} is {column.why}" for column in found) or "there are no other columns"
            raise TableError(f"expected a column to learn from in {table.path}, and there is none: {reasons}")
        return cls(tuple(found))

    def frame(self, table: Table, filled: bool = True) -> tuple[Any, list[str]]:
        """The columns used as a data frame, NaN and None where cells are missing; and what a reader should know:
        ``filled`` says whether gaps will be filled by medians, whatever other columns hold."""
        import pandas as pd

        absent = [column.name for column in self.used if column.name not in table.columns]
        if absent:
            raise TableError(
                f"expected the columns of the training table in {table.path}: {listed(absent)} "
                f"{'is' if len(absent) == 1 else 'are'} not there; it has {listed(list(table.columns))}"
            )
        made: dict[str, Any] = {}
        notes = []
        for column in self.used:
            if column.kind == "number":
                made[column.name] = numbers(table, column.name)
                n_gaps = int(np.isnan(made[column.name]).sum())
            else:
                cells = table.columns[column.name]
                made[column.name] = np.array(cells, dtype=object)
                n_gaps = cells.count(None)
                known = {value for value, _ in column.counts}
                strange = [i for i, cell in enumerate(cells) if cell is not None and cell not in known]
                if strange:
                    more = f", nor were those of {len(strange) - 1} more rows" if len(strange) > 1 else ""
                    place = table.where(column.name, strange[0])
                    notes.append(f"{place}: {cells[strange[0]]!r} was not there in training{more}")
            if n_gaps and not column.gaps:
                by = f", filled by {column.median:g}" if filled and column.kind == "number" else ""
                gaps = "a gap" if n_gaps == 1 else f"{n_gaps} gaps"
                notes.append(f"{table.path}, column {column.name!r}: {gaps}{by}; training had none")
        return pd.DataFrame(made), notes


def numbers(table: Table, name: str) -> np.ndarray:
    """A column as floats, NaN where a cell is missing or a dash; what is no finite number is refused."""
    cells = table.column(name)
    known: dict[str | None, float] = dict.fromkeys((None, *DASHES), np.nan)
    for cell in set(cells) - known.keys():
        value = table.parse(cell)  # type: ignore[arg-type]
        known[cell] = np.inf if value is None else value
    values = np.array([known[cell] for cell in cells], dtype=float)
    wrong = np.flatnonzero(np.abs(values) > LARGEST)
    if len(wrong):
        kind = "a smaller number" if table.parse(cells[wrong[0]] or "") is not None else "a number"
        raise TableError(f"{table.where(name, wrong[0])}: expected {kind}, got {cells[wrong[0]]!r}")
    return values


def _column(table: Table, name: str, keep: bool, category: bool) -> Column:
    cells = table.columns[name]
    # What the column is, the other cells tell: a dash would make text of numbers, dates or names of rows.
    there = [cell for cell in cells if cell is not None and cell not in DASHES]
    gaps = len(cells) - len(there)
    counts = Counter(there)

    def left_out(why: str, kind: str = "left out") -> Column:
        return Column(name, kind, gaps, why)

    if not there:
        return left_out("empty")
    if len(counts) == 1 and not gaps:
        return left_out(f"{there[0]!r} in every row")
    n_numbers = sum(count for cell, count in counts.items() if table.parse(cell) is not None)
    if not category and n_numbers == len(there):
        values = numbers(table, name)
        known = values[~np.isnan(values)]
        if not keep and _counts_rows(name, known, gaps):
            return left_out("a number of its own for every row", "id")
        if not keep and np.all(known == np.round(known)) and _names_groups(name, len(counts), len(there)):
            return left_out(f"names of rows, {len(counts)} different ones in {len(there)} rows; --keep uses them", "id")
        low, high = float(known.min()), float(known.max())
        if low == high and not gaps:  # 1 and 1.0, say
            return left_out(f"{low:g} in every row")
        return Column(name, "number", gaps, median=float(np.median(known)), low=low, high=high)
    if not category and n_numbers >= _MOSTLY_NUMBERS * len(there):
        row = next(i for i, cell in enumerate(cells) if cell in counts and table.parse(cell or "") is None)
        raise TableError(
            f"{table.where(name, row)}: expected a number, as in {n_numbers} of {len(there)} rows, got {cells[row]!r}; "
            f"leave the cell empty if it is missing, or say --category {name!r} if numbers are codes there"
        )
    disguised = [cell for cell in counts if _DISGUISED.fullmatch(cell) and table.parse(cell) is None]
    looks = len(disguised) > max(2, len(counts) / 2)
    if not (keep or category):
        if all(_is_date(cell) for cell in counts):
            return left_out("dates; make numbers of them, such as days since, to use them")
        several = len(counts) > _MANY_VALUES and len(counts) * _ROWS_OF_EACH > len(there)
        if several or _names_groups(name, len(counts), len(there)) or len(counts) == len(there) >= 5:
            told = f"text with {len(counts)} different values in {len(there)} rows"
            hint = f"write {disguised[0]!r} as a number if it is one" if looks else "--keep uses it"
            return left_out(f"{told}; {hint}", "id")
    doubt = (
        f"text such as {disguised[0]!r} is taken for categories; if it is a number, write it as one" if looks else ""
    )
    # Among text a dash is a value like any other.
    counts = Counter(cell for cell in cells if cell is not None)
    doubt = "" if category else doubt
    return Column(name, "category", cells.count(None), doubt=doubt, counts=tuple(counts.most_common()))


def _names_groups(name: str, n_values: int, n_rows: int) -> bool:
    """Whether a column that is called an id has a few rows of each: patients with their visits, say."""
    return bool(_NAMES_OF_IDS.fullmatch(name)) and n_values > _MANY_IDS and n_values * _ROWS_OF_EACH > n_rows


def _counts_rows(name: str, values: np.ndarray, gaps: int) -> bool:
    """Whether numbers only number the rows."""
    if gaps or len(values) < 5 or len(np.unique(values)) < len(values) or np.any(values != np.round(values)):
        return False
    return bool(_NAMES_OF_IDS.fullmatch(name)) or bool(np.all(np.diff(values) == 1.0))


def _is_date(cell: str) -> bool:
    if _DATE.fullmatch(cell):
        return True
    try:
        datetime.fromisoformat(cell)
    except ValueError:
        return False
    return len(cell) >= 8

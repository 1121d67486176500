"""Tables as columns of text, read from CSV, TSV and Parquet files. Damaged files are refused, with the line number."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from io import StringIO
from itertools import islice
from math import floor, log10
from pathlib import Path
from typing import Any

DELIMITERS = (",", ";", "\t", "|")
#: Text of a missing value, in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?", "<na>"})
#: Missing values in numeric columns; in a text column a dash may be a value, like minus beside plus.
DASHES = frozenset({"-", "--"})
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WITH_POINT, _WITH_COMMA = re.compile(r"[+-]?\d*\.\d+", re.ASCII), re.compile(r"[+-]?\d+,\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
#: A quoted cell, which may hold line ends.
_QUOTED = re.compile(r'(?:(?<=[,;\t|])|^) *"(?:[^"]|"")*"')
_FIRST_LINE = re.compile(rf"(?:{_QUOTED.pattern}|[^\n])*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: Signatures of other file types.
_SIGNATURES = {
    b"PK\x03\x04": "an Excel or zip file; save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel file; save the sheet as CSV",
    b"\x1f\x8b": "a compressed file; unpack it first",
    b"%PDF": "a PDF file",
    b"gpclass model\n": "a model of gpclass",
}
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class TableError(ValueError):
    """A table that cannot be used. The message is one line: what was expected, what came, and where."""


@dataclass(frozen=True)
class Table:
    """Columns of cells as text, None where a value is missing; ``positions`` are the line or row numbers."""

    path: str
    columns: dict[str, list[str | None]]
    positions: list[int]
    #: "line" in a text file, "row" in others
    unit: str = "line"
    #: whether 2,5 may stand for 2.5
    decimal_comma: bool = False
    #: warnings for the reader
    notes: list[str] = field(default_factory=list)
    #: whether text and missing values were distinct, as in data frames
    typed: bool = False
    #: text such as "NA" of missing cells, by column and row; in a target it may be a label
    missing_text: dict[str, dict[int, str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.positions)

    def column(self, name: str) -> list[str | None]:
        if name not in self.columns:
            raise TableError(f"expected a column named {name!r} in {self.path}, {closest(name, list(self.columns))}")
        return self.columns[name]

    def parse(self, cell: str) -> float | None:
        """The number in a cell, or None."""
        cell = cell.replace("\u2212", "-")  # typographic minus
        if self.decimal_comma and "." not in cell:
            cell = cell.replace(",", ".", 1)
        return float(cell) if _NUMBER.fullmatch(cell) else None

    def where(self, name: str, row: int) -> str:
        """The location of a cell, for messages."""
        return f"{self.path}, {self.unit} {self.positions[row]}, column {name!r}"

    def subset(self, rows: list[int]) -> Table:
        cells = {name: [column[i] for i in rows] for name, column in self.columns.items()}
        positions = [self.positions[i] for i in rows]
        return Table(self.path, cells, positions, self.unit, self.decimal_comma, typed=self.typed)


def closest(name: str, names: list[str]) -> str:
    """The existing names, and the one that was probably meant."""
    return f"which has {listed(names)}{suggestion(name, names)}"


def suggestion(name: str, names: list[str]) -> str:
    """The name that was probably meant, if any is like it."""
    lower = {known.lower(): known for known in names}
    near = get_close_matches(name.lower(), lower, 1, 0.5) or [known for known in lower if name.lower() in known]
    return f"; did you mean {lower[near[0]]!r}?" if near else ""


def listed(names: list[str], most: int = 8) -> str:
    """The first names, separated by commas."""
    shown = ", ".join(repr(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def read_table(path: str | Path, encoding: str | None = None) -> Table:
    """Read a CSV or TSV file (delimited by commas, semicolons, tabs or bars, names in the first line) or Parquet."""
    path = Path(path)
    if path.is_dir():
        raise TableError(f"expected a table: {path} is a folder")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise TableError(f"File not found: {path}") from None
    except OSError as error:
        raise TableError(f"Cannot read {path}: {error.strerror}") from None
    if content[:4] == b"PAR1":
        return _parquet(path)
    other = next((kind for start, kind in _SIGNATURES.items() if content.startswith(start)), None)
    if other:
        raise TableError(f"expected a CSV, TSV or Parquet file: {path} is {other}")
    return _parse(path, _decode(path, content, encoding))


def _decode(path: Path, content: bytes, encoding: str | None) -> str:
    mark = next((name for start, name in _BYTE_ORDER_MARKS.items() if content.startswith(start)), None)
    chosen = encoding or mark or "utf-8"
    try:
        text = content.decode(chosen).removeprefix("\ufeff")
    except LookupError:
        raise TableError(f"expected a text encoding such as utf-8 or cp1252, got {encoding!r}") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        hint = "save it as UTF-8" if encoding else "save it as UTF-8, or name its encoding (such as --encoding cp1252)"
        raise TableError(f"{path}, line {line}: expected {chosen} text, got other bytes; {hint}") from None
    control = _CONTROL.search(text)
    if control:
        line = text[: control.start()].count("\n") + 1
        raise TableError(f"{path}, line {line}: expected text, got the control character {control[0]!r}")
    if not text.strip():
        raise TableError(f"expected a table: {path} is empty")
    return text


def _parse(path: Path, text: str) -> Table:
    delimiter = _delimiter(path, text)
    rows = _rows(path, text, delimiter)
    _, header = next(rows)
    names, first = _names(path, header)
    positions, cells = [], []
    for line, row in rows:
        if len(row) != len(names):
            raise TableError(f"{path}, line {line}: expected {len(names)} cells, as the first line has, got {len(row)}")
        positions.append(line)
        cells.append(row)
    if not cells:
        raise TableError(f"{path}: expected rows below the column names, got none")
    texts = dict(zip(names, zip(*cells, strict=True), strict=True))
    columns = {name: [None if cell.lower() in MISSING else cell for cell in cells] for name, cells in texts.items()}
    for name in [name for name in names if name.startswith(_UNNAMED)]:
        if {*columns.pop(name)} - {None, *DASHES} and name != first:
            raise TableError(f"{path}, line 1: expected a name for every column, got none for {name[len(_UNNAMED) :]}")
    notes = []
    if not text.endswith(("\n", "\r")):
        notes.append(f"{path}: the last line has no line break; the file may be truncated")
    if first is not None:
        notes.append(f"{path}: the first column has no name and is treated as row names")
    if not columns:
        raise TableError(f"{path}, line 1: expected column names, got none")
    table = Table(str(path), columns, positions, notes=notes, missing_text=_missing_text(columns, texts))
    return replace(table, decimal_comma=_has_decimal_comma(table)) if delimiter == ";" else table


def _missing_text(
    columns: Mapping[str, Sequence[str | None]], values: Mapping[str, Sequence[Any]]
) -> dict[str, dict[int, str]]:
    """The text of missing cells that are not empty, by column and row."""
    found: dict[str, dict[int, str]] = {}
    for name, cells in columns.items():
        for i, (cell, value) in enumerate(zip(cells, values[name], strict=True)):
            if cell is None and isinstance(value, str) and value.strip():
                found.setdefault(name, {})[i] = value.strip()
    return found


def _has_decimal_comma(table: Table) -> bool:
    """Whether 2,5 stands for 2.5 in a file with semicolons; ambiguous numbers are refused."""
    points = commas = None
    for name, cells in table.columns.items():
        with_comma = [i for i, cell in enumerate(cells) if cell is not None and _WITH_COMMA.fullmatch(cell)]
        with_point = next((i for i, cell in enumerate(cells) if cell is not None and _WITH_POINT.fullmatch(cell)), None)
        points = points or (None if with_point is None else (name, with_point))
        if not with_comma:
            continue
        commas = commas or (name, with_comma[0])
        integers = any(cell is not None and cell.lstrip("+-").isdigit() for cell in cells)
        if integers and all(_THOUSANDS.fullmatch(cells[i] or "") for i in with_comma):
            value = str(cells[with_comma[0]])
            got = f"{value!r} may be {value.replace(',', '')} or {value.replace(',', '.')}; write it without the comma"
            raise TableError(f"{table.where(name, with_comma[0])}: expected an unambiguous number, and {got}")
    if points and commas:
        both = " and ".join(repr(table.columns[name][row]) for name, row in (commas, points))
        raise TableError(f"{table.where(*commas)}: expected one decimal mark in the whole file, got {both}")
    return commas is not None


_UNNAMED = "\x00column "


def _names(path: Path, header: list[str]) -> tuple[list[str], str | None]:
    """Names of the columns, and the placeholder of an unnamed first column, which holds row names."""
    names = [name or f"{_UNNAMED}{number}" for number, name in enumerate(header, start=1)]
    _check_unique(names, f"{path}, line 1")
    given = [name for name in header if name]
    if given and all(_NUMBER.fullmatch(name) or name.lower() in MISSING | DASHES for name in given):
        raise TableError(f"{path}, line 1: expected column names, got numbers: {listed(given, 4)}")
    return names, names[0] if not header[0] and len(header) > 1 and header[-1] else None


def _check_unique(names: list[str], where: str) -> None:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise TableError(f"{where}: expected columns with different names, got {twice!r} more than once")


def _delimiter(path: Path, text: str) -> str:
    """The delimiter of the names in the first line, outside quotes, that gives all lines equally many cells."""
    matched = _FIRST_LINE.match(text.lstrip("\r\n"))
    first = _QUOTED.sub("", matched[0] if matched else "")
    found = [delimiter for delimiter in DELIMITERS if delimiter in first]
    if len(found) < 2:
        return found[0] if found else ","
    even = []
    for delimiter in found:
        with suppress(TableError):
            if len({len(row) for _, row in islice(_rows(path, text, delimiter), 20)}) == 1:
                even.append(delimiter)
    if len(even) > 1:
        both = f"both {even[0]!r} and {even[1]!r} are possible; put names and cells that hold one of them in quotes"
        raise TableError(f"{path}, line 1: expected one delimiter, and {both}")
    return even[0] if even else max(found, key=first.count)


def _rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and stripped cells of each row; empty lines are skipped."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # the default is 131072
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            reason = "a quote that is not closed" if "end of data" in str(error) else str(error)
            raise TableError(f"{path}, line {line}: expected cells delimited by {delimiter!r}, got {reason}") from None
        if any(cell.strip() for cell in row) or len(row) > 1:
            yield line, [cell.strip() for cell in row]


def _parquet(path: Path) -> Table:
    try:
        import pandas as pd

        frame = pd.read_parquet(path)
    except ImportError as error:
        raise TableError(f"Parquet files need pandas and pyarrow: pip install 'gpclass[cli]' ({error})") from None
    except Exception as error:  # pyarrow raises several kinds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(f"expected a Parquet table in {path}, and it cannot be read: {reason}") from None
    return from_frame(frame, str(path))


def from_frame(frame: Any, path: str = "the table") -> Table:
    """A data frame of pandas or polars as a table."""
    if not (hasattr(frame, "columns") and hasattr(frame, "shape")):
        raise TableError(f"expected a data frame with column names, got {type(frame).__name__}")
    names = [str(name) for name in frame.columns]
    _check_unique(names, path)
    n_rows = len(frame)
    if not n_rows or not names:
        raise TableError(f"{path}: expected rows and columns, got {n_rows} rows and {len(names)} columns")
    values = {name: frame_values(frame, i) for i, name in enumerate(names)}
    columns = {name: [as_text(value) for value in column] for name, column in values.items()}
    missing_text = _missing_text(columns, values)
    return Table(path, columns, list(range(1, n_rows + 1)), unit="row", typed=True, missing_text=missing_text)


def frame_values(frame: Any, index: int) -> list[Any]:
    """A column of a data frame of pandas or polars."""
    return frame.iloc[:, index].tolist() if hasattr(frame, "iloc") else frame[frame.columns[index]].to_list()


def as_text(value: Any) -> str | None:
    """A value as in a CSV file, numbers in full precision, integers without a point; None for a missing value."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    text = "" if value is None else repr(float(value)) if isinstance(value, float) else str(value).strip()
    return None if text.lower() in MISSING or text == "NaT" else text


def label_text(label: Any) -> str | None:
    """A label as text; "NA" and the like are labels here, and only an empty string is missing."""
    return (label.strip() or None) if isinstance(label, str) else as_text(label)


def probability_text(p: float) -> str:
    """A probability with six significant digits, of it or of its distance to 1, so that near 1 it can be ranked too."""
    rest = 1.0 - p
    if not 0.0 < rest < 0.1:
        return f"{p:.6g}"
    return f"{p:.{5 - floor(log10(rest))}f}"

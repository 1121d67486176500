"""Tables from files: CSV, TSV and Parquet as columns of text. What is damaged is refused, with the line it is on."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

DELIMITERS = (",", ";", "\t", "|")
#: What stands for a missing cell, in small letters.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?", "<na>"})
#: What does so among numbers; among text it may be a value, as minus is beside plus. Who knows the column decides.
DASHES = frozenset({"-", "--"})
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WITH_POINT, _WITH_COMMA = re.compile(r"[+-]?\d*\.\d+", re.ASCII), re.compile(r"[+-]?\d+,\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
#: Quotes count where a cell begins; between them a line may end.
_QUOTED = re.compile(r'(?:(?<=[,;\t|])|^) *"(?:[^"]|"")*"')
_FIRST_LINE = re.compile(rf"(?:{_QUOTED.pattern}|[^\n])*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: How other kinds of files begin.
_OTHERS = {
    b"PK\x03\x04": "an Excel or zip file; save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel file; save the sheet as CSV",
    b"\x1f\x8b": "a compressed file; unpack it first",
    b"%PDF": "a PDF file",
}
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class TableError(ValueError):
    """A table that cannot be used. The message is one line: what was expected, what came, and where."""


@dataclass(frozen=True)
class Table:
    """Columns of cells as text, None where a cell is empty; ``places`` tells where each row is in the file."""

    path: str
    columns: dict[str, list[str | None]]
    places: list[int]
    #: what ``places`` count: lines of a text file, rows of others
    unit: str = "line"
    #: whether 2,5 may stand for 2.5
    decimal_comma: bool = False
    #: what a reader should know
    notes: list[str] = field(default_factory=list)
    #: whether text was told apart from missing values, as data frames do
    typed: bool = False
    #: words that stood where a cell is None, by column and row; a target may have them as labels
    words: dict[str, dict[int, str]] | None = None

    def __len__(self) -> int:
        return len(self.places)

    def column(self, name: str) -> list[str | None]:
        if name not in self.columns:
            raise TableError(f"expected a column named {name!r} in {self.path}, {closest(name, list(self.columns))}")
        return self.columns[name]

    def parse(self, cell: str) -> float | None:
        """The number that a cell holds, or None where it holds none."""
        cell = cell.replace("\u2212", "-")  # the minus of typesetters
        if self.decimal_comma and "." not in cell:
            cell = cell.replace(",", ".", 1)
        return float(cell) if _NUMBER.fullmatch(cell) else None

    def where(self, name: str, row: int) -> str:
        """How to speak of a cell."""
        return f"{self.path}, {self.unit} {self.places[row]}, column {name!r}"

    def subset(self, rows: list[int]) -> Table:
        cells = {name: [column[i] for i in rows] for name, column in self.columns.items()}
        return Table(self.path, cells, [self.places[i] for i in rows], self.unit, self.decimal_comma, typed=self.typed)


def closest(name: str, names: list[str]) -> str:
    """What there is instead of a name: the one that was meant, perhaps, or all of them."""
    lower = {own.lower(): own for own in names}
    near = get_close_matches(name.lower(), lower, 1, 0.5) or [own for own in lower if name.lower() in own]
    meant = f"; did you mean {lower[near[0]]!r}?" if near else ""
    return f"which has {listed(names)}{meant}"


def listed(names: list[str], most: int = 8) -> str:
    """Names in a row, not too many of them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def read_table(path: str | Path, encoding: str | None = None) -> Table:
    """Read a CSV or TSV file (commas, semicolons, tabs or bars between cells, names in the first line) or Parquet."""
    path = Path(path)
    if path.is_dir():
        raise TableError(f"expected a table, and {path} is a folder")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise TableError(f"expected a table, and {path} is not there") from None
    except OSError as error:
        raise TableError(f"expected a table, and {path} cannot be read: {error.strerror}") from None
    if content[:4] == b"PAR1":
        return _parquet(path)
    other = next((what for start, what in _OTHERS.items() if content.startswith(start)), None)
    if other:
        raise TableError(f"expected a CSV, TSV or Parquet table, and {path} is {other}")
    return _parsed(path, _decoded(path, content, encoding))


def _decoded(path: Path, content: bytes, encoding: str | None) -> str:
    mark = next((name for start, name in _MARKS.items() if content.startswith(start)), None)
    chosen = encoding or mark or "utf-8"
    try:
        text = content.decode(chosen).removeprefix("\ufeff")
    except LookupError:
        raise TableError(f"expected an encoding that Python knows, got {encoding!r}") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        hint = "save it as UTF-8" if encoding else "save it as UTF-8, or name its encoding (--encoding cp1252, say)"
        raise TableError(f"{path}, line {line}: expected {chosen} text, got bytes that are none; {hint}") from None
    strange = _CONTROL.search(text)
    if strange:
        line = text[: strange.start()].count("\n") + 1
        raise TableError(f"{path}, line {line}: expected text, got the control character {strange[0]!r}")
    if not text.strip():
        raise TableError(f"expected a table in {path}, and it is empty")
    return text


def _parsed(path: Path, text: str) -> Table:
    delimiter = _delimiter(path, text)
    rows = _rows(path, text, delimiter)
    _, header = next(rows)
    names, first = _names(path, header)
    places, cells = [], []
    for line, row in rows:
        if len(row) != len(names):
            raise TableError(f"{path}, line {line}: expected {len(names)} cells, as the first line has, got {len(row)}")
        places.append(line)
        cells.append(row)
    if not cells:
        raise TableError(f"expected rows below the names of columns in {path}, and there are none")
    columns, words = _without_gaps(dict(zip(names, zip(*cells, strict=True), strict=True)))
    for name in [name for name in names if name.startswith(_UNNAMED)]:
        if {*columns.pop(name)} - {None, *DASHES} and name != first:
            raise TableError(f"{path}, line 1: expected a name for every column, got none for {name[len(_UNNAMED) :]}")
    notes = []
    if not text.endswith(("\n", "\r")):
        notes.append(f"{path}: the last line has no end; if the file was cut off there, its last row is wrong")
    if first is not None:
        notes.append(f"{path}: the first column has no name and is taken for row names")
    if not columns:
        raise TableError(f"{path}, line 1: expected names of columns, got none")
    table = Table(str(path), columns, places, notes=notes, words=words)
    return replace(table, decimal_comma=_has_decimal_comma(table)) if delimiter == ";" else table


def _without_gaps(columns: dict[str, Any]) -> tuple[dict[str, list[str | None]], dict[str, dict[int, str]]]:
    """Columns of text with None for what stands for a missing cell, and the words that stood there."""
    found = {name: [None if cell.lower() in MISSING else cell for cell in cells] for name, cells in columns.items()}
    words = {
        name: {i: cells[i] for i, cell in enumerate(found[name]) if cell is None} for name, cells in columns.items()
    }
    return found, _told(words)


def _told(words: dict[str, dict[int, str]]) -> dict[str, dict[int, str]]:
    """Without what is empty."""
    return {name: told for name, own in words.items() if (told := {i: word for i, word in own.items() if word})}


def _has_decimal_comma(table: Table) -> bool:
    """Whether 2,5 stands for 2.5 where semicolons divide; what could be read in two ways is refused."""
    points = commas = None
    for name, cells in table.columns.items():
        marked = [i for i, cell in enumerate(cells) if cell is not None and _WITH_COMMA.fullmatch(cell)]
        pointed = next((i for i, cell in enumerate(cells) if cell is not None and _WITH_POINT.fullmatch(cell)), None)
        points = points or (None if pointed is None else (name, pointed))
        if not marked:
            continue
        commas = commas or (name, marked[0])
        whole = any(cell is not None and cell.lstrip("+-").isdigit() for cell in cells)
        if whole and all(_THOUSANDS.fullmatch(cells[i] or "") for i in marked):
            value = cells[marked[0]]
            raise TableError(
                f"{table.where(name, marked[0])}: expected a number that can be read in one way, and {value!r} may be "
                f"{str(value).replace(',', '')} or {str(value).replace(',', '.')}; write it without the comma"
            )
    if points and commas:
        one, other = table.columns[points[0]][points[1]], table.columns[commas[0]][commas[1]]
        raise TableError(
            f"{table.where(*commas)}: expected one decimal mark in the whole file, got {other!r} and {one!r}"
        )
    return commas is not None


_UNNAMED = "\x00column "


def _names(path: Path, header: list[str]) -> tuple[list[str], str | None]:
    """Names of the columns, and the stand-in of the first where it has none, as row names do not."""
    names = [name or f"{_UNNAMED}{number}" for number, name in enumerate(header, start=1)]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise TableError(f"{path}, line 1: expected columns with different names, got {twice!r} more than once")
    given = [name for name in header if name]
    if given and all(_NUMBER.fullmatch(name) or name.lower() in MISSING | DASHES for name in given):
        raise TableError(f"{path}, line 1: expected names of columns, got numbers: {listed(given, 4)}")
    return names, names[0] if not header[0] and len(header) > 1 and header[-1] else None


def _delimiter(path: Path, text: str) -> str:
    """What stands between the names in the first line, outside quotes, and cuts the next lines into as many cells."""
    first = _QUOTED.sub("", _FIRST_LINE.match(text.lstrip("\r\n"))[0])  # type: ignore[index]
    found = [mark for mark in DELIMITERS if mark in first]
    if len(found) < 2:
        return found[0] if found else ","
    even = []
    for mark in found:
        try:
            lengths = {len(row) for _, row in islice(_rows(path, text, mark), 20)}
        except TableError:
            continue
        if len(lengths) == 1:
            even.append(mark)
    if len(even) > 1:
        raise TableError(
            f"{path}, line 1: expected cells divided in one way, and {even[0]!r} or {even[1]!r} may divide them; put "
            "names and cells that hold one of them in quotes"
        )
    return even[0] if even else max(found, key=first.count)


def _rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The line each row begins on, and its cells without blanks around them; empty lines are passed over."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # else 131072 letters
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            reason = "a quoted cell that never ends" if "end of data" in str(error) else str(error)
            raise TableError(f"{path}, line {line}: expected cells divided by {delimiter!r}, got {reason}") from None
        if any(cell.strip() for cell in row) or len(row) > 1:
            yield line, [cell.strip() for cell in row]


def _parquet(path: Path) -> Table:
    try:
        import pandas as pd

        frame = pd.read_parquet(path)
    except ImportError as error:
        raise TableError(f"Parquet files need pandas and pyarrow: pip install 'gpclass[cli]' ({error})") from None
    except Exception as error:  # whatever pyarrow raises at a damaged file
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(f"expected a Parquet table in {path}, and it cannot be read: {reason}") from None
    return from_frame(frame, str(path))


def from_frame(frame: Any, path: str = "the table") -> Table:
    """A data frame, of pandas or polars, as a table."""
    if not (hasattr(frame, "columns") and hasattr(frame, "shape")):
        raise TableError(f"expected a data frame with names of columns, got {type(frame).__name__}")
    names = [str(name) for name in frame.columns]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise TableError(f"{path}: expected columns with different names, got {twice!r} more than once")
    n_rows = len(frame)
    if not n_rows or not names:
        raise TableError(f"{path}: expected rows and columns, got {n_rows} rows and {len(names)} columns")
    values = {name: frame_values(frame, place) for place, name in enumerate(names)}
    columns = {name: [as_text(value) for value in own] for name, own in values.items()}
    words = {
        name: {i: own[i].strip() for i, cell in enumerate(columns[name]) if cell is None and isinstance(own[i], str)}
        for name, own in values.items()
    }
    return Table(path, columns, list(range(1, n_rows + 1)), unit="row", typed=True, words=_told(words))


def frame_values(frame: Any, place: int) -> list[Any]:
    """A column of a data frame, of pandas or polars."""
    return frame.iloc[:, place].tolist() if hasattr(frame, "iloc") else frame[frame.columns[place]].to_list()


def as_text(value: Any) -> str | None:
    """As a CSV file would hold it: numbers so that reading gives the same ones again, whole ones without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    text = "" if value is None else repr(float(value)) if isinstance(value, float) else str(value).strip()
    return None if text.lower() in MISSING or text == "NaT" else text


def label_text(label: Any) -> str | None:
    """The same of a label, which may be one of the words that stand for missing cells elsewhere."""
    return (label.strip() or None) if isinstance(label, str) else as_text(label)

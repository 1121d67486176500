"""Tables from files: CSV, TSV and Parquet as columns of text. What is damaged is refused, with the line it is on."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

DELIMITERS = (",", ";", "\t", "|")
#: What stands for a missing cell, in small letters.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?", "<na>"})
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
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

    def __len__(self) -> int:
        return len(self.places)

    def column(self, name: str) -> list[str | None]:
        if name not in self.columns:
            raise TableError(f"expected a column named {name!r} in {self.path}, which has {listed(list(self.columns))}")
        return self.columns[name]

    def number(self, name: str, row: int) -> float | None:
        """The cell as a number; None where it is missing."""
        cell = self.columns[name][row]
        return None if cell is None else self.parse(cell)

    def parse(self, cell: str) -> float | None:
        """The number that a cell holds, or None where it holds none."""
        if self.decimal_comma and cell.count(",") == 1 and "." not in cell:
            cell = cell.replace(",", ".")
        return float(cell) if _NUMBER.fullmatch(cell) else None

    def where(self, name: str, row: int) -> str:
        """How to speak of a cell."""
        return f"{self.path}, {self.unit} {self.places[row]}, column {name!r}"

    def take(self, rows: list[int]) -> Table:
        cells = {name: [column[i] for i in rows] for name, column in self.columns.items()}
        return Table(self.path, cells, [self.places[i] for i in rows], self.unit, self.decimal_comma)


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
    return _parsed(path, _decoded(path, content, encoding))


def _decoded(path: Path, content: bytes, encoding: str | None) -> str:
    mark = next((name for start, name in _MARKS.items() if content.startswith(start)), None)
    chosen = encoding or mark or "utf-8"
    try:
        text = content.decode(chosen)
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
    delimiter = _delimiter(text)
    rows = _rows(path, text, delimiter)
    _, header = next(rows)
    names, first = _names(path, header)
    places, cells = [], []
    for line, row in rows:
        if len(row) != len(names):
            raise TableError(f"{path}, line {line}: expected {len(names)} cells, as the first line has, got {len(row)}")
        places.append(line)
        cells.append([None if cell.lower() in MISSING else cell for cell in row])
    if not cells:
        raise TableError(f"expected rows below the names of columns in {path}, and there are none")
    columns = {name: list(column) for name, column in zip(names, zip(*cells, strict=True), strict=True)}
    for name in [name for name in names if name.startswith(_UNNAMED)]:
        if any(cell is not None for cell in columns.pop(name)) and name != first:
            raise TableError(f"{path}, line 1: expected a name for every column, got none for {name[len(_UNNAMED) :]}")
    notes = []
    if not text.endswith(("\n", "\r")):
        notes.append(f"{path}: the last line has no end; if the file was cut off there, its last row is wrong")
    if first is not None:
        notes.append(f"{path}: the first column has no name and is taken for row names")
    if not columns:
        raise TableError(f"{path}, line 1: expected names of columns, got none")
    return Table(str(path), columns, places, decimal_comma=delimiter == ";", notes=notes)


_UNNAMED = "\x00column "


def _names(path: Path, header: list[str]) -> tuple[list[str], str | None]:
    """Names of the columns, and the stand-in of the first where it has none, as row names do not."""
    names = [name or f"{_UNNAMED}{number}" for number, name in enumerate(header, start=1)]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise TableError(f"{path}, line 1: expected columns with different names, got {twice!r} more than once")
    given = [name for name in header if name]
    if given and all(_NUMBER.fullmatch(name) or name.lower() in MISSING for name in given):
        raise TableError(f"{path}, line 1: expected names of columns, got numbers: {listed(given, 4)}")
    return names, names[0] if not header[0] and len(header) > 1 and header[-1] else None


def _delimiter(text: str) -> str:
    """What stands between the names in the first line, outside quotes; a single column has none, and any will do."""
    first = re.sub(r'"[^"]*"', "", text.lstrip().split("\n", 1)[0])
    return max(DELIMITERS, key=first.count)


def _rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The line each row begins on, and its cells without blanks around them; empty lines are passed over."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True, skipinitialspace=True)
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


def from_frame(frame: object, path: str = "the table") -> Table:
    """A data frame of pandas as a table."""
    names = [str(name) for name in frame.columns]  # type: ignore[attr-defined]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise TableError(f"{path}: expected columns with different names, got {twice!r} more than once")
    columns = {
        name: [_text(value) for value in frame.iloc[:, i].tolist()]  # type: ignore[attr-defined]
        for i, name in enumerate(names)
    }
    n_rows = len(frame)  # type: ignore[arg-type]
    if not n_rows or not names:
        raise TableError(f"{path}: expected rows and columns, got {n_rows} rows and {len(names)} columns")
    return Table(path, columns, list(range(1, n_rows + 1)), unit="row")


def _text(value: object) -> str | None:
    """As a CSV file would hold it: numbers so that reading gives the same ones again."""
    text = "" if value is None else repr(value) if isinstance(value, float) else str(value).strip()
    return None if text.lower() in MISSING or text == "NaT" else text

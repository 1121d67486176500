"""What a model of a table is to predict: labels, labels with an order, labels that are mostly missing, or numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from .columns import numbers
from .reading import DASHES, Table, TableError, as_text, frame_values, label_text, listed

#: Fewer rows than this say little.
_FEW_ROWS = 30
#: As Python writes it: 007 is text, and so is what 64 bits do not hold.
_WHOLE = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)
#: 007 is a code and no number.
_CODE = re.compile(r"[+-]?0\d", re.ASCII)


def find_task(order: Any, regress: bool, unlabelled: Any) -> str:
    """One of "labels", "ordered labels", "few labels" and "numbers"."""
    given = {"--ordinal": order is not None, "--regress": regress, "--unlabelled": unlabelled is not None}
    chosen = [name for name, on in given.items() if on]
    if len(chosen) > 1:
        raise TableError(f"expected at most one of --ordinal, --regress and --unlabelled, got {' and '.join(chosen)}")
    if order is not None and (len(order) < 2 or len({*order}) < len(order)):
        raise TableError(
            f"--ordinal: expected at least two labels, each once, from lowest to highest; got {list(order)}"
        )
    empty = [label for label in order or () if as_text(label) is None]
    if empty:
        raise TableError(f"--ordinal: expected labels, got {empty[0]!r}, which stands for an empty cell")
    return (
        {"--ordinal": "ordered labels", "--regress": "numbers", "--unlabelled": "few labels"}[chosen[0]]
        if chosen
        else "labels"
    )


def mark_gaps(table: Table, target: str, labels: Collection[Any] = (), unlabelled: Any = None) -> Table:
    """The table with None in its target wherever that says that there is no label: with ``unlabelled``, and with a dash
    where the labels, or the other cells if those are not known yet, are numbers. Words that stand for a gap elsewhere
    are labels where they are known as such, and among text of a data frame."""
    mark = label_text(unlabelled)
    value = None if mark is None else _value(table, mark)

    def is_mark(cell: str) -> bool:
        return cell == mark or (value is not None and _value(table, cell) == value)

    given = table.column(target)
    marks = {cell for cell in {*given} if cell is not None and is_mark(cell)}
    cells = [None if cell in marks else cell for cell in given]
    texts = [str(label_text(label)) for label in labels]
    known = texts or {*cells} - {None, *DASHES}
    words = (table.words or {}).get(target, {})
    numeric = all(table.parse(label) is not None for label in known)  # type: ignore[arg-type]
    among_text = table.typed and not (numeric and known)
    named = {i: word for i, word in words.items() if word != mark and (among_text or word in texts)}
    cells = [named.get(i, cell) for i, cell in enumerate(cells)]
    if numeric:
        words = words | {i: cell for i, cell in enumerate(cells) if cell in DASHES}
        cells = [None if cell in DASHES else cell for cell in cells]
    return replace(table, columns={**table.columns, target: cells}, words={**(table.words or {}), target: words})


def _value(table: Table, label: str) -> int | float | None:
    """The number that a label stands for, or None where it is text, or more than 64 bits hold."""
    number = table.parse(label)
    if number is None or _CODE.match(label) or abs(number) >= 2.0**63:
        return None
    return int(label) if _WHOLE.fullmatch(label) else number  # a float does not hold every whole number


def one_spelling(table: Table, target: str, labels: Collection[Any] = ()) -> Table:
    """The table with one spelling of every label: where all of them are numbers, 1.0 is 1. It is the spelling of
    ``labels`` where those are known; text of a data frame that is not to be held to them is left as it is."""
    cells = table.column(target)
    texts = [str(label_text(label)) for label in labels]
    there = {cell: _value(table, cell) for cell in {*cells} if cell is not None}
    values = {text: _value(table, text) for text in texts} if texts else there
    if None in values.values() or not (texts or (not table.typed and len({*there.values()}) < len(there))):
        return table
    spelled = {value: text if texts else as_text(value) for text, value in values.items()}
    own = {cell: cell if cell in values and texts else spelled.get(value, cell) for cell, value in there.items()}
    return replace(table, columns={**table.columns, target: [None if cell is None else own[cell] for cell in cells]})


def given_labels(given: Any, target: str) -> dict[str, Any]:
    """What a data frame holds as labels, by their text; a file holds text alone."""
    if isinstance(given, Table):
        return {}
    values = frame_values(given, [str(name) for name in given.columns].index(target))
    texts = {text: value for value in values if (text := label_text(value)) is not None}
    return {text: value.item() if isinstance(value, np.generic) else value for text, value in texts.items()}


def with_target(table: Table, target: str, notes: list[str]) -> Table:
    """The rows whose target is there; of the others there is a note."""
    cells = table.column(target)
    there = [i for i, cell in enumerate(cells) if cell is not None]
    if not there:
        raise TableError(f"expected values in column {target!r} of {table.path}, and it is empty")
    if len(there) == len(table):
        return table
    words = (table.words or {}).get(target, {})
    for word, missing in Counter(words.get(i) for i, cell in enumerate(cells) if cell is None).items():
        rows = "1 row has" if missing == 1 else f"{missing} rows have"
        what = f"no {target!r}" if word is None else f"{word!r} as {target!r}, which stands for a gap"
        notes.append(f"{table.path}: {rows} {what}, left out")
    return replace(table.subset(there), notes=table.notes)


def read_target(
    table: Table, target: str, task: str, order: Any = None, unlabelled: Any = None, given: dict[str, Any] | None = None
) -> np.ndarray:
    """The target of every row, None where a label is missing; ``given`` are the labels of a data frame by their text,
    so that they come back as they went in."""
    if task == "numbers":
        y = numbers(table, target)
        if np.ptp(y) == 0:
            raise TableError(f"expected numbers that differ in column {target!r}, got {y[0]:g} in every row")
        return y
    cells: list[Any] = list(table.column(target))
    if task == "few labels" and None not in cells:
        raise TableError(f"expected rows whose {target!r} is {unlabelled!r} or empty, as --unlabelled says; got none")
    there = [cell for cell in cells if cell is not None]
    _check_labels(
        table, target, cells, there, [as_text(label) for label in order] if task == "ordered labels" else None
    )
    if task == "ordered labels":
        places = {as_text(label): label for label in order}
        return np.array([places[cell] for cell in cells])
    labels = _as_given(dict.fromkeys(there), given or {})
    fraction = next((label for label in labels.values() if isinstance(label, float) and not label.is_integer()), None)
    if fraction is not None:
        raise TableError(
            f"expected labels that are text or whole numbers in column {target!r}, got {fraction!r}; make text of it, "
            "or predict numbers (regress=True)"
        )
    if task == "few labels":
        return np.array([labels.get(cell) for cell in cells], dtype=object)
    return np.array([labels[cell] for cell in cells])


def _as_given(labels: Collection[str], given: dict[str, Any]) -> dict[str, Any]:
    """Labels by their text. Numbers sort as numbers, 2 before 10; text that looks like them stays text in a data
    frame."""
    if given:
        kinds = {type(given[label]) for label in labels}
        # An array has one type for all: numbers beside text or truth values stay text, and so do those it cannot hold.
        same = kinds == {bool} or (kinds <= {int, float} and all(_fits(given[label]) for label in labels))
        return {label: given[label] if same else label for label in labels}
    whole = all(_WHOLE.fullmatch(label) and _fits(int(label)) for label in labels)
    return {label: int(label) if whole else label for label in labels}


def _fits(label: float) -> bool:
    return isinstance(label, float) or -(2**63) <= label < 2**63


def _check_labels(table: Table, target: str, cells: list[Any], there: list[str], order: Any) -> None:
    if order is not None:
        row = next((i for i, cell in enumerate(cells) if cell not in order), None)
        if row is not None:
            raise TableError(
                f"{table.where(target, row)}: expected a label of --ordinal, {listed(list(order))}; got {cells[row]!r}"
            )
    labels = set(there)
    if len(labels) < 2:
        shown = f"{there[0]!r} in all" if there else "no label in any"
        raise TableError(
            f"expected at least two different labels in column {target!r}, got {shown} of {len(cells)} rows"
        )
    if order is not None:
        return
    values = [table.parse(cell) for cell in labels]
    if all(value is not None for value in values):
        whole = all(np.isfinite(value) and value == round(value) for value in values)  # type: ignore[arg-type]
        if len(labels) > (50 if whole else 20):
            raise TableError(
                f"column {target!r} holds {len(labels)} different numbers, expected labels that repeat (gpclass fit "
                "--regress predicts numbers)"
            )
    if len(labels) > 20 and len(labels) > len(there) / 2:
        raise TableError(f"expected labels that repeat in column {target!r}, got {len(labels)} in {len(there)} rows")


def label_notes(cells: list[Any]) -> list[str]:
    """Labels that may be slips."""
    counts = Counter(cell for cell in cells if cell is not None)
    notes = []
    alike: dict[str, list[str]] = {}
    for label in counts:
        alike.setdefault(label.casefold(), []).append(label)
    for same in alike.values():
        if len(same) > 1:
            shown = " and ".join(f"{label!r} ({counts[label]})" for label in same)
            notes.append(f"labels that differ in capitals only: {shown}; are they the same?")
    single = [label for label, count in counts.items() if count == 1]
    if single:
        notes.append(f"labels of one row each: {listed(single)}; nothing can tell how well they are predicted")
    return notes


def few_rows_note(n_rows: int) -> list[str]:
    return [f"{n_rows} rows are few: scores say little"] if n_rows < _FEW_ROWS else []


def read_weights(table: Table, name: str, target: str, notes: list[str]) -> np.ndarray:
    """Numbers of copies where they are whole, else relative: with a mean of 1."""
    if name == target:
        raise TableError(f"expected --weights in another column than the target, got {name!r} for both")
    values = numbers(table, name)
    if not np.any(values):
        raise TableError(f"expected a weight above zero in column {name!r}, got none")
    wrong = np.flatnonzero(~(values >= 0))
    if len(wrong):
        cell = table.columns[name][wrong[0]]
        shown = "an empty cell" if cell is None else repr(cell)
        raise TableError(f"{table.where(name, wrong[0])}: expected a weight that is not negative, got {shown}")
    if np.any(values != np.round(values)):
        return values / values.mean()  # relative
    if np.any(values > 1):
        notes.append(
            "weights are whole numbers and taken for numbers of copies, of which scores leave out one; if rows were "
            "not seen so often, divide the weights by their mean"
        )
    return values

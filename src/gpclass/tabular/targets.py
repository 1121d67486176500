"""The target of a table: classes, ordered classes, partly missing labels, or regression targets."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .columns import numeric_values
from .tables import DASHES, Table, TableError, as_text, frame_values, label_text, listed

#: An integer label; 007 is text, and so is one of more than 64 bits.
_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)
#: 007 is a code.
_CODE = re.compile(r"[+-]?0\d", re.ASCII)


def find_task(order: Any, regress: bool, unlabelled: Any) -> str:
    """One of "classification", "ordinal", "semi-supervised" and "regression"."""
    options = {"--ordinal": order is not None, "--regress": regress, "--unlabelled": unlabelled is not None}
    tasks = {"--ordinal": "ordinal", "--regress": "regression", "--unlabelled": "semi-supervised"}
    chosen = [option for option, given in options.items() if given]
    if len(chosen) > 1:
        raise TableError(f"expected at most one of --ordinal, --regress and --unlabelled, got {' and '.join(chosen)}")
    if order is not None and (len(order) < 2 or len({*order}) < len(order)):
        raise TableError(f"--ordinal: expected at least two labels, each once, in their order; got {list(order)}")
    missing = [label for label in order or () if as_text(label) is None]
    if missing:
        raise TableError(f"--ordinal: expected labels, got {missing[0]!r}, which marks a missing value")
    return tasks[chosen[0]] if chosen else "classification"


def mark_missing(table: Table, target: str, labels: Collection[Any] = (), unlabelled: Any = None) -> Table:
    """The table with None in its target where there is no label: at ``unlabelled``, and at dashes where the labels, or
    the other cells if labels are not known yet, are numbers. Text such as "NA" is a label where it is among the known
    ones, and in text columns of a data frame."""
    mark = label_text(unlabelled)
    value = None if mark is None else _value(table, mark)

    def is_mark(cell: str) -> bool:
        return cell == mark or (value is not None and _value(table, cell) == value)

    given = table.column(target)
    marks = {cell for cell in {*given} if cell is not None and is_mark(cell)}
    cells = [None if cell in marks else cell for cell in given]
    texts = [str(label_text(label)) for label in labels]
    known = texts or {str(cell) for cell in cells if cell is not None and cell not in DASHES}
    missing_text = table.missing_text.get(target, {})
    numeric = all(table.parse(label) is not None for label in known)
    in_text_column = table.typed and not (numeric and known)
    restored = {i: text for i, text in missing_text.items() if text != mark and (in_text_column or text in texts)}
    cells = [restored.get(i, cell) for i, cell in enumerate(cells)]
    if numeric:
        missing_text = missing_text | {i: cell for i, cell in enumerate(cells) if cell is not None and cell in DASHES}
        cells = [None if cell in DASHES else cell for cell in cells]
    missing_texts = {**table.missing_text, target: missing_text}
    return replace(table, columns={**table.columns, target: cells}, missing_text=missing_texts)


def _value(table: Table, label: str) -> int | float | None:
    """The number of a label, or None for text and for more than 64 bits."""
    number = table.parse(label)
    if number is None or _CODE.match(label) or abs(number) >= 2.0**63:
        return None
    return int(label) if _INTEGER.fullmatch(label) else number  # a float does not hold every integer


def unify_spelling(table: Table, target: str, labels: Collection[Any] = ()) -> Table:
    """The table with one spelling of every label: where all are numbers, 1.0 is 1. It is the spelling of ``labels``
    where those are given; without them, text of a data frame stays as it is."""
    cells = table.column(target)
    texts = [str(label_text(label)) for label in labels]
    present = {cell: _value(table, cell) for cell in {*cells} if cell is not None}
    values = {text: _value(table, text) for text in texts} if texts else present
    if None in values.values() or not (texts or (not table.typed and len({*present.values()}) < len(present))):
        return table
    spelling = {value: text if texts else as_text(value) for text, value in values.items()}
    unified = {cell: cell if cell in values and texts else spelling.get(value, cell) for cell, value in present.items()}
    column = [None if cell is None else unified[cell] for cell in cells]
    return replace(table, columns={**table.columns, target: column})


def given_labels(given: Any, target: str) -> dict[str, Any]:
    """The labels of a data frame by their text; none for a file, which holds text only."""
    if isinstance(given, Table):
        return {}
    values = frame_values(given, [str(name) for name in given.columns].index(target))
    texts = {text: value for value in values if (text := label_text(value)) is not None}
    return {text: value.item() if isinstance(value, np.generic) else value for text, value in texts.items()}


def drop_missing(table: Table, target: str, notes: list[str]) -> Table:
    """The rows with a target; notes count the others."""
    cells = table.column(target)
    known = [i for i, cell in enumerate(cells) if cell is not None]
    if not known:
        raise TableError(f"expected values in column {target!r} of {table.path}, and it is empty")
    if len(known) == len(table):
        return table
    texts = table.missing_text.get(target, {})
    for text, count in Counter(texts.get(i) for i, cell in enumerate(cells) if cell is None).items():
        rows = "1 row has" if count == 1 else f"{count} rows have"
        value = f"no {target!r}" if text is None else f"{text!r} as {target!r}, which marks a missing value"
        notes.append(f"{table.path}: {rows} {value}, left out")
    return replace(table.subset(known), notes=table.notes)


def read_target(
    table: Table, target: str, task: str, order: Any = None, unlabelled: Any = None, given: dict[str, Any] | None = None
) -> np.ndarray:
    """The target of every row, None where a label is missing; ``given`` are the labels of a data frame by their text,
    so that they keep their type."""
    if task == "regression":
        y = numeric_values(table, target)
        if np.ptp(y) == 0:
            raise TableError(f"expected numbers that differ in column {target!r}, got {y[0]:g} in every row")
        return y
    cells = table.column(target)
    if task == "semi-supervised" and None not in cells:
        raise TableError(f"expected rows whose {target!r} is {unlabelled!r} or empty, for --unlabelled; got none")
    if task == "ordinal":
        by_text = {str(as_text(label)): label for label in order}
        check_known(table, target, by_text, f"a label of --ordinal, {listed(list(by_text))};")
        _check_two_labels(table, target, cells)
        return np.array([by_text[str(cell)] for cell in cells])
    known = [cell for cell in cells if cell is not None]
    _check_labels(table, target, known)
    labels = _typed_labels(dict.fromkeys(known), given or {})
    fraction = next((label for label in labels.values() if isinstance(label, float) and not label.is_integer()), None)
    if fraction is not None:
        expected = f"expected labels that are text or integers in column {target!r}"
        raise TableError(f"{expected}, got {fraction!r}; convert it to text, or fit a regression (regress=True)")
    values = [None if cell is None else labels[cell] for cell in cells]
    return np.array(values, dtype=object if task == "semi-supervised" else None)


def _typed_labels(labels: Collection[str], given: dict[str, Any]) -> dict[str, Any]:
    """Labels by their text. Integers sort as numbers, 2 before 10; numeric text of a data frame stays text."""
    if given:
        types = {type(given[label]) for label in labels}
        # An array has one type: numbers beside text or bool become text, and so do integers that it cannot hold.
        same = types == {bool} or (types <= {int, float} and all(_fits(given[label]) for label in labels))
        return {label: given[label] if same else label for label in labels}
    integers = all(_INTEGER.fullmatch(label) and _fits(int(label)) for label in labels)
    return {label: int(label) if integers else label for label in labels}


def _fits(label: float) -> bool:
    return isinstance(label, float) or -(2**63) <= label < 2**63


def check_known(table: Table, target: str, labels: Collection[Any], expected: str) -> None:
    cells = table.column(target)
    row = next((i for i, cell in enumerate(cells) if cell not in labels), None)
    if row is not None:
        raise TableError(f"{table.where(target, row)}: expected {expected} got {cells[row]!r}")


def _check_two_labels(table: Table, target: str, known: Sequence[str | None]) -> None:
    if len(set(known)) < 2:
        shown = f"{known[0]!r} in all" if known else "no label in any"
        expected = f"expected at least two different labels in column {target!r}"
        raise TableError(f"{expected}, got {shown} of {len(table)} rows")


def _check_labels(table: Table, target: str, known: list[str]) -> None:
    _check_two_labels(table, target, known)
    labels = set(known)
    values = [value for cell in labels if (value := table.parse(cell)) is not None]
    if len(values) == len(labels):
        integers = all(np.isfinite(value) and value == round(value) for value in values)
        if len(labels) > (50 if integers else 20):
            got = f"column {target!r} holds {len(labels)} different numbers"
            raise TableError(f"{got}, expected labels that repeat (gpclass fit --regress predicts numbers)")
    if len(labels) > 20 and len(labels) > len(known) / 2:
        raise TableError(f"expected labels that repeat in column {target!r}, got {len(labels)} in {len(known)} rows")


def label_notes(known: list[str]) -> list[str]:
    """Labels that may be typing errors."""
    counts = Counter(known)
    notes = []
    for folded, number in Counter(label.casefold() for label in counts).items():
        if number > 1:
            shown = " and ".join(f"{label!r} ({counts[label]})" for label in counts if label.casefold() == folded)
            notes.append(f"labels that differ in capitals only: {shown}; are they the same?")
    single = [label for label, count in counts.items() if count == 1]
    if single:
        notes.append(f"labels with one row each: {listed(single)}; their predictions cannot be evaluated")
    return notes


def read_weights(table: Table, name: str, target: str, notes: list[str]) -> np.ndarray:
    """Numbers of copies where they are integers, else relative weights with a mean of 1."""
    if name == target:
        raise TableError(f"expected --weights in another column than the target, got {name!r} for both")
    values = numeric_values(table, name)
    if not np.any(values):
        raise TableError(f"expected a weight above zero in column {name!r}, got none")
    wrong = np.flatnonzero(~(values >= 0))
    if len(wrong):
        cell = table.columns[name][wrong[0]]
        shown = "an empty cell" if cell is None else repr(cell)
        raise TableError(f"{table.where(name, wrong[0])}: expected a weight that is not negative, got {shown}")
    if np.any(values != np.round(values)):
        return values / values.mean()
    if np.any(values > 1):
        notes.append(
            "weights are integers and treated as numbers of copies: scores leave out one copy; if they are not copies, "
            "divide them by their mean"
        )
    return values

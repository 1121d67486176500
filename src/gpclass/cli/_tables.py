"""Tables that the commands print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from ._console import count, out, print_line

if TYPE_CHECKING:
    from ..evaluation.leaderboard import Leaderboard
    from ..tabular import TableModel


def show_model(model: TableModel) -> None:
    kinds = [column.kind for column in model.schema_.columns]
    words = {"number": "numeric", "category": "categorical", "date": "date", "text": "text"}
    used = ", ".join(count(kinds.count(kind), f"{word} column") for kind, word in words.items() if kind in kinds)
    print_line(f"{type(model.estimator_).__name__} of {model.target!r} from {used}, {model.about_['seconds']:g} s")
    if model.labels:
        print_line(f"labels: {model.label_counts()}")
    if model.other_scores_:
        show_scores_side_by_side(model)
        show_labels(model.scores_, model.labels)
    else:
        show_scores(model.scores_, f"{model.how_}, {count(model.scores_['rows'], 'row')}", model.labels)
    if model.rule_ is not None:
        print_line(model.rule_text())


def show_scores(scores: Mapping[str, Any], title: str, labels: list[str]) -> None:
    from ..tabular.evaluation import formatted_scores

    table = Table("", "", "", title=Text(title), title_justify="left", show_header=False, box=None)
    for name, value, reference in formatted_scores(scores):
        table.add_row(name, Text(value, style="bold"), Text(reference, style="dim"))
    out.print(table)
    show_labels(scores, labels)


def show_labels(scores: Mapping[str, Any], labels: list[str]) -> None:
    """Scores of every label, and what the scores as a whole say."""
    from ..tabular.evaluation import class_table, remarks

    if labels:
        title, heads, rows = class_table(scores, labels)
        table = Table(*heads, title=Text(title), title_justify="left", box=None)
        for row in rows:
            table.add_row(*[Text(cell) for cell in row])
        out.print(table)
    for remark in remarks(scores):
        print_line(remark, "yellow")


def show_scores_side_by_side(model: TableModel) -> None:
    from ..tabular.grouped import side_by_side

    (_, *heads, _), *lines = side_by_side(model.how_, model.scores_, model.other_scores_)
    # A head is never cut off: it is one long word.
    table = Table("", *[Column(head, min_width=max(map(len, head.split()))) for head in heads], "", box=None)
    for name, *values, reference in lines:
        table.add_row(name, *[Text(value, style="bold") for value in values], Text(reference, style="dim"))
    out.print(table)


def show_confusion(classes: list[str], confusion: list[list[int]], decided: bool) -> None:
    """Rows by label, columns by prediction, or by decision."""
    table = Table(f"label \\ {'decided' if decided else 'predicted'}", *[escape(name) for name in classes], box=None)
    for name, row in zip(classes, confusion, strict=True):
        table.add_row(Text(name), *[str(number) if number else "·" for number in row])
    out.print(table)


def show_leaderboard(board: Leaderboard) -> None:
    from ..tabular.leaderboard import HEADS, cells, narrow, notes_on

    metrics = narrow(board)
    table = Table(Column("model", no_wrap=True), *[HEADS[name] for name in metrics], "seconds", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in board.scores:
        table.add_row(Text(one.name), *cells(one, metrics))
    out.print(table)
    for note in notes_on(board):
        print_line(note)

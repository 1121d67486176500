"""Tables that the commands print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from ._console import count, out, print_line

if TYPE_CHECKING:
    from ..tabular import TableModel


def show_model(model: TableModel) -> None:
    kinds = [column.kind for column in model.schema_.columns]
    others = [f"{kinds.count(kind)} of {name}" for kind, name in (("date", "dates"), ("text", "text")) if kind in kinds]
    numeric = ", ".join([count(kinds.count("number"), "numeric column"), *others])
    used = f"{numeric} and {kinds.count('category')} of categories"
    print_line(f"{type(model.estimator_).__name__} of {model.target!r} from {used}, {model.about_['seconds']:g} s")
    if model.labels:
        print_line(f"labels: {model.label_counts()}")
    show_scores(model.scores_, f"{model.how_}, {count(model.scores_['rows'], 'row')}")


def show_scores(scores: Mapping[str, Any], title: str) -> None:
    from ..tabular.evaluation import formatted_scores

    table = Table("", "", "", title=Text(title), title_justify="left", show_header=False, box=None)
    for name, value, reference in formatted_scores(scores):
        table.add_row(name, Text(value, style="bold"), Text(reference, style="dim"))
    out.print(table)


def show_confusion(classes: list[str], confusion: list[list[int]]) -> None:
    table = Table("label \\ predicted", *[escape(name) for name in classes], box=None)
    for name, row in zip(classes, confusion, strict=True):
        table.add_row(Text(name), *[str(number) if number else "·" for number in row])
    out.print(table)


def show_explanation(model: TableModel, explained: Mapping[str, Any]) -> None:
    from ..tabular.explanation import influence_unit

    columns = explained["columns"]
    relevant = any("relevance" in row for row in columns)
    print_line(f"influence: change of predictions when a column is permuted, in {influence_unit(model)}")
    table = Table("column", "influence", *(["relevance"] if relevant else []), box=None)
    for row in columns:
        relevance = [f"{row['relevance']:.3g}" if "relevance" in row else ""] if relevant else []
        table.add_row(Text(row["column"]), f"{row['influence']:.4f} ± {row['influence_se']:.4f}", *relevance)
    out.print(table)
    if explained["views"]:
        table = Table("view", "share of the latent variance", box=None)
        for row in explained["views"]:
            sd = "" if row["share_sd"] is None else f" ± {row['share_sd']:.3f}"
            table.add_row(Text(row["view"]), f"{row['share']:.3f}{sd}")
        out.print(table)
    for title in ("informative", "surprising"):
        rows = explained[f"{title}_rows"]
        if rows:
            print_line(f"most {title} rows ({rows[0]['unit']}s): {', '.join(str(row['position']) for row in rows)}")


def show_comparison(scores: Sequence[Any], folds: int) -> None:
    table = Table(Column("model", no_wrap=True), "error %", "log loss", "calibration error %", "seconds", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for score in scores:
        table.add_row(
            score.name,
            f"{100 * score.error:.2f} ± {100 * score.error_spread:.2f}",
            f"{-score.log_probability:.4f} ± {score.log_probability_spread:.4f}",
            f"{100 * score.calibration_error:.1f}",
            f"{score.seconds:.1f}",
        )
    out.print(table)
    print_line(f"means over {folds} folds ± standard errors between them, best log loss first")

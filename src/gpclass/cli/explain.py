"""The command ``gpclass explain``: what drives a model, or one of its predictions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ._console import count, fail, out, print_json, print_line, print_notes
from ._progress import working
from .models import AsJson, Encoding, ModelFile, _load, _option

if TYPE_CHECKING:
    from ..tabular import TableModel

#: Lines of a table, so that all fits on 20 lines, and all of them with --all.
_MOST_COLUMNS, _MOST_VIEWS, _FEWER_COLUMNS = 15, 5, 8
_MOST_ROW_COLUMNS, _MOST_TRAINING_ROWS = 9, 5

ShowAll = Annotated[bool, _option("Show all columns and rows; default: at most 20 lines.", "--all")]


def explain(
    model: ModelFile,
    row: Annotated[
        int | None, _option("Explain the prediction of this row: its line or row number in the output of 'predict'.")
    ] = None,
    data: Annotated[
        Path | None, _option("Table that contains the row; default: the training rows that the model keeps.")
    ] = None,
    encoding: Encoding = None,
    show_all: ShowAll = False,
    json: AsJson = False,
) -> None:
    """Show which columns drive the model, or explain one prediction (--row).

    The influence of a column is the change of the predictions when its values are permuted. Relevances (inverse squared
    length-scales), weights of views and the most informative rows are shown if the model has them.

    With --row: how far each column moves the prediction from the mean prediction (Shapley values), and the training
    rows with the largest weight in it. A model keeps at most 500 training rows; for other rows, use --data.
    """
    if row is None and data is not None:
        raise fail("--data needs --row: the line or row number to explain", 2)
    loaded = _load(model)
    if row is None:
        from ..tabular import explain as explain_model

        with working("permuting columns"):
            explained = explain_model(loaded)
        show = _show_columns
    else:
        with working("computing contributions"):
            explained = _explain_row(loaded, row, data, encoding)
        print_notes(explained["notes"])
        show = _show_row
    if json:
        print_json(explained)
    else:
        show(loaded, explained, show_all)


def _explain_row(model: TableModel, row: int, data: Path | None, encoding: str | None) -> dict[str, Any]:
    from ..tabular import explain_row, read_table
    from ..tabular.row_explanation import kept_row, row_of

    return explain_row(model, kept_row(model, row) if data is None else row_of(read_table(data, encoding), row))


def _show_columns(model: TableModel, explained: Mapping[str, Any], show_all: bool) -> None:
    from ..tabular.explanation import influence_unit

    columns, views = explained["columns"], explained["views"]
    relevant = any("relevance" in row for row in columns)
    print_line(f"influence: change of predictions when a column is permuted, in {influence_unit(model)}")
    table = Table("column", "influence", *(["relevance"] if relevant else []), box=None)
    shown = _first(columns, _FEWER_COLUMNS if views else _MOST_COLUMNS, show_all)
    for row in shown:
        relevance = [f"{row['relevance']:.3g}" if "relevance" in row else ""] if relevant else []
        table.add_row(Text(row["column"]), f"{row['influence']:.4f} ± {row['influence_se']:.4f}", *relevance)
    out.print(table)
    _show_rest("column", len(columns) - len(shown))
    if views:
        table = Table("view", "share of the latent variance", box=None)
        shown = _first(sorted(views, key=lambda view: -view["share"]), _MOST_VIEWS, show_all)
        for row in shown:
            sd = "" if row["share_sd"] is None else f" ± {row['share_sd']:.3f}"
            table.add_row(Text(row["view"]), f"{row['share']:.3f}{sd}")
        out.print(table)
        _show_rest("view", len(views) - len(shown))
    for title in ("informative", "surprising"):
        rows = explained[f"{title}_rows"]
        if rows:
            print_line(f"most {title} rows ({rows[0]['unit']}s): {', '.join(str(row['position']) for row in rows)}")


def _show_row(model: TableModel, explained: Mapping[str, Any], show_all: bool) -> None:
    columns, rows = explained["columns"], explained["rows"]
    what = f"{explained['explained']}: {explained['value']:.4g}"
    mean = (
        f"the mean over {count(explained['background_rows'], 'row')} of the training table is {explained['base']:.4g}"
    )
    print_line(f"{explained['unit']} {explained['position']}, {what}; {mean}")
    table = Table("column", "value", "contribution", box=None)
    shown = _first(columns, _MOST_ROW_COLUMNS, show_all)
    digits = "+.4g" if model.task_ == "regression" else "+.4f"
    for row in shown:
        error = "" if explained["exact"] else f" ± {row['contribution_se']:{digits[1:]}}"
        cell = Text("missing", style="dim") if row["cell"] is None else Text(row["cell"])
        table.add_row(Text(row["column"]), cell, f"{row['contribution']:{digits}}{error}")
    out.print(table)
    rest = sum(row["contribution"] for row in columns[len(shown) :])
    _show_rest("column", len(columns) - len(shown), f", together {rest:{digits}}")
    if not rows:
        print_line(f"{type(model.estimator_).__name__} keeps no training rows to show")
        return
    favoured = explained["prediction"] if model.task_ in ("classification", "semi-supervised") else "higher"
    table = Table("training row", escape(model.target), escape(f"share, + for {favoured}"), box=None)
    shown = _first(rows, _MOST_TRAINING_ROWS, show_all)
    for row in shown:
        target = f"{row['target']:.6g}" if isinstance(row["target"], float) else row["target"] or ""
        table.add_row(f"{row['unit']} {row['position']}", Text(target), f"{100 * row['share']:+.1f} %")
    out.print(table)
    _show_rest("row", len(rows) - len(shown))


def _first(rows: list[Any], most: int, show_all: bool) -> list[Any]:
    return rows if show_all else rows[:most]


def _show_rest(what: str, number: int, more: str = "") -> None:
    if number > 0:
        print_line(f"and {count(number, f'more {what}')}{more}: --all shows all")

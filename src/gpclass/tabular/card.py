"""The HTML page about a model of a table: data, scores, influence of the columns, rows to inspect."""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from html import escape
from typing import Any

import numpy as np

from .. import plotting
from ..io import html as pages
from . import card_figures as figures
from .columns import numeric_values
from .dependence import dependence
from .evaluation import class_table, confusion
from .explanation import explain, influence_unit
from .grouped import FORWARD, GROUP_FOLDS, GROUPS, side_by_side
from .model import TableModel
from .verdict import verdict

#: Columns and classes in a table, and columns in a figure, at most.
_COLUMNS, _CLASSES, _BARS = 20, 30, 20
#: Columns with a panel of partial dependence.
_PANELS = 4
_TASKS = {
    "classification": "classes",
    "ordinal": "ordered classes",
    "semi-supervised": "classes, few labels known",
    "regression": "a number",
}
_METHODS = {
    "leave-one-out": "Each row was predicted from all the others.",
    "held-out": "These rows were predicted by a model that was fitted without them.",
    "labels hidden": "These rows were predicted by models for which their labels were hidden.",
    GROUPS: "Leave-one-group-out: each row was predicted from the rows of all other groups.",
    GROUP_FOLDS: "Groups held out: each row was predicted by a model of other groups, in five folds.",
    FORWARD: "Forward in time: each row was predicted by a model of earlier rows only.",
}
#: How rows to inspect were selected, by the name of their first value.
_SELECTIONS = {
    "kept_as": "The first rows that the informative vector machine selected.",
    "nats": "Rows whose own label changes their prediction most, in nats: no similar rows determine it.",
    "sds_off": "Targets furthest from their prediction from the other rows, in standard deviations.",
    "probability": "Rows whose label had the lowest probability without it: rare cases, or wrong labels.",
}


def card(model: TableModel, name: str = "model", *, rows: bool = True) -> str:
    """The page as self-contained HTML; with or without rows of the table."""
    explained = explain(model)
    order = [row["column"] for row in explained["columns"]]
    parts = [
        _scores(model, rows),
        _influence(model, explained),
        _dependence(model, order),
        _cut_points(model, order, rows),
        _data(model, order),
        _rows("Most informative rows", model, order, explained["informative_rows"] if rows else []),
        _rows("Most surprising rows", model, order, explained["surprising_rows"] if rows else []),
        _settings(model),
    ]
    sections = "\n".join(filter(None, parts))
    body = [_head(model, name), f'<div class="columns">\n{sections}\n</div>']
    return pages.page(f"{name}: a model of {model.target}", body)


def _section(title: str, *parts: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def _paragraph(text: str) -> str:
    return f"<p class=soft>{escape(text)}</p>"


def _table(name: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[int] = ()) -> str:
    """A table of cells that are text."""
    return pages.table(name, heads, [[escape(str(cell)) for cell in row] for row in rows], numbers)


def _head(model: TableModel, name: str) -> str:
    about = {name: escape(str(value)) for name, value in model.about_.items()}
    sentence, numbers = verdict(model)
    tiles = "".join(f"<div><b>{escape(number)}</b>{escape(what)}</div>" for number, what in numbers)
    return (
        f"<h1>{escape(name)}</h1>\n"
        f'<p class="verdict">{escape(sentence)}</p>\n<div class="numbers">{tiles}</div>\n'
        f"<p class=soft>{escape(type(model.estimator_).__name__)} that predicts <b>{escape(model.target)}</b> "
        f"({_TASKS[model.task_]}) from {len(model.schema_.used)} columns of {about['table']}, {about['rows']} rows; "
        f"fitted on {about['made'][:10]} with gpclass {about['gpclass']}.</p>"
    )


def _scores(model: TableModel, with_rows: bool) -> str:
    heads, *lines = side_by_side(model.how_, model.scores_, model.other_scores_)
    if not model.other_scores_:  # the paragraph says it all
        heads, lines = ["", "", ""], lines[1:]
    others = "".join(f" {_METHODS[how]}" for how in model.other_scores_)
    scores = [
        [escape(name), *[f"<b>{escape(value)}</b>" for value in values], escape(reference)]
        for name, *values, reference in lines
    ]
    parts = [
        _paragraph(
            f"{_METHODS[model.how_]} {model.scores_['rows']} rows; ± is a standard error, brackets are 95 % intervals."
            f"{others}"
        ),
        pages.table("Scores", heads, scores),
    ]
    if model.task_ != "regression":
        labels, probas = model.scored_["labels"], {model.how_: model.scored_["proba"]}
        draw, classes = plotting.ReliabilityDisplay.from_predictions, np.arange(len(model.labels))
        figure = figures.figure(
            lambda ax: draw(labels, probas, classes, ax=ax), "Reliability diagram", size=figures.SQUARE
        )
        parts += [figure, _by_class(model), _confusion(model)]
    elif with_rows:
        parts.append(figures.figure(figures.draw_regression, "Targets against predictions", model, size=figures.SQUARE))
    return _section("Scores", *parts)


def _by_class(model: TableModel) -> str:
    title, heads, rows = class_table(model.scores_, model.labels)
    rule = "" if model.rule_ is None else "\n" + _paragraph(f"The model {model.rule_text()}.")
    return f"<h3>{escape(title)}</h3>{rule}\n" + _table(title, heads, rows, numbers=range(1, len(heads)))


def _confusion(model: TableModel) -> str:
    labels, K = model.labels, len(model.labels)
    if K > _CLASSES:
        return _paragraph(f"{K} classes: too many for a confusion matrix.")
    rule = model.rule_
    counts = confusion(**model.scored_, decided=None if rule is None else rule.choose(model.scored_["proba"]))
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def cell(i: int, j: int) -> str:
        colour = "good" if i == j else "bad"
        style = f"background: color-mix(in srgb, var(--{colour}) {60 * share[i, j]:.0f}%, transparent)"
        return f'<span class="count" style="{style}">{counts[i, j]}</span>' if counts[i, j] else ""

    rows = [[escape(labels[i]), *[cell(i, j) for j in range(K)]] for i in range(K)]
    n_shown = len(model.scored_["labels"])
    note = "" if n_shown == model.scores_["rows"] else f" ({n_shown} of them)"
    by = "prediction" if rule is None else "decision"
    heading = f"<h3>Confusion matrix <span class=soft>rows by label, columns by {by}{note}</span></h3>"
    return heading + "\n" + pages.table("Confusion matrix", ["", *labels], rows, numbers=range(1, K + 1))


def _data(model: TableModel, order: Sequence[str]) -> str:
    if model.task_ == "regression":
        y = model.scored_["y"]
        target = f"{y.min():g} to {y.max():g}, median {np.median(y):g}"
    else:
        target = model.label_counts()
        if model.task_ == "semi-supervised":
            target += f"; {model.about_['rows'] - model.scores_['rows']} unlabelled rows"
    ranks = {name: rank for rank, name in enumerate(order)}
    columns = sorted(model.schema_.columns, key=lambda column: ranks.get(column.name, len(ranks)))
    rows = [[f"<b>{escape(model.target)}</b>", "target", escape(target)]]
    rows += [[escape(text) for text in (column.name, column.kind, column.summary())] for column in columns[:_COLUMNS]]
    parts = [pages.table("Columns", ["column", "kind", "values"], rows)]
    if len(columns) > _COLUMNS:
        parts.append(_paragraph(f"and {len(columns) - _COLUMNS} more columns"))
    if model.notes_:
        notes = "".join(f"<li>{escape(note)}</li>" for note in model.notes_)
        parts.append(f"<h3>Notes</h3>\n<ul>{notes}</ul>")
    return _section("The data", *parts)


def _influence(model: TableModel, explained: dict[str, Any]) -> str:
    unit = influence_unit(model)
    columns = explained["columns"]
    top = columns[:_BARS][::-1]
    text = f"Change of the predictions, in {unit}, when the values of a column are permuted. "
    text += "It measures the use that the model makes of a column, not a causal effect."
    figure = figures.figure(
        figures.draw_influence, "Influence of the columns", top, unit, size=(5.2, 0.9 + 0.25 * len(top))
    )
    parts = [_paragraph(text), figure]
    if any("relevance" in row for row in columns):
        rows = [
            [row["column"], f"{row['influence']:.4f}", f"{row['relevance']:.3g}" if "relevance" in row else ""]
            for row in columns[:_COLUMNS]
        ]
        parts.append(_paragraph("Relevance is the inverse squared length-scale that was learned for the column."))
        parts.append(_table("Relevances", ["column", "influence", "relevance"], rows, numbers=(1, 2)))
    if explained["views"]:
        parts.append("<h3>Weights of the views</h3>")
        draw = plotting.ViewWeightsDisplay.from_estimator
        parts.append(figures.figure(lambda ax: draw(model.estimator_, ax=ax), "Weights of the views"))
    return _section("Influence of the columns", *parts)


def _dependence(model: TableModel, order: Sequence[str]) -> str:
    with_values = {column.name for column in model.schema_.used if column.kind != "text"}
    found = [dependence(model, name) for name in [name for name in order if name in with_values][:_PANELS]]
    if not found:
        return ""
    what = f"The predicted {model.target}" if model.task_ == "regression" else "The class probabilities"
    text = (
        f"{what} by the most influential columns, one at a time: means over rows of the table whose other columns stay "
        "as they are (partial dependence). Bands hold 80 % of the rows' own curves: where they are wide, the effect "
        "depends on other columns. Strokes are the deciles of a column."
    )
    return _section("Partial dependence", _paragraph(text), figures.dependence_panels(model, found))


def _cut_points(model: TableModel, order: Sequence[str], with_rows: bool) -> str:
    """Of ordered labels: the latent function at rows of the table."""
    kinds = {column.name: column.kind for column in model.schema_.used}
    numeric = [name for name in order if kinds[name] == "number"]
    if model.task_ != "ordinal" or not (numeric and with_rows):
        return ""
    text = "The latent function at rows of the table, and the cut points between classes."
    draw = partial(plotting.OrdinalThresholdDisplay.from_estimator, model.estimator_, *_training_rows(model))
    picture = figures.figure(lambda ax: draw(feature=numeric[0], ax=ax), text)
    return _section("Latent function and cut points", _paragraph(text), picture)


def _rows(title: str, model: TableModel, order: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    statistics = [name for name in rows[0] if name not in ("position", "unit", "cells")]
    used = model.schema_.used
    ids = [column.name for column in model.schema_.columns if column.kind == "id"]
    numeric = {column.name for column in used if column.kind == "number"}
    numeric |= {model.target} if model.task_ == "regression" else set()
    shown = [model.target, *ids, *order][:10]
    heads = [rows[0]["unit"], *[name.replace("_", " ") for name in statistics], *shown]
    body = [
        [
            row["position"],
            *[f"{row[name]:.3g}" if isinstance(row[name], float) else row[name] for name in statistics],
            *[_shortened_cell(row["cells"].get(name) or "", name in numeric) for name in shown],
        ]
        for row in rows
    ]
    return _section(title, _paragraph(_SELECTIONS[statistics[0]]), _table(title, heads, body))


def _shortened_cell(cell: str, numeric: bool) -> str:
    if numeric and len(cell) > 8:
        with suppress(ValueError):
            return f"{float(cell):.6g}"
    return cell if len(cell) <= 40 else f"{cell[:39]}…"


def _settings(model: TableModel) -> str:
    unset = ("None", "False", "()", "[]", "{}")
    settings = {name: value for name, value in model.get_params().items() if repr(value) not in unset}
    estimator = model.estimator_
    members = getattr(getattr(estimator, "hyper_", None), "members", ())
    kernels = {f"kernel {one.name!r}, weight {one.weight:.2f}": one.kernel for one in members if one.weight > 0.0}
    code = {"estimator": repr(estimator)}
    for name, kernel in (kernels or {"kernel": estimator.kernel_}).items():
        code[name] = re.sub(r"\d+\.\d{5,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.5g}", str(kernel))
    rows = [[escape(name), escape(str(value))] for name, value in settings.items()]
    rows += [[name, f"<code>{escape(value)}</code>"] for name, value in code.items()]
    rows += [[escape(name), escape(str(value))] for name, value in model.about_.items()]
    return _section("Settings and versions", pages.table("Settings", ["", ""], rows))


def _training_rows(model: TableModel, with_targets: bool = True) -> tuple[Any, Any]:
    """Kept rows of the table as input of the estimator, and their targets; displays draw rows only with targets."""
    cells = model.sample_.columns[model.target]
    table = model.sample_.subset([i for i, cell in enumerate(cells) if cell is not None])
    frame, _ = model.frame(table)
    if not with_targets:
        return frame, None
    if model.task_ == "regression":
        return frame, numeric_values(table, model.target)
    return frame, model.classes_[model._positions(table)]

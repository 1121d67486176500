"""The HTML page about a model of a table: data, scores, influence of the columns, rows to inspect."""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from html import escape
from io import BytesIO
from typing import Any

import numpy as np

from .. import plotting
from ..io import html as pages
from ..plotting._canvas import COLOURS, INK, class_colours, legend, shortened
from .columns import numeric_values
from .evaluation import confusion, evenly_spaced, unknown_categories_ignored
from .explanation import explain, influence_unit
from .grouped import FORWARD, GROUP_FOLDS, GROUPS, side_by_side
from .model import TableModel

#: Columns and classes in a table, and columns in a figure, at most.
_COLUMNS, _CLASSES, _BARS = 60, 30, 20
_SQUARE = (4.6, 4.4)
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
    parts = [
        _head(model, name),
        _scores(model, rows),
        _data(model),
        _influence(model, explained),
        _map(model, explained, rows),
        _rows("Most informative rows", model, explained["informative_rows"] if rows else []),
        _rows("Most surprising rows", model, explained["surprising_rows"] if rows else []),
        _settings(model),
    ]
    return pages.page(f"{name}: a model of {model.target}", filter(None, parts))


def _section(title: str, *parts: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def _paragraph(text: str) -> str:
    return f"<p class=soft>{escape(text)}</p>"


def _table(name: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[int] = ()) -> str:
    """A table of cells that are text."""
    return pages.table(name, heads, [[escape(str(cell)) for cell in row] for row in rows], numbers)


def _head(model: TableModel, name: str) -> str:
    about = {name: escape(str(value)) for name, value in model.about_.items()}
    return (
        f"<h1>{escape(name)}</h1>\n"
        f"<p>{escape(type(model.estimator_).__name__)} that predicts <b>{escape(model.target)}</b> "
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
        _paragraph(f"{_METHODS[model.how_]} {model.scores_['rows']} rows; ± is one standard error.{others}"),
        pages.table("Scores", heads, scores),
    ]
    if model.task_ != "regression":
        labels, probas = model.scored_["labels"], {model.how_: model.scored_["proba"]}
        draw, classes = plotting.ReliabilityDisplay.from_predictions, np.arange(len(model.labels))
        figure = _figure(lambda ax: draw(labels, probas, classes, ax=ax), "Reliability diagram", size=_SQUARE)
        parts += [figure, _confusion(model)]
    elif with_rows:
        parts.append(_figure(_draw_regression, "Targets against predictions", model, size=_SQUARE))
    return _section("Scores", *parts)


def _confusion(model: TableModel) -> str:
    labels, K = model.labels, len(model.labels)
    if K > _CLASSES:
        return _paragraph(f"{K} classes: too many for a confusion matrix.")
    counts = confusion(**model.scored_)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def cell(i: int, j: int) -> str:
        colour = "good" if i == j else "bad"
        style = f"background: color-mix(in srgb, var(--{colour}) {60 * share[i, j]:.0f}%, transparent)"
        return f'<span class="count" style="{style}">{counts[i, j]}</span>' if counts[i, j] else ""

    rows = [[escape(labels[i]), *[cell(i, j) for j in range(K)]] for i in range(K)]
    n_shown = len(model.scored_["labels"])
    note = "" if n_shown == model.scores_["rows"] else f" ({n_shown} of them)"
    heading = f"<h3>Confusion matrix <span class=soft>rows by label, columns by prediction{note}</span></h3>"
    return heading + "\n" + pages.table("Confusion matrix", ["", *labels], rows, numbers=range(1, K + 1))


def _data(model: TableModel) -> str:
    if model.task_ == "regression":
        y = model.scored_["y"]
        target = f"{y.min():g} to {y.max():g}, median {np.median(y):g}"
    else:
        target = model.label_counts()
        if model.task_ == "semi-supervised":
            target += f"; {model.about_['rows'] - model.scores_['rows']} rows without label"
    columns = model.schema_.columns
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
    figure = _figure(_draw_influence, "Influence of the columns", top, unit, size=(6.4, 0.9 + 0.27 * len(top)))
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
        parts.append(_figure(lambda ax: draw(model.estimator_, ax=ax), "Weights of the views"))
    return _section("Influence of the columns", *parts)


def _map(model: TableModel, explained: dict[str, Any], with_rows: bool) -> str:
    kinds = {column.name: column.kind for column in model.schema_.used}
    numeric = [row["column"] for row in explained["columns"] if kinds[row["column"]] == "number"]
    if not numeric:
        return ""
    others = "other columns at their medians or most frequent values."
    if model.task_ == "regression" or len(numeric) < 2:
        text = f"The prediction along {numeric[0]}, {others}"
        figure = _figure(_draw_along, text, model, numeric[0], with_rows)
        return _section("The most influential numeric column", _paragraph(text), figure)
    x, y = numeric[:2]
    text = f"Class probabilities over {x} and {y}, the two most influential numeric columns, {others}"
    text += " Dots are rows of the table." if with_rows else ""
    parts = [_paragraph(text), _figure(_draw_map, text, model, (x, y), with_rows)]
    if model.task_ == "ordinal" and with_rows:
        parts.append(_paragraph("The latent function at rows of the table, and the cut points between classes."))
        draw = partial(plotting.OrdinalThresholdDisplay.from_estimator, model.estimator_, *_training_rows(model))
        parts.append(_figure(lambda ax: draw(feature=x, ax=ax), "The latent function and its cut points"))
    return _section("Map of the probabilities", *parts)


def _rows(title: str, model: TableModel, rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    statistics = [name for name in rows[0] if name not in ("position", "unit", "cells")]
    used = model.schema_.used
    ids = [column.name for column in model.schema_.columns if column.kind == "id"]
    numeric = {column.name for column in used if column.kind == "number"}
    numeric |= {model.target} if model.task_ == "regression" else set()
    shown = [model.target, *ids, *[column.name for column in used]][:12]
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


# ---- figures ---------------------------------------------------------------------------------------------------------


def _figure(draw: Any, description: str, *arguments: Any, size: tuple[float, float] = (6.4, 4.2)) -> str:
    """What a function draws on axes, as a PNG image in the page, without pyplot, which keeps figures open."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Dollar signs in names of columns and labels are not formulas.
    with rc_context({"text.parse_math": False}):
        figure = Figure(figsize=size, layout="constrained", dpi=130)
        FigureCanvasAgg(figure)
        draw(figure.subplots(), *arguments)
        png = BytesIO()
        figure.savefig(png, format="png")
    return pages.picture(png.getvalue(), description)


def _draw_regression(ax: Any, model: TableModel) -> None:
    shown = evenly_spaced(len(model.scored_["y"]), 1000)
    y, mean, sd = (model.scored_[name][shown] for name in ("y", "mean", "sd"))
    ax.errorbar(mean, y, xerr=sd, fmt=".", alpha=0.5, elinewidth=0.5, color=INK)
    ends = [model.scored_["y"].min(), model.scored_["y"].max()]
    ax.plot(ends, ends, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel=f"predicted ± 1 sd, {model.how_}", ylabel=model.target)


def _draw_influence(ax: Any, top: Sequence[dict[str, Any]], unit: str) -> None:
    influence, error = [row["influence"] for row in top], [row["influence_se"] for row in top]
    ax.barh(np.arange(len(top)), influence, xerr=error, color=COLOURS[0], ecolor=INK)
    ax.set_yticks(np.arange(len(top)), [shortened(row["column"]) for row in top])
    ax.set(xlabel=f"influence, {unit}", xlim=(0.0, None))
    ax.grid(axis="x", alpha=0.25)


def _draw_map(ax: Any, model: TableModel, columns: tuple[str, str], with_rows: bool) -> None:
    frame, labels = _training_rows(model, with_rows)
    with unknown_categories_ignored():
        display = plotting.ProbabilityMapDisplay
        display.from_estimator(model.estimator_, frame, labels, features=columns, resolution=80, ax=ax)
    if not with_rows:  # their legend names the colours
        for colour, label in zip(class_colours(len(model.labels)), model.labels, strict=True):
            ax.scatter([], [], color=[colour], label=shortened(label))
        legend(ax)
    ax.set(xlabel=columns[0], ylabel=columns[1])


def _draw_along(ax: Any, model: TableModel, column: str, with_rows: bool) -> None:
    frame, labels = _training_rows(model, with_rows)
    display = plotting.LatentDisplay.from_estimator(model.estimator_, frame, labels, feature=column, ax=ax)
    if model.task_ == "regression":
        display.ax_.set_ylabel(model.target)


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

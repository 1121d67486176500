"""The page about a model of a table: what it was made from, how good it is, what it goes by, which rows to look at."""

from __future__ import annotations

import re
from collections.abc import Sequence, Sized
from html import escape
from io import BytesIO
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ..io import html as pages
from ..plotting import (
    INK,
    LatentDisplay,
    OrdinalThresholdDisplay,
    ProbabilityMapDisplay,
    ReliabilityDisplay,
    ViewWeightsDisplay,
)
from ..plotting._canvas import class_colours, legend, shortened
from .columns import numbers
from .explaining import explain
from .judging import without_strangers
from .model import TableModel
from .scoring import in_words

#: Columns and classes that a table or picture shows at most.
_COLUMNS, _CLASSES = 60, 30
_BARS = 20


def card(model: TableModel, name: str = "model", *, rows: bool = True) -> str:
    """The page as HTML: one file, no network; with or without rows of the table."""
    told = explain(model)
    parts = [
        _head(model, name),
        _scores(model, rows),
        _data(model),
        _influence(model, told),
        _map(model, told, rows),
        _rows("Most informative rows", _why_informative(model), model, told["informative_rows"] if rows else []),
        _rows("Most surprising rows", _why_surprising(model), model, told["surprising_rows"] if rows else []),
        _settings(model),
    ]
    return pages.page(f"{name}: a model of {model.target}", [part for part in parts if part])


def _section(title: str, *inside: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(inside) + "\n</section>"


def _paragraph(text: str, soft: bool = True) -> str:
    return f"<p{' class=soft' if soft else ''}>{escape(text)}</p>"


def _head(model: TableModel, name: str) -> str:
    about = model.about_
    what = {
        "labels": "labels",
        "ordered labels": "labels with an order",
        "few labels": "labels, few of them known",
        "numbers": "numbers",
    }[model.task_]
    return (
        f"<h1>{escape(name)}</h1>\n"
        f"<p>{escape(type(model.estimator_).__name__)} that predicts <b>{escape(model.target)}</b> ({what}) from "
        f"{len(model.schema_.used)} columns of {escape(str(about['table']))}, {escape(str(about['rows']))} rows; made "
        f"on {escape(str(about['made'])[:10])} with gpclass {escape(str(about['gpclass']))}.</p>"
    )


def _scores(model: TableModel, with_rows: bool) -> str:
    rows = [
        [escape(name), f"<b>{escape(value)}</b>", escape(remark)] for name, value, remark in in_words(model.scores_)
    ]
    how = {
        "leave-one-out": "Each row was predicted from all the others.",
        "held-out": "These rows were predicted by a model that had not seen them.",
        "labels hidden": "These rows were predicted by models for which their labels were hidden.",
    }[model.how_]
    inside = [
        _paragraph(f"{how} {model.scores_['rows']} rows; ± is one standard error."),
        pages.table("Scores", ["", "", ""], rows),
    ]
    if model.task_ == "numbers":
        if with_rows:
            inside.append(_picture(_draw_numbers, "Numbers against their predictions", model))
    else:
        inside.append(_picture(_draw_reliability, "Reliability diagram", model))
        inside.append(_confusion(model))
    return _section("How good it is", *inside)


def _confusion(model: TableModel) -> str:
    labels, K = model.labels, len(model.labels)
    if K > _CLASSES:
        return _paragraph(f"{K} classes: too many for a table of confusions.")
    counts = confusion_matrix(model.scored_["labels"], model.scored_["proba"].argmax(axis=1), labels=range(K))
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def cell(i: int, j: int) -> str:
        colour = "good" if i == j else "bad"
        strength = f"background: color-mix(in srgb, var(--{colour}) {60 * share[i, j]:.0f}%, transparent)"
        return f'<span class="count" style="{strength}">{counts[i, j]}</span>' if counts[i, j] else ""

    rows = [[escape(labels[i]), *[cell(i, j) for j in range(K)]] for i in range(K)]
    note = "" if len(model.scored_["labels"]) == model.scores_["rows"] else f" ({len(model.scored_['labels'])} of them)"
    return "\n".join(
        [
            f"<h3>Confusions <span class=soft>rows by their label, columns by the predicted one{note}</span></h3>",
            pages.table("Confusions", ["", *labels], rows, numbers=range(1, K + 1)),
        ]
    )


def _data(model: TableModel) -> str:
    if model.task_ == "numbers":
        y = model.scored_["y"]
        target = f"{y.min():g} to {y.max():g}, median {np.median(y):g}"
    else:
        target = model.label_counts()
        if model.task_ == "few labels":
            target += f"; {model.about_['rows'] - model.scores_['rows']} rows without label"
    columns = model.schema_.columns
    rows = [[f"<b>{escape(model.target)}</b>", "target", escape(target)]]
    rows += [[escape(own.name), escape(own.kind), escape(own.summary())] for own in columns[:_COLUMNS]]
    more = [] if len(columns) <= _COLUMNS else [_paragraph(f"and {len(columns) - _COLUMNS} more columns")]
    notes = "".join(f"<li>{escape(note)}</li>" for note in model.notes_)
    return _section(
        "The data",
        pages.table("Columns", ["column", "kind", "values"], rows),
        *more,
        *([f"<h3>Notes</h3>\n<ul>{notes}</ul>"] if notes else []),
    )


def _influence(model: TableModel, told: dict[str, Any]) -> str:
    unit = "standard deviations of the target" if model.task_ == "numbers" else "nats"
    inside = [
        _paragraph(
            f"How far predictions move when the cells of a column are shuffled between rows, in {unit}. It tells what "
            "the model does with a column, not what causes what."
        ),
        _picture(_draw_influence, "Influence of the columns", told["columns"], unit),
    ]
    if any("relevance" in own for own in told["columns"]):
        rows = [
            [escape(own["column"]), f"{own['influence']:.4f}", f"{own['relevance']:.3g}" if "relevance" in own else ""]
            for own in told["columns"][:_COLUMNS]
        ]
        heads = ["column", "influence", "relevance"]
        inside.append(_paragraph("Relevance is the inverse squared length-scale that was learned for the column."))
        inside.append(pages.table("Relevances", heads, rows, numbers=(1, 2)))
    if told["views"]:
        inside.append("<h3>Weights of the sources</h3>")
        inside.append(_picture(_draw_views, "Weights of the sources", model))
    return _section("What it goes by", *inside)


def _map(model: TableModel, told: dict[str, Any], with_rows: bool) -> str:
    kinds = {own.name: own.kind for own in model.schema_.used}
    numeric = [own["column"] for own in told["columns"] if kinds[own["column"]] == "number"]
    if not numeric:
        return ""
    if model.task_ == "numbers" or len(numeric) < 2:
        said = f"The prediction along {numeric[0]}, other columns at their medians or most frequent values."
        return _section(
            "The most influential column of numbers",
            _paragraph(said),
            _picture(_draw_along, said, model, numeric[0], with_rows),
        )
    said = (
        f"Class probabilities over {numeric[0]} and {numeric[1]}, the two most influential columns of numbers, other "
        "columns at their medians or most frequent values."
    )
    said += " Dots are rows of the table." if with_rows else ""
    inside = [_paragraph(said), _picture(_draw_map, said, model, (numeric[0], numeric[1]), with_rows)]
    if model.task_ == "ordered labels" and with_rows:
        inside.append(_paragraph("The latent function at rows of the table, and the cut points between labels."))
        inside.append(_picture(_draw_thresholds, "The latent function and its cut points", model, numeric[0]))
    return _section("A map of the probabilities", *inside)


def _why_informative(model: TableModel) -> str:
    if model.informative_ and "kept_as" in model.informative_[0]:
        return "The first rows that the informative vector machine kept."
    return "Rows whose own label moves their prediction furthest, in nats: few others speak for them."


def _why_surprising(model: TableModel) -> str:
    return (
        "Numbers furthest from what the other rows say, in standard deviations."
        if model.task_ == "numbers"
        else "Rows whose label was the least probable without it: rare cases, or wrong labels."
    )


def _rows(title: str, why: str, model: TableModel, rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    about = [name for name in rows[0] if name not in ("place", "unit", "cells")]
    ids = [own.name for own in model.schema_.columns if own.kind == "id"]
    of_numbers = {own.name for own in model.schema_.used if own.kind == "number"}
    of_numbers |= {model.target} if model.task_ == "numbers" else set()
    shown = [model.target, *ids, *[own.name for own in model.schema_.used]][:12]
    heads = [rows[0]["unit"], *[name.replace("_", " ") for name in about], *shown]
    body = [
        [
            escape(str(row["place"])),
            *[f"{row[name]:.3g}" if isinstance(row[name], float) else escape(str(row[name])) for name in about],
            *[escape((_brief if name in of_numbers else _short_cell)(row["cells"].get(name) or "")) for name in shown],
        ]
        for row in rows
    ]
    return _section(title, _paragraph(why), pages.table(title, heads, body))


def _settings(model: TableModel) -> str:
    settings = {
        name: value
        for name, value in model.get_params().items()
        if value is not None and value is not False and not (isinstance(value, Sized) and len(value) == 0)
    }
    rows = [[escape(name), escape(str(value))] for name, value in settings.items()]
    rows += [
        ["estimator", f"<code>{escape(repr(model.estimator_))}</code>"],
        ["kernel", f"<code>{escape(_fewer_digits(str(model.estimator_.kernel_)))}</code>"],
    ]
    rows += [[escape(name), escape(str(value))] for name, value in model.about_.items()]
    return _section("Settings and versions", pages.table("Settings", ["", ""], rows))


def _picture(draw: Any, description: str, *what: Any) -> str:
    """What a function draws, as PNG inside the page; drawn without pyplot, which would keep the figures."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Names of columns and labels are text, also where they hold dollar signs.
    with rc_context({"text.parse_math": False}):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained", dpi=130)
        FigureCanvasAgg(figure)
        draw(figure, *what)
        png = BytesIO()
        figure.savefig(png, format="png")
    return pages.picture(png.getvalue(), description)


def _draw_reliability(figure: Any, model: TableModel) -> None:
    scored = model.scored_
    how = model.how_
    figure.set_size_inches(4.6, 4.4)
    ReliabilityDisplay.from_predictions(
        scored["labels"], {how: scored["proba"]}, np.arange(len(model.labels)), ax=figure.subplots()
    )


def _draw_numbers(figure: Any, model: TableModel) -> None:
    figure.set_size_inches(4.6, 4.4)
    ax, scored = figure.subplots(), model.scored_
    some = np.linspace(0, len(scored["y"]) - 1, min(len(scored["y"]), 1000)).round().astype(int)
    ax.errorbar(
        scored["mean"][some], scored["y"][some], xerr=scored["sd"][some], fmt=".", alpha=0.5, elinewidth=0.5, color=INK
    )
    ends = [scored["y"].min(), scored["y"].max()]
    ax.plot(ends, ends, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel=f"predicted ± 1 sd, {model.how_}", ylabel=model.target)


def _draw_influence(figure: Any, columns: Sequence[dict[str, Any]], unit: str) -> None:
    top = columns[:_BARS][::-1]
    figure.set_size_inches(6.4, 0.9 + 0.27 * len(top))
    ax = figure.subplots()
    places = np.arange(len(top))
    ax.barh(
        places,
        [own["influence"] for own in top],
        xerr=[own["influence_se"] for own in top],
        color="#0072B2",
        ecolor=INK,
    )
    ax.set_yticks(places, [_short(own["column"]) for own in top])
    ax.set(xlabel=f"influence, {unit}", xlim=(0.0, None))
    ax.grid(axis="x", alpha=0.25)


def _draw_views(figure: Any, model: TableModel) -> None:
    ViewWeightsDisplay.from_estimator(model.estimator_, ax=figure.subplots())


def _draw_map(figure: Any, model: TableModel, columns: tuple[str, str], with_rows: bool) -> None:
    frame, labels = _seen(model, with_rows)
    ax = figure.subplots()
    with without_strangers():
        ProbabilityMapDisplay.from_estimator(model.estimator_, frame, labels, features=columns, resolution=80, ax=ax)
    if not with_rows:  # which would have named the colours
        for colour, label in zip(class_colours(len(model.labels)), model.labels, strict=True):
            ax.scatter([], [], color=[colour], label=shortened(label))
        legend(ax)
    ax.set(xlabel=columns[0], ylabel=columns[1])


def _draw_along(figure: Any, model: TableModel, column: str, with_rows: bool) -> None:
    frame, labels = _seen(model, with_rows)
    display = LatentDisplay.from_estimator(model.estimator_, frame, labels, feature=column, ax=figure.subplots())
    if model.task_ == "numbers":
        display.ax_.set_ylabel(model.target)


def _draw_thresholds(figure: Any, model: TableModel, column: str) -> None:
    frame, labels = _seen(model)
    OrdinalThresholdDisplay.from_estimator(model.estimator_, frame, labels, feature=column, ax=figure.subplots())


def _seen(model: TableModel, with_targets: bool = True) -> tuple[Any, Any]:
    """Rows of the table as the estimator took them, and their targets, without which pictures do not draw them."""
    cells = model.sample_.columns[model.target]
    table = model.sample_.subset([i for i, cell in enumerate(cells) if cell is not None])
    frame, _ = model.frame(table)
    if not with_targets:
        return frame, None
    if model.task_ == "numbers":
        return frame, numbers(table, model.target)
    return frame, model.classes_[model._positions(table)]


def _fewer_digits(text: str) -> str:
    """Numbers in a text with five digits."""
    return re.sub(r"\d+\.\d{5,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.5g}", text)


def _brief(cell: str) -> str:
    """A number in no more digits than tell rows apart."""
    try:
        return f"{float(cell):.6g}" if len(cell) > 8 else cell
    except ValueError:
        return _short_cell(cell)


def _short_cell(cell: str) -> str:
    return _short(cell, 40)


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"

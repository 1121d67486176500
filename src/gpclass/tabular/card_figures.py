"""The drawings on the page about a model; their colours follow the colour scheme of the page."""

from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any

import numpy as np

from ..io import html as pages
from ..plotting._canvas import COLOURS, INK, class_colours, shortened
from .dependence import Dependence
from .evaluation import evenly_spaced
from .model import TableModel

WIDE, SQUARE, _PANEL = (5.2, 3.6), (4.2, 4.0), (3.3, 2.6)
#: Classes with a curve of their own.
_CURVES = 6
#: What colours of a drawing are in the page (``io/page.css``).
_IN_PAGE = {
    INK: "currentColor",
    "#000000": "currentColor",
    "#ffffff": "var(--card)",
    "#b0b0b0": "var(--line)",
    **{colour.lower(): f"var(--series-{i + 1})" for i, colour in enumerate(COLOURS)},
}
_STYLE: Any = {
    **dict.fromkeys(
        ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "legend.labelcolor"], INK
    ),
    **dict.fromkeys(["axes.facecolor", "figure.facecolor", "savefig.facecolor"], "none"),
    **{"legend.facecolor": "#ffffff", "legend.edgecolor": "#b0b0b0", "grid.color": "#b0b0b0"},
    **{"axes.spines.top": False, "axes.spines.right": False},
    # Text stays text, and dollar signs in names of columns and labels are not formulas.
    **{"svg.fonttype": "none", "svg.hashsalt": "gpclass", "text.parse_math": False},
}


def figure(
    draw: Callable[..., Any],
    description: str,
    *arguments: Any,
    size: tuple[float, float] = WIDE,
) -> str:
    """What a function draws on axes, as a drawing in the page, without pyplot, which keeps figures open."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        made = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(made)
        draw(made.subplots(), *arguments)
        svg = StringIO()
        made.savefig(svg, format="svg", metadata=dict.fromkeys(["Creator", "Date", "Format", "Type"]))
    return pages.drawing(svg.getvalue(), description, _IN_PAGE)


def draw_regression(ax: Any, model: TableModel) -> None:
    shown = evenly_spaced(len(model.scored_["y"]), 500)
    y, mean, sd = (model.scored_[name][shown] for name in ("y", "mean", "sd"))
    ax.errorbar(mean, y, xerr=sd, fmt=".", alpha=0.5, elinewidth=0.5, color=COLOURS[0])
    ends = [model.scored_["y"].min(), model.scored_["y"].max()]
    ax.plot(ends, ends, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel=f"predicted ± 1 sd, {model.how_}", ylabel=model.target)


def draw_influence(ax: Any, top: Sequence[dict[str, Any]], unit: str) -> None:
    influence, error = [row["influence"] for row in top], [row["influence_se"] for row in top]
    ax.barh(np.arange(len(top)), influence, xerr=error, color=COLOURS[0], ecolor=INK)
    ax.set_yticks(np.arange(len(top)), [shortened(row["column"]) for row in top])
    ax.set(xlabel=f"influence, {unit}", xlim=(0.0, None))
    ax.grid(axis="x", alpha=0.5)


def dependence_panels(model: TableModel, found: Sequence[Dependence]) -> str:
    """A drawing for each column, and the colours of the classes above them."""
    from matplotlib.colors import to_hex

    shown = shown_outputs(model, found)
    labels = [shortened(label) for label in model.labels]
    colours, key = [COLOURS[0]], ""
    if len(labels) > 2:
        rgb = class_colours(len(labels), ordered=model.task_ == "ordinal")[shown]
        colours = [to_hex(colour) for colour in rgb]
        names = zip(shown, colours, strict=True)
        key = pages.key([(labels[k], pages.adapted(colour, _IN_PAGE)) for k, colour in names])
    ylabel = model.target if not labels else "probability" if len(labels) > 2 else f"probability of {labels[shown[0]]}"
    top = highest(found, shown) if labels else None

    def draw(ax: Any, own: Dependence) -> None:
        draw_one = _draw_curves if own.deciles is not None else _draw_categories
        draw_one(ax, own, shown, colours)
        ax.set(xlabel=shortened(own.column), ylabel=ylabel)
        if top is not None:
            ax.set_ylim(-0.02 * top, 1.02 * top)

    drawings = [figure(draw, f"Partial dependence on {own.column}", own, size=_PANEL) for own in found]
    return f'{key}<div class="panels">{"".join(drawings)}</div>'


def shown_outputs(model: TableModel, found: Sequence[Dependence]) -> list[int]:
    """Regression has one output; of two classes the positive one is shown; of many those whose probability varies
    most."""
    K = len(model.labels)
    if K <= 2:
        return [model.positive_position() or 0]
    spread = np.max([np.ptp(own.average, axis=0) for own in found], axis=0)
    return sorted(np.argsort(-spread, kind="stable")[:_CURVES].tolist())


def highest(found: Sequence[Dependence], shown: Sequence[int]) -> float:
    """Where the axis of probabilities ends: at 1, or above the highest band where all are below one half."""
    most = max(float(own.quantile(0.9)[:, shown].max()) for own in found)
    return 1.0 if most >= 0.5 else 1.1 * most


def _draw_curves(ax: Any, own: Dependence, shown: Sequence[int], colours: Sequence[Any]) -> None:
    low, high = own.quantile(0.1), own.quantile(0.9)
    alpha = 0.18 if len(shown) <= 2 else 0.09  # many bands lie over each other
    for colour, k in zip(colours, shown, strict=True):
        ax.fill_between(own.values, low[:, k], high[:, k], color=colour, alpha=alpha, linewidth=0)
        ax.plot(own.values, own.average[:, k], color=colour, linewidth=1.6)
    # Deciles of the rows, as in scikit-learn's display.
    ax.vlines(own.deciles, 0.0, 0.04, transform=ax.get_xaxis_transform(), color=INK, linewidth=0.8)


def _draw_categories(ax: Any, own: Dependence, shown: Sequence[int], colours: Sequence[Any]) -> None:
    low, high, places = own.quantile(0.1), own.quantile(0.9), np.arange(len(own.values))
    for i, (colour, k) in enumerate(zip(colours, shown, strict=True)):
        beside = places + 0.5 * (i - 0.5 * (len(shown) - 1)) / len(shown)
        ax.vlines(beside, low[:, k], high[:, k], color=colour, alpha=0.4, linewidth=3.0)
        ax.plot(beside, own.average[:, k], "_", color=colour, markersize=9, markeredgewidth=2.0)
    names = [shortened(value) for value in own.values]
    long = sum(map(len, names)) > 26
    ax.set_xticks(places, names, rotation=30 if long else 0, ha="right" if long else "center", fontsize="small")

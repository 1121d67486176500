"""Figures of the experiments, drawn without pyplot, which keeps figures open."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .base import Records

#: One for each method, distinct for the colour-blind and in print.
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#555555")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Published values by method, and their standard errors where they are known.
Published = Mapping[str, tuple[float, float | None]]


def panels(n_columns: int = 1, n_rows: int = 1, size: tuple[float, float] = (4.6, 3.4), **settings: Any) -> Any:
    """A figure and its axes (one, or an array of them); ``size`` is that of one panel in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'gpclass[cli]'") from error
    figure = Figure(figsize=(n_columns * size[0], n_rows * size[1]), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, **settings)


def legend_below(figure: Any, ax: Any, ncols: int, **settings: Any) -> None:
    """The legend of one panel below the whole figure."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=ncols, **settings)


def method_errors(
    parts: Mapping[str, tuple[Records, Published]], methods: Iterable[str], name: str, xlabel: str, **settings: Any
) -> Any:
    """A figure with a panel for each part by title: its records, and published values by method."""
    figure, axes = panels(len(parts), squeeze=False, sharey=True, **settings)
    for ax, (title, (records, published)) in zip(axes[0], parts.items(), strict=True):
        draw_method_errors(ax, records, list(methods), name, published)
        ax.set(title=title, xlabel=xlabel)
    legend_below(figure, axes[0, 0], 3, fontsize=8)
    return figure


def draw_method_errors(ax: Any, records: Records, methods: list[str], name: str, published: Published) -> None:
    """One line for each method: every run, their mean, and the published value with its standard error if known."""
    lines = np.arange(len(methods))
    values = [records.where(method=method).values(name) for method in methods]
    for line, runs in zip(lines, values, strict=True):
        # A little apart, so that equal counts remain visible.
        offsets = 0.15 + 0.12 * np.linspace(-1.0, 1.0, len(runs)) if len(runs) > 1 else np.array([0.15])
        label = "measured, each run" if line == 0 else None
        ax.plot(runs, line + offsets, ".", color=COLOURS[4], markersize=4, zorder=1, label=label)
    ax.plot([np.mean(runs) for runs in values], lines + 0.15, "o", color=COLOURS[0], label="measured, mean", zorder=2)
    known = [line for line in lines if methods[line] in published]
    cells = [published[methods[line]] for line in known]
    means, errors = [mean for mean, _ in cells], [error or 0.0 for _, error in cells]
    ax.errorbar(means, np.array(known) - 0.2, xerr=errors, fmt="D", color=COLOURS[1], label="published")
    ax.set(yticks=lines, yticklabels=methods, ylim=(len(methods) - 0.5, -0.5))
    ax.grid(axis="x", alpha=0.3)

"""Figures of the experiments, without pyplot: nothing global, nothing to close."""

from __future__ import annotations

from typing import Any

#: One for each method, apart also for the colour-blind and on paper.
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#555555")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def panels(n_columns: int = 1, n_rows: int = 1, size: tuple[float, float] = (4.6, 3.4), **settings: Any) -> Any:
    """A figure and its axes (one, or an array of them), each panel of so many inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'gpclass[cli]'") from error
    figure = Figure(figsize=(n_columns * size[0], n_rows * size[1]), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, **settings)

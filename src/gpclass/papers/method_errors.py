"""Errors of several methods beside the published ones, as a panel of a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .base import Records
from .figures import COLOURS


def draw_errors(
    ax: Any, records: Records, methods: list[str], name: str, published: Mapping[str, tuple[float, float | None]]
) -> None:
    """One line for each method: every run, their mean, and the published number with its standard error if known."""
    lines = np.arange(len(methods))
    own = [records.where(method=method).values(name) for method in methods]
    for line, values in zip(lines, own, strict=True):
        # A little apart, so that equal counts can be told from one.
        offsets = 0.15 + 0.12 * np.linspace(-1.0, 1.0, len(values)) if len(values) > 1 else np.array([0.15])
        label = "measured, each run" if line == 0 else None
        ax.plot(values, line + offsets, ".", color=COLOURS[4], markersize=4, zorder=1, label=label)
    ax.plot([np.mean(values) for values in own], lines + 0.15, "o", color=COLOURS[0], label="measured, mean", zorder=2)
    known = [line for line in lines if methods[line] in published]
    numbers = [published[methods[line]] for line in known]
    ax.errorbar(
        [mean for mean, _ in numbers],
        [line - 0.2 for line in known],
        xerr=[error or 0.0 for _, error in numbers],
        fmt="D",
        color=COLOURS[1],
        label="published",
    )
    ax.set_yticks(lines, methods)
    ax.set_ylim(len(methods) - 0.5, -0.5)
    ax.grid(axis="x", alpha=0.3)

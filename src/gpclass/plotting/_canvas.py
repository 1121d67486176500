"""What the pictures share: figures and axes, colours, names beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Colours for classes, readable for the colour-blind (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#555555")
INK = "#222222"

#: More names than this fill a picture rather than explain it.
_MOST_NAMES = 20
#: So many short names leave room for the data.
_FEW_NAMES, _SHORT, _LONGEST = 4, 14, 28


def new_figure(size: tuple[float, float] | None = None) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'gpclass[plot]'") from error
    return plt.figure(layout="constrained", figsize=size)


def axes_or_new(ax: Any) -> Any:
    """The axes given, or those of a new figure."""
    return new_figure().subplots() if ax is None else ax


def class_colours(n_classes: int, ordered: bool = False) -> np.ndarray:
    """A colour (n_classes, 3) for each class; from dark to light where classes have an order."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    if ordered:
        # Not as far as the lightest yellow, which is lost on white.
        return colormaps["viridis"](np.linspace(0.0, 0.88, n_classes))[:, :3]
    base = np.array([to_rgb(colour) for colour in COLOURS])
    shades = np.concatenate([base, 0.55 * base, 0.5 + 0.5 * base])
    return shades[np.arange(n_classes) % len(shades)]


def row_colours(places: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """The colour (n, 3) of each row's class; ink where it is -1, none of them."""
    from matplotlib.colors import to_rgb

    return np.vstack([colours, to_rgb(INK)])[places]


def shortened(name: Any) -> str:
    """A name that leaves room for the picture; long ones often differ in how they end."""
    name = str(name)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 12]}…{name[-11:]}"


def legend(ax: Any, loc: str | None = "upper right") -> None:
    """Names of what is drawn: inside where they are few and short, else (and without ``loc``) beside the axes."""
    names = ax.get_legend_handles_labels()[1]
    if not 0 < len(names) <= _MOST_NAMES:
        return
    few = len(names) <= _FEW_NAMES and max(map(len, names)) <= _SHORT
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
    ax.legend(fontsize="small", **({"loc": loc, "framealpha": 0.9} if few and loc else beside))


def moved_apart(heights: np.ndarray, least: float, low: float, high: float) -> np.ndarray:
    """Increasing heights, moved as far apart as ``least``, where there is room, and no further than need be."""
    steps = min(least, (high - low) / max(len(heights) - 1, 1)) * np.arange(len(heights))
    upwards = np.maximum.accumulate(heights - steps) + steps
    downwards = np.minimum.accumulate((heights - steps)[::-1])[::-1] + steps
    return np.clip(0.5 * (upwards + downwards), low + steps, high - steps[::-1])

"""Figures, colours and legends shared by the displays."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

#: Colours for classes, distinct for the colour-blind (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#555555")
INK = "#222222"

#: A legend has at most this many names; few short ones fit inside the axes; longer names are shortened.
_MAX_NAMES, _FEW_NAMES, _SHORT, _LONGEST = 20, 4, 14, 28


def new_figure(size: tuple[float, float] | None = None) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'gpclass[plot]'") from error
    return plt.figure(layout="constrained", figsize=size)


class Display:
    """A display on one pair of axes, which ``_draw`` of a subclass draws."""

    _draw: Callable[..., None]

    def plot(self, ax: Any = None, **style: Any) -> Self:
        """Draw on the axes given, or on those of a new figure."""
        ax = new_figure().subplots() if ax is None else ax
        self._draw(ax, **style)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def class_colours(n_classes: int, ordered: bool = False) -> np.ndarray:
    """A colour (n_classes, 3) for each class; from dark to light where classes have an order."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    if ordered:
        # Without the lightest yellow, which is invisible on white.
        return colormaps["viridis"](np.linspace(0.0, 0.88, n_classes))[:, :3]
    base = np.array([to_rgb(colour) for colour in COLOURS])
    shades = np.concatenate([base, 0.55 * base, 0.5 + 0.5 * base])
    return shades[np.arange(n_classes) % len(shades)]


def row_colours(indices: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """The colour (n, 3) of each row's class; ``INK`` where the index is -1."""
    from matplotlib.colors import to_rgb

    return np.vstack([colours, to_rgb(INK)])[indices]


def shortened(name: Any) -> str:
    """A name with its middle left out if it is long, as long names often differ at the end."""
    name = str(name)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 12]}…{name[-11:]}"


def legend(ax: Any, loc: str | None = "upper right") -> None:
    """A legend inside the axes where names are few and short, else (and without ``loc``) beside them."""
    names = ax.get_legend_handles_labels()[1]
    if not 0 < len(names) <= _MAX_NAMES:
        return
    few = len(names) <= _FEW_NAMES and max(map(len, names)) <= _SHORT
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
    ax.legend(fontsize="small", **({"loc": loc, "framealpha": 0.9} if few and loc else beside))


def spread_out(positions: np.ndarray, distance: float, low: float, high: float) -> np.ndarray:
    """Increasing positions, moved as little as possible to be ``distance`` apart, or less where there is no room."""
    steps = min(distance, (high - low) / max(len(positions) - 1, 1)) * np.arange(len(positions))
    upwards = np.maximum.accumulate(positions - steps) + steps
    downwards = np.minimum.accumulate((positions - steps)[::-1])[::-1] + steps
    return np.clip(0.5 * (upwards + downwards), low + steps, high - steps[::-1])

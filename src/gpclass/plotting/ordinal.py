"""Ordered labels: a latent value and the cut points it falls between."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._canvas import INK, axes_or_new, class_colours, moved_apart, row_colours, shortened
from ._inputs import Inputs, class_places, require
from .latent import beliefs


class OrdinalThresholdDisplay:
    """Rows between the cut points of a ``GPOrdinalClassifier``: latent means, one standard deviation either way.

    ``mean`` and ``sd`` (n,) belong to rows at ``x`` (n,); ``y`` (n,) says which of the ``classes`` each is (-1 for
    none).
    """

    def __init__(
        self,
        x: np.ndarray,
        mean: np.ndarray,
        sd: np.ndarray,
        cut_points: np.ndarray,
        classes: np.ndarray,
        *,
        y: np.ndarray | None = None,
        xlabel: str = "",
    ) -> None:
        self.x, self.mean, self.sd, self.cut_points, self.classes = x, mean, sd, cut_points, classes
        self.y, self.xlabel = y, xlabel

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, feature: Any = None, ax: Any = None
    ) -> OrdinalThresholdDisplay:
        """Of the rows of X, sorted by latent mean, or along the input ``feature``; y colours them.

        Means and deviations are those that predictions take, stretched by the factors of ``calibration_``.
        """
        require(estimator, "a GPOrdinalClassifier", "cut_points_")
        inputs, classes = Inputs(X), estimator.classes_
        place = None if feature is None else inputs.place(feature)
        if y is not None:
            y = class_places(y, classes, len(inputs))
        mean, sd = (values[:, 0] for values in beliefs(estimator, X))
        if place is None:
            order = np.argsort(mean, kind="stable")
            x, mean, sd, xlabel = np.arange(1.0, len(mean) + 1.0), mean[order], sd[order], "rows, sorted"
            y = None if y is None else y[order]
        else:
            x, xlabel = inputs.numbers[:, place], inputs.name(place)
        return cls(x, mean, sd, estimator.cut_points_, classes, y=y, xlabel=xlabel).plot(ax=ax)

    def plot(self, ax: Any = None) -> OrdinalThresholdDisplay:
        ax = axes_or_new(ax)
        colours = class_colours(len(self.classes), ordered=True)
        low = min(np.min(self.mean - self.sd), self.cut_points[0])
        high = max(np.max(self.mean + self.sd), self.cut_points[-1])
        margin = 0.08 * (high - low)
        edges = np.array([low - margin, *self.cut_points, high + margin])
        for k in range(len(self.classes)):
            ax.axhspan(edges[k], edges[k + 1], color=colours[k], alpha=0.1, linewidth=0)
        for cut in self.cut_points:
            ax.axhline(cut, color=INK, linewidth=0.9)
        shades = row_colours(np.full(len(self.mean), -1) if self.y is None else self.y, colours)
        ax.vlines(self.x, self.mean - self.sd, self.mean + self.sd, colors=shades, linewidth=0.9, alpha=0.5)
        ax.scatter(self.x, self.mean, s=14, c=shades, linewidth=0, zorder=3)
        ax.set(ylim=(edges[0], edges[-1]), xlabel=self.xlabel, ylabel="latent value, mean ± 1 sd")
        self._name_categories(ax, edges)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _name_categories(self, ax: Any, edges: np.ndarray) -> None:
        """Names at the right margin, between the lines as far as they have room there."""
        middles = 0.5 * (edges[:-1] + edges[1:])
        points = ax.get_window_extent().height * 72.0 / ax.figure.dpi
        line = 11.0 * (edges[-1] - edges[0]) / points
        heights = moved_apart(middles, line, edges[0] + 0.5 * line, edges[-1] - 0.5 * line)
        leader = {
            "arrowstyle": "-",
            "color": INK,
            "linewidth": 0.6,
            "shrinkA": 1.0,
            "shrinkB": 0.0,
            "relpos": (0.0, 0.5),
        }
        for label, middle, height in zip(self.classes, middles, heights, strict=True):
            ax.annotate(
                shortened(label),
                (1.0, middle),
                xytext=(1.04, height),
                xycoords=ax.get_yaxis_transform(),
                textcoords=ax.get_yaxis_transform(),
                fontsize="small",
                color=INK,
                va="center",
                arrowprops=leader,
                annotation_clip=False,
            )

"""Latent values and cut points of ordered classes."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ._canvas import INK, Display, class_colours, row_colours, shortened, spread_out
from ._inputs import PlotInputs, require
from .latent import latent_moments


@dataclass(eq=False, repr=False)
class OrdinalThresholdDisplay(Display):
    """Latent means of rows, with one standard deviation, and the cut points of a ``GPOrdinalClassifier``.

    ``mean`` and ``sd`` (n,) belong to rows at ``x`` (n,); ``y`` (n,) are class indices (-1 for none).
    """

    x: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    cut_points: np.ndarray
    classes: np.ndarray
    _: KW_ONLY
    y: np.ndarray | None = None
    xlabel: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, *, feature: Any = None, ax: Any = None) -> Self:
        """From the rows of X, sorted by latent mean, or along the input ``feature``; y colours them.

        Means and standard deviations are scaled by ``calibration_`` as in predictions.
        """
        require(estimator, "a GPOrdinalClassifier", "cut_points_")
        inputs, classes = PlotInputs(X), estimator.classes_
        index = None if feature is None else inputs.index(feature)
        y = inputs.target(y, classes)
        mean, sd = (values[:, 0] for values in latent_moments(estimator, X))
        if index is None:
            order = np.argsort(mean, kind="stable")
            x, mean, sd, xlabel = np.arange(1.0, len(mean) + 1.0), mean[order], sd[order], "rows, sorted"
            y = None if y is None else y[order]
        else:
            x, xlabel = inputs.values[:, index], inputs.name(index)
        return cls(x, mean, sd, estimator.cut_points_, classes, y=y, xlabel=xlabel).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
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

    def _name_categories(self, ax: Any, edges: np.ndarray) -> None:
        """Names at the right margin, at the middle of their band where there is room."""
        middles = 0.5 * (edges[:-1] + edges[1:])
        points = ax.get_window_extent().height * 72.0 / ax.figure.dpi
        line = 11.0 * (edges[-1] - edges[0]) / points
        positions = spread_out(middles, line, edges[0] + 0.5 * line, edges[-1] - 0.5 * line)
        leader = {"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 0, "relpos": (0.0, 0.5)}
        transform = ax.get_yaxis_transform()
        style = {"fontsize": "small", "color": INK, "va": "center", "arrowprops": leader, "annotation_clip": False}
        for label, middle, position in zip(self.classes, middles, positions, strict=True):
            places = {"xytext": (1.04, position), "xycoords": transform, "textcoords": transform}
            ax.annotate(shortened(label), (1.0, middle), **places, **style)

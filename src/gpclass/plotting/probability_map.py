"""Class probabilities over two inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._canvas import INK, axes_or_new, class_colours, legend, shortened
from ._inputs import Inputs, class_places, require


class ProbabilityMapDisplay:
    """Class probabilities over two inputs: colours mix in proportion, lines are the decision boundaries.

    ``rows`` (n, 2) and ``labels`` (n,), which of the classes each is (-1 for none), are drawn on top where given.
    """

    def __init__(
        self,
        grid: tuple[np.ndarray, np.ndarray],
        proba: np.ndarray,
        classes: np.ndarray,
        *,
        rows: np.ndarray | None = None,
        labels: np.ndarray | None = None,
        names: tuple[str, str] = ("", ""),
    ) -> None:
        self.grid, self.proba, self.classes = grid, proba, classes
        self.rows, self.labels, self.names = rows, labels, names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: tuple[Any, Any] = (0, 1),
        resolution: int = 160,
        ax: Any = None,
    ) -> ProbabilityMapDisplay:
        """Map a fitted classifier over two inputs, others at their medians or most frequent categories; y draws the
        rows on top."""
        require(estimator, "a classifier with predict_proba", "predict_proba", "classes_")
        inputs, classes = Inputs(X), estimator.classes_
        places = inputs.two_places(features)
        labels = None if y is None else class_places(y, classes, len(inputs))
        grid, rows = inputs.plane(places, resolution)
        proba = estimator.predict_proba(rows).reshape(resolution, resolution, -1)
        names = inputs.name(places[0]), inputs.name(places[1])
        shown = inputs.numbers[:, places]
        return cls(grid, proba, classes, rows=shown, labels=labels, names=names).plot(ax=ax)

    def plot(self, ax: Any = None) -> ProbabilityMapDisplay:
        ax = axes_or_new(ax)
        colours = class_colours(self.proba.shape[-1])
        # Half-way to white, so that the rows stand out.
        image = 1.0 - 0.55 * self.proba @ (1.0 - colours)
        x, y = self.grid
        ax.imshow(image, extent=(x[0], x[-1], y[0], y[-1]), origin="lower", aspect="auto", interpolation="bilinear")
        for k in range(self.proba.shape[-1]):
            rest = np.delete(self.proba, k, axis=-1).max(axis=-1)
            lead = self.proba[..., k] - rest
            if lead.min() < 0.0 < lead.max():
                ax.contour(x, y, lead, levels=[0.0], colors=INK, linewidths=0.9)
        if self.rows is not None and self.labels is not None:
            for k, label in enumerate(self.classes):
                own = self.rows[self.labels == k]
                name = shortened(label)
                ax.scatter(*own.T, s=16, color=colours[k], edgecolor="white", linewidth=0.5, label=name)
            legend(ax)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self

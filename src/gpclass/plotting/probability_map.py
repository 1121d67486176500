"""Class probabilities over two inputs."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ._canvas import INK, Display, class_colours, legend, shortened
from ._inputs import Plane, PlotInputs, require


@dataclass(eq=False, repr=False)
class ProbabilityMapDisplay(Display):
    """Class probabilities over two inputs: colours mix in proportion, lines are the decision boundaries.

    ``rows`` (n, 2) and ``labels`` (n,), class indices (-1 for none), are drawn on top where given.
    """

    grid: tuple[np.ndarray, np.ndarray]
    proba: np.ndarray
    classes: np.ndarray
    _: KW_ONLY
    rows: np.ndarray | None = None
    labels: np.ndarray | None = None
    names: tuple[str, str] = ("", "")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, features: Plane = (0, 1), resolution: int = 160, ax: Any = None
    ) -> Self:
        """Map a fitted classifier over two inputs, others at their medians or most frequent categories; y draws the
        rows on top."""
        require(estimator, "a classifier with predict_proba", "predict_proba", "classes_")
        inputs, classes = PlotInputs(X), estimator.classes_
        indices, names = inputs.two(features)
        labels = inputs.target(y, classes)
        grid, points = inputs.plane(indices, resolution)
        proba = estimator.predict_proba(points).reshape(resolution, resolution, -1)
        return cls(grid, proba, classes, rows=inputs.values[:, indices], labels=labels, names=names).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        colours = class_colours(self.proba.shape[-1])
        # Half-way to white, for contrast with the rows.
        image = 1.0 - 0.55 * self.proba @ (1.0 - colours)
        x, y = self.grid
        ax.imshow(image, extent=(x[0], x[-1], y[0], y[-1]), origin="lower", aspect="auto", interpolation="bilinear")
        for k in range(self.proba.shape[-1]):
            lead = self.proba[..., k] - np.delete(self.proba, k, axis=-1).max(axis=-1)
            if lead.min() < 0.0 < lead.max():
                ax.contour(x, y, lead, levels=[0.0], colors=INK, linewidths=0.9)
        if self.rows is not None and self.labels is not None:
            for k, label in enumerate(self.classes):
                rows, name = self.rows[self.labels == k], shortened(label)
                ax.scatter(*rows.T, s=16, color=colours[k], edgecolor="white", linewidth=0.5, label=name)
            legend(ax)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])

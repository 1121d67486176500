"""The band between two classes that rows without label keep clear."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimators._labels import is_missing
from ._canvas import COLOURS, INK, axes_or_new, legend, shortened
from ._inputs import Inputs, require


class NullCategoryDisplay:
    """A boundary between two classes and the band around it that rows without label keep clear (LPJ05 figure 5).

    ``latent`` holds, over a grid, the latent mean above the boundary: 0 on it, -1/2 and 1/2 at the edges of the band.
    ``rows`` (n, 2) are drawn on top, those that ``active`` numbers large, ``above`` and ``below`` (masks) as crosses
    and circles with their names.
    """

    def __init__(
        self,
        grid: tuple[np.ndarray, np.ndarray],
        latent: np.ndarray,
        *,
        rows: np.ndarray | None = None,
        active: np.ndarray | None = None,
        above: tuple[str, np.ndarray] | None = None,
        below: tuple[str, np.ndarray] | None = None,
        names: tuple[str, str] = ("", ""),
    ) -> None:
        self.grid, self.latent, self.rows, self.active = grid, latent, rows, active
        self.above, self.below, self.names = above, below, names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        label: Any = None,
        features: tuple[Any, Any] = (0, 1),
        resolution: int = 160,
        ax: Any = None,
    ) -> NullCategoryDisplay:
        """Of a ``NullCategoryClassifier`` fitted to X; with the y of ``fit`` labelled rows are crosses and circles,
        active rows large. With more than two classes ``label`` says whose boundary."""
        require(estimator, "a NullCategoryClassifier", "null_category_")
        inputs, classes = Inputs(X), estimator.classes_
        binary = len(classes) == 2
        if not binary and label not in classes:
            raise ValueError(f"expected label=, one of {classes.tolist()}, got {label!r}")
        which = 0 if binary else int(np.flatnonzero(classes == label)[0])
        places = inputs.two_places(features)
        grid, plane = inputs.plane(places, resolution)
        bias = estimator.null_category_.bias if binary else 0.0
        latent = estimator.latent(plane).mean[:, which].reshape(resolution, resolution) + bias
        above = below = None
        if y is not None:
            upper = classes[1] if binary else label
            labels = np.ravel(np.asarray(y, dtype=object)).tolist()
            if len(labels) != len(inputs):
                raise ValueError(f"expected y with {len(inputs)} labels, one for each row of X, got {len(labels)}")
            known = np.array([not is_missing(value) and value in classes.tolist() for value in labels])
            mine = np.array([own and value == upper for own, value in zip(known, labels, strict=True)])
            above, below = (str(upper), mine), (str(classes[0]) if binary else "others", known & ~mine)
        return cls(
            grid,
            latent,
            rows=inputs.numbers[:, places],
            active=estimator.active_ if binary else estimator.active_[which],
            above=above,
            below=below,
            names=(inputs.name(places[0]), inputs.name(places[1])),
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> NullCategoryDisplay:
        ax = axes_or_new(ax)
        x, y = self.grid
        ax.contourf(x, y, self.latent, levels=[-0.5, 0.5], colors=[COLOURS[4]], alpha=0.2)
        for level, width, style in ((0.0, 1.6, "-"), (-0.5, 1.0, ":"), (0.5, 1.0, ":")):
            if self.latent.min() < level < self.latent.max():
                ax.contour(x, y, self.latent, levels=[level], colors=INK, linewidths=width, linestyles=style)
        if self.rows is not None:
            ax.scatter(*self.rows.T, s=3, color=INK, alpha=0.5, label="rows")
            if self.active is not None:
                ax.scatter(*self.rows[self.active].T, s=22, color=INK, alpha=0.6, linewidth=0, label="active")
            if self.above is not None:
                name, own = self.above
                ax.scatter(*self.rows[own].T, s=55, marker="x", color=COLOURS[1], label=shortened(name), zorder=3)
            if self.below is not None:
                name, own = self.below
                ring = {"facecolor": "none", "edgecolor": COLOURS[0]}
                ax.scatter(*self.rows[own].T, s=55, marker="o", label=shortened(name), zorder=3, **ring)
                legend(ax)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self

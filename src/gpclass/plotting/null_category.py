"""The null-category band between two classes."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ..estimators._labels import is_missing
from ._canvas import COLOURS, INK, Display, legend, shortened
from ._inputs import Plane, PlotInputs, require


@dataclass(eq=False, repr=False)
class NullCategoryDisplay(Display):
    """The boundary between two classes and the null-category band around it, without unlabelled rows (LPJ05 figure 5).

    ``latent`` is the latent mean over a grid: 0 on the boundary, -1/2 and 1/2 at the edges of the band. ``rows`` (n, 2)
    are drawn on top, larger for the indices ``active``, as crosses ``above`` and circles ``below`` (names and masks).
    """

    grid: tuple[np.ndarray, np.ndarray]
    latent: np.ndarray
    _: KW_ONLY
    rows: np.ndarray | None = None
    active: np.ndarray | None = None
    above: tuple[str, np.ndarray] | None = None
    below: tuple[str, np.ndarray] | None = None
    names: tuple[str, str] = ("", "")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        label: Any = None,
        features: Plane = (0, 1),
        resolution: int = 160,
        ax: Any = None,
    ) -> Self:
        """From a ``NullCategoryClassifier`` fitted to X; with the y of ``fit`` labelled rows are crosses and circles.
        With more than two classes ``label`` is the class to separate from the others."""
        require(estimator, "a NullCategoryClassifier", "null_category_")
        inputs, classes = PlotInputs(X), estimator.classes_
        binary = len(classes) == 2
        if not binary and label not in classes:
            raise ValueError(f"expected label=, one of {classes.tolist()}, got {label!r}")
        which = 0 if binary else int(np.flatnonzero(classes == label)[0])
        indices, names = inputs.two(features)
        grid, plane = inputs.plane(indices, resolution)
        bias = estimator.null_category_.bias if binary else 0.0
        latent = estimator.latent(plane).mean[:, which].reshape(resolution, resolution) + bias
        above = below = None
        if y is not None:
            upper = classes[1] if binary else label
            labels = np.ravel(np.asarray(y, dtype=object)).tolist()
            if len(labels) != len(inputs):
                raise ValueError(f"expected y with {len(inputs)} labels, one for each row of X, got {len(labels)}")
            known = np.array([not is_missing(value) and value in classes.tolist() for value in labels])
            positive = np.array([labelled and value == upper for labelled, value in zip(known, labels, strict=True)])
            above, below = (str(upper), positive), (str(classes[0]) if binary else "others", known & ~positive)
        rows, active = inputs.values[:, indices], estimator.active_ if binary else estimator.active_[which]
        return cls(grid, latent, rows=rows, active=active, above=above, below=below, names=names).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.contourf(*self.grid, self.latent, levels=[-0.5, 0.5], colors=[COLOURS[4]], alpha=0.2)
        for level, width, style in ((0.0, 1.6, "-"), (-0.5, 1.0, ":"), (0.5, 1.0, ":")):
            if self.latent.min() < level < self.latent.max():
                ax.contour(*self.grid, self.latent, levels=[level], colors=INK, linewidths=width, linestyles=style)
        if self.rows is not None:
            ax.scatter(*self.rows.T, s=3, color=INK, alpha=0.5, label="rows")
            if self.active is not None:
                ax.scatter(*self.rows[self.active].T, s=22, color=INK, alpha=0.6, linewidth=0, label="active")
            if self.above is not None:
                name, mask = self.above
                ax.scatter(*self.rows[mask].T, s=55, marker="x", color=COLOURS[1], label=shortened(name), zorder=3)
            if self.below is not None:
                name, mask = self.below
                ring = {"facecolor": "none", "edgecolor": COLOURS[0]}
                ax.scatter(*self.rows[mask].T, s=55, marker="o", label=shortened(name), zorder=3, **ring)
                legend(ax)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])

"""Which rows a sparse model keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from ._canvas import INK, axes_or_new, class_colours, legend, row_colours, shortened
from ._inputs import Inputs, class_places, require, targets

#: So many rows have a number that says when they were included.
_NUMBERED = 10


class ActiveSetDisplay:
    """Rows over two inputs, those that a sparse model keeps circled.

    ``rows`` (n, 2) are coloured by ``y``: which of the classes each is (-1 for none), or numbers where there are no
    ``classes``. ``kept`` (S, 2) are the rows kept, in the order of their inclusion if ``in_order``: then the first ten
    are numbered, and circles fade from the first to the last.
    """

    def __init__(
        self,
        rows: np.ndarray,
        kept: np.ndarray,
        *,
        y: np.ndarray | None = None,
        classes: np.ndarray | None = None,
        in_order: bool = True,
        ordered_classes: bool = False,
        names: tuple[str, str] = ("", ""),
    ) -> None:
        self.rows, self.kept, self.y, self.classes = rows, kept, y, classes
        self.in_order, self.ordered_classes, self.names = in_order, ordered_classes, names

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, features: tuple[Any, Any] = (0, 1), ax: Any = None
    ) -> ActiveSetDisplay:
        """Of an ``IVMClassifier``, ``IVMRegressor``, ``SparseGPClassifier`` (its inducing rows) or a
        ``GPOrdinalClassifier(inference="ivm")``; X and y are the rows to draw, those of ``fit`` perhaps.

        After ``partial_fit`` rows have come and gone, and inducing rows need not come from the informative vector
        machine: then there is no order to show.
        """
        require(estimator, "a model that keeps some rows")
        active, in_order = _active_rows(estimator)
        inputs = Inputs(X)
        if inputs.numbers.shape[1] != active.shape[1]:
            raise ValueError(
                f"expected X with {active.shape[1]} columns, as in fit, got {inputs.numbers.shape[1]} columns"
            )
        places = inputs.two_places(features)
        classes = None if is_regressor(estimator) else estimator.classes_
        if y is not None:
            y = targets(y, len(inputs)) if classes is None else class_places(y, classes, len(inputs))
        return cls(
            inputs.numbers[:, places],
            active[:, places],
            y=y,
            classes=classes,
            in_order=in_order,
            ordered_classes=hasattr(estimator, "cut_points_"),
            names=(inputs.name(places[0]), inputs.name(places[1])),
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> ActiveSetDisplay:
        ax = axes_or_new(ax)
        size = 14 if len(self.rows) <= 2000 else 5
        if self.y is None:
            ax.scatter(*self.rows.T, s=size, color=INK, alpha=0.35, linewidth=0, label="rows")
        elif self.classes is None:
            points = ax.scatter(*self.rows.T, s=size, c=self.y, cmap="viridis", linewidth=0)
            ax.figure.colorbar(points, ax=ax, label="y")
        else:
            ax.scatter(*self.rows[self.y < 0].T, s=size, color=INK, alpha=0.35, linewidth=0)
            colours = class_colours(len(self.classes), self.ordered_classes)
            for k, label in enumerate(self.classes):
                own = self.rows[self.y == k]
                ax.scatter(*own.T, s=size, color=colours[k], alpha=0.8, linewidth=0, label=shortened(label))
        fade = np.linspace(1.0, 0.3, len(self.kept)) if self.in_order else np.full(len(self.kept), 0.7)
        ring = 75 if len(self.kept) <= 100 else 32
        shades = np.column_stack([row_colours(np.full(len(fade), -1), np.empty((0, 3))), fade])
        name = f"{len(self.kept)} kept"
        ax.scatter(*self.kept.T, s=ring, facecolor="none", edgecolor=shades, linewidth=1.1, label=name)
        if self.in_order:
            self._number(ax)
        legend(ax)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _number(self, ax: Any) -> None:
        """Numbers of the first rows, each on the side away from its nearest neighbour."""
        from matplotlib.patheffects import withStroke

        first = self.kept[:_NUMBERED]
        spread = np.ptp(np.vstack([self.kept, self.rows[np.isfinite(self.rows).all(axis=1)]]), axis=0)
        apart = (first[:, None] - first) / np.where(spread > 0, spread, 1.0)
        distance = np.hypot(*apart.T) + np.diag(np.full(len(first), np.inf))
        for i, nearest in enumerate(distance.argmin(axis=0)):
            length = np.hypot(*apart[i, nearest])
            away = apart[i, nearest] / length if length > 0 else np.array([0.7, 0.7])
            ax.annotate(
                str(i + 1),
                first[i],
                xytext=9.5 * away,
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize="small",
                weight="bold",
                color=INK,
                path_effects=[withStroke(linewidth=2.5, foreground="white")],
                zorder=4,
            )


def _active_rows(estimator: Any) -> tuple[np.ndarray, bool]:
    """The rows kept, in the units of X, and whether they are in the order of their inclusion."""
    if hasattr(estimator, "active_rows_"):
        return estimator.active_rows_, getattr(estimator, "sites_", None) is not None
    if hasattr(estimator, "inducing_rows_"):
        return estimator.inducing_rows_, isinstance(estimator.inducing, str) and estimator.inducing == "ivm"
    if getattr(estimator, "sites_", None) is not None:
        return estimator._unscaled(estimator.posterior_.X), True
    raise TypeError(
        "expected a model that keeps some rows, such as IVMClassifier, SparseGPClassifier or "
        f"GPOrdinalClassifier(inference='ivm'); got {type(estimator).__name__}, which has no active rows"
    )

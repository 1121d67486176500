"""Active rows of sparse models."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_regressor

from ._canvas import COLOURS, INK, Display, class_colours, legend, new_figure, row_colours, shortened
from ._inputs import Plane, PlotInputs, require

#: The first active rows are numbered.
_NUMBERED = 10


@dataclass(eq=False, repr=False)
class ActiveSetDisplay(Display):
    """Rows over two inputs, with the active rows of a sparse model circled.

    ``rows`` (n, 2) are coloured by ``y``: class indices (-1 for none), or regression targets without ``classes``.
    ``kept`` (S, 2) are the active rows, in the order of their inclusion if ``in_order``: then the first ten are
    numbered, and circles fade from the first to the last.
    """

    rows: np.ndarray
    kept: np.ndarray
    _: KW_ONLY
    y: np.ndarray | None = None
    classes: np.ndarray | None = None
    in_order: bool = True
    ordered_classes: bool = False
    names: tuple[str, str] = ("", "")

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, *, features: Plane = (0, 1), ax: Any = None) -> Self:
        """From an ``IVMClassifier``, ``IVMRegressor``, ``SparseGPClassifier`` (its inducing points) or a
        ``GPOrdinalClassifier(inference="ivm")``; X and y are the rows to draw, for example those of ``fit``.

        There is no order after ``partial_fit``, or where inducing points are not selected by the informative vector
        machine.
        """
        require(estimator, "a model with active rows")
        active, in_order = _active_rows(estimator)
        inputs = PlotInputs(X)
        if inputs.values.shape[1] != active.shape[1]:
            given = inputs.values.shape[1]
            raise ValueError(f"expected X with {active.shape[1]} columns, as in fit, got {given} columns")
        indices, names = inputs.two(features)
        classes = None if is_regressor(estimator) else estimator.classes_
        rows, kept, y = inputs.values[:, indices], active[:, indices], inputs.target(y, classes)
        order = {"in_order": in_order, "ordered_classes": hasattr(estimator, "cut_points_")}
        return cls(rows, kept, y=y, classes=classes, names=names, **order).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
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
                ax.scatter(
                    *self.rows[self.y == k].T, s=size, color=colours[k], alpha=0.8, linewidth=0, label=shortened(label)
                )
        fade = np.linspace(1.0, 0.3, len(self.kept)) if self.in_order else np.full(len(self.kept), 0.7)
        ring = 75 if len(self.kept) <= 100 else 32
        shades = np.column_stack([row_colours(np.full(len(fade), -1), np.empty((0, 3))), fade])
        name = f"{len(self.kept)} kept"
        ax.scatter(*self.kept.T, s=ring, facecolor="none", edgecolor=shades, linewidth=1.1, label=name)
        if self.in_order:
            self._number(ax)
        legend(ax)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])

    def _number(self, ax: Any) -> None:
        """Number the first active rows, each on the side away from its nearest neighbour."""
        from matplotlib.patheffects import withStroke

        first = self.kept[:_NUMBERED]
        spread = np.ptp(np.vstack([self.kept, self.rows[np.isfinite(self.rows).all(axis=1)]]), axis=0)
        apart = (first[:, None] - first) / np.where(spread > 0, spread, 1.0)
        distance = np.hypot(*apart.T) + np.diag(np.full(len(first), np.inf))
        for i, nearest in enumerate(distance.argmin(axis=0)):
            length = np.hypot(*apart[i, nearest])
            away = apart[i, nearest] / length if length > 0 else np.array([0.7, 0.7])
            style = {"ha": "center", "va": "center", "fontsize": "small", "weight": "bold", "color": INK, "zorder": 4}
            outline = [withStroke(linewidth=2.5, foreground="white")]
            offset = {"xytext": 9.5 * away, "textcoords": "offset points"}
            ax.annotate(str(i + 1), first[i], path_effects=outline, **offset, **style)


def _active_rows(estimator: Any) -> tuple[np.ndarray, bool]:
    """The active rows in the units of X, and whether they are in the order of their inclusion."""
    if hasattr(estimator, "active_rows_"):
        return estimator.active_rows_, getattr(estimator, "sites_", None) is not None
    if hasattr(estimator, "inducing_rows_"):
        return estimator.inducing_rows_, isinstance(estimator.inducing, str) and estimator.inducing == "ivm"
    if getattr(estimator, "sites_", None) is not None:
        return estimator._inputs.unscaled(estimator.posterior_.X), True
    raise TypeError(
        "expected a model with active rows, such as IVMClassifier, SparseGPClassifier or "
        f"GPOrdinalClassifier(inference='ivm'); got {type(estimator).__name__}, which has none"
    )


class VirtualVectorDisplay:
    """Active rows of a ``VirtualVectorClassifier`` as images, transformed ones in frames of another colour."""

    def __init__(self, images: np.ndarray, titles: list[str], virtual: np.ndarray) -> None:
        self.images, self.titles, self.virtual = images, titles, virtual

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, n_images: int = 30, only_virtual: bool = False, figure: Any = None
    ) -> Self:
        """The first active rows; ``only_virtual`` leaves out rows of the data."""
        require(estimator, "a VirtualVectorClassifier", "virtual_", "active_labels_")
        if estimator.image_shape_ is None:
            raise ValueError("expected a model of images, fitted with image_shape=(height, width)")
        transform = estimator.virtual_.transform
        chosen = np.flatnonzero(transform > 0) if only_virtual else np.arange(len(transform))
        chosen = chosen[:n_images]
        images = estimator.active_rows_[chosen].reshape(-1, *estimator.image_shape_)
        labels = estimator.active_labels_[chosen]
        titles = [f"{label}, {estimator.virtual_.names[k]}" for label, k in zip(labels, transform[chosen], strict=True)]
        return cls(images, titles, transform[chosen] > 0).plot(figure=figure)

    def plot(self, figure: Any = None) -> Self:
        if figure is None:
            figure = new_figure((10.0, 1.25 * max(1, -(-len(self.images) // 10))))
        columns = min(10, max(1, len(self.images)))
        axes = figure.subplots(-(-len(self.images) // columns), columns, squeeze=False).ravel()
        for ax in axes:
            ax.set_axis_off()
        for ax, image, title, virtual in zip(axes, self.images, self.titles, self.virtual, strict=False):
            ax.set_axis_on()
            ax.set(xticks=[], yticks=[])
            ax.imshow(image, cmap="gray_r", interpolation="nearest")
            ax.set_title(title, fontsize=7, color=COLOURS[1] if virtual else INK)
            for edge in ax.spines.values():
                edge.set(color=COLOURS[1] if virtual else INK, linewidth=1.5 if virtual else 0.5)
        self.axes_, self.figure_ = axes, figure
        return self

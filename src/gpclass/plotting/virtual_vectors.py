"""Rows and their transforms, as images."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._canvas import COLOURS, INK, new_figure
from ._inputs import require


class VirtualVectorDisplay:
    """Rows that a ``VirtualVectorClassifier`` keeps, as images: in frames of one colour those that are transforms."""

    def __init__(self, images: np.ndarray, titles: list[str], virtual: np.ndarray) -> None:
        self.images, self.titles, self.virtual = images, titles, virtual

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, n_images: int = 30, only_virtual: bool = False, figure: Any = None
    ) -> VirtualVectorDisplay:
        """The first rows chosen; ``only_virtual`` leaves out those that are rows of the data themselves."""
        require(estimator, "a VirtualVectorClassifier", "virtual_", "active_labels_")
        if estimator.image_shape_ is None:
            raise ValueError(
                "the rows of this model are no images: expected one fitted with image_shape=(height, width)"
            )
        transform = estimator.virtual_.transform
        chosen = np.flatnonzero(transform > 0) if only_virtual else np.arange(len(transform))
        chosen = chosen[:n_images]
        images = estimator.active_rows_[chosen].reshape(-1, *estimator.image_shape_)
        labels = estimator.active_labels_[chosen]
        titles = [f"{label}, {estimator.virtual_.names[k]}" for label, k in zip(labels, transform[chosen], strict=True)]
        return cls(images, titles, transform[chosen] > 0).plot(figure=figure)

    def plot(self, figure: Any = None) -> VirtualVectorDisplay:
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

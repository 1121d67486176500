"""Latent functions along one input."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from ._canvas import COLOURS, INK, axes_or_new, class_colours, legend, shortened
from ._inputs import Inputs, class_places, require, targets


def beliefs(estimator: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations (m, C) of the latent functions at rows, as predictions take them: stretched by the
    factors of ``calibration_``."""
    mean, cov = estimator.latent(X)
    if hasattr(estimator, "calibration_"):
        mean, cov = estimator.calibration_(mean, cov)
    return mean, np.sqrt(cov if cov.ndim == 2 else np.diagonal(cov, axis1=1, axis2=2))


class LatentDisplay:
    """Latent functions along one input, with bands of two standard deviations.

    ``mean`` and ``sd`` are (m, C), at the m inputs ``along``. One function stands for two classes or for ordered ones:
    it passes from one to the next at the ``cuts``. ``rows`` (n,) are inputs, and ``y`` (n,) says which of the
    ``classes`` each is (-1 for none), drawn as strokes at the foot; without classes it holds numbers.
    """

    def __init__(
        self,
        along: np.ndarray,
        mean: np.ndarray,
        sd: np.ndarray,
        *,
        classes: np.ndarray | None = None,
        cuts: np.ndarray | None = None,
        rows: np.ndarray | None = None,
        y: np.ndarray | None = None,
        xlabel: str = "",
    ) -> None:
        self.along, self.mean, self.sd, self.classes = along, mean, sd, classes
        self.cuts, self.rows, self.y, self.xlabel = cuts, rows, y, xlabel

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, feature: Any = 0, resolution: int = 200, ax: Any = None
    ) -> LatentDisplay:
        """Of a classifier's latent functions, stretched as its calibration says, or of a regressor's predictions in
        the units of y, noise included; other inputs are held at their medians or most frequent categories."""
        require(estimator, "a model with latent functions, such as GPClassifier", "latent", "likelihood_")
        inputs = Inputs(X)
        place = inputs.place(feature)
        classes = None if is_regressor(estimator) else estimator.classes_
        if y is not None:
            y = targets(y, len(inputs)) if classes is None else class_places(y, classes, len(inputs))
        along, rows = inputs.line(place, resolution, margin=0.03)
        cuts = None
        if classes is None:
            mean, sd = (values[:, None] for values in estimator.predict(rows, return_std=True))
        else:
            mean, sd = beliefs(estimator, rows)
            if hasattr(estimator, "cut_points_"):
                cuts = estimator.cut_points_
            elif mean.shape[1] == 1:
                cuts = np.array([-getattr(estimator.likelihood_, "bias", 0.0)])
        return cls(
            along,
            mean,
            sd,
            classes=classes,
            cuts=cuts,
            rows=inputs.numbers[:, place],
            y=y,
            xlabel=inputs.name(place),
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> LatentDisplay:
        ax = axes_or_new(ax)
        n_functions = self.mean.shape[1]
        for c, (colour, name) in enumerate(self._functions()):
            mean, reach = self.mean[:, c], 2.0 * self.sd[:, c]
            # Many bands lie over each other.
            alpha = 0.2 if n_functions <= 3 else 0.09
            ax.fill_between(self.along, mean - reach, mean + reach, color=colour, alpha=alpha, linewidth=0)
            ax.plot(self.along, mean, color=colour, linewidth=1.6, label=name)
        cuts = [] if self.cuts is None else list(self.cuts)
        for i, cut in enumerate(cuts):
            name = "boundary" if len(cuts) == 1 else "cut points"
            ax.axhline(cut, color=INK, linewidth=0.9, linestyle=":", label=None if i else name)
        if self.y is not None and self.classes is None:
            ax.plot(self.rows, self.y, ".", color=INK, markersize=5, alpha=0.6)
        elif self.y is not None:
            self._strokes(ax, named=n_functions == 1)
        legend(ax, "best" if n_functions == 1 else None)
        ax.set(xlabel=self.xlabel, ylabel=self._ylabel())
        ax.grid(alpha=0.25)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _functions(self) -> list[tuple[Any, str | None]]:
        """Colour and name of each."""
        if self.classes is None:
            return [(COLOURS[0], "mean ± 2 sd")]
        if self.mean.shape[1] > 1:
            colours = class_colours(len(self.classes))
            return [(colour, shortened(label)) for colour, label in zip(colours, self.classes, strict=True)]
        return [(INK, None)]

    def _ylabel(self) -> str:
        if self.classes is None:
            return "y"
        if self.mean.shape[1] > 1:
            return "latent functions ± 2 sd"
        high = f", high for {shortened(self.classes[1])}" if len(self.classes) == 2 else ""
        return f"latent function ± 2 sd{high}"

    def _strokes(self, ax: Any, named: bool) -> None:
        """The rows at the foot of the picture, a line for each class, below all that is drawn there."""
        assert self.classes is not None
        assert self.y is not None
        assert self.rows is not None
        n_classes = len(self.classes)
        share = min(0.03 * n_classes, 0.25)
        low, high = ax.get_ylim()
        ax.set_ylim(low - (high - low) * share / (1.0 - share), high)
        colours = class_colours(n_classes, ordered=self.mean.shape[1] == 1 and n_classes > 2)
        for k, label in enumerate(self.classes):
            x = self.rows[self.y == k]
            height = np.full(len(x), share * (k + 0.5) / n_classes)
            name = shortened(label) if named else None
            line = {"marker": "|", "linestyle": "none", "markersize": 6, "alpha": 0.8, "label": name}
            ax.plot(x, height, color=colours[k], transform=ax.get_xaxis_transform(), **line)

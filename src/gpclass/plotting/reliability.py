"""Reliability diagrams."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ..evaluation.intervals import wilson
from ..evaluation.metrics import ReliabilityCurve, reliability_curve
from ._canvas import COLOURS, INK, Display, shortened
from ._inputs import require


class ReliabilityDisplay(Display):
    """Accuracy of predictions by their confidence; calibrated predictions lie on the diagonal.

    Bars are Wilson's 95 % intervals of the accuracy, ``intervals`` by name: low and high ends (2, n_bins).
    """

    def __init__(self, curves: dict[str, ReliabilityCurve]) -> None:
        self.curves = curves
        self.intervals = {name: _intervals(curve) for name, curve in curves.items()}

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        probas: Any,
        classes: Any,
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
        ax: Any = None,
    ) -> Self:
        """One curve for each array of probabilities in a dictionary, all for the same rows; or for one array.

        Arrays have a column for each of ``classes``, or for two classes the probabilities (n,) of the second. Bins are
        equal steps of the confidence ("uniform") or hold equal numbers of rows ("quantile").
        """
        named = probas if isinstance(probas, Mapping) else {"predictions": probas}
        if not named:
            raise ValueError("expected at least one array of probabilities, got none")
        if not (isinstance(n_bins, (int, np.integer)) and n_bins >= 1):
            raise ValueError(f"expected n_bins, a whole number of at least 1, got {n_bins!r}")
        y_true = np.ravel(np.asarray(y_true))
        checked = {str(name): _checked(proba, len(y_true), len(classes)) for name, proba in named.items()}
        curves = {
            name: reliability_curve(y_true, one, classes, n_bins, strategy=strategy) for name, one in checked.items()
        }
        return cls(curves).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, strategy: str = "uniform", ax: Any = None
    ) -> Self:
        require(estimator, "a classifier with predict_proba", "predict_proba", "classes_")
        probas = {type(estimator).__name__: estimator.predict_proba(X)}
        return cls.from_predictions(y, probas, estimator.classes_, n_bins=n_bins, strategy=strategy, ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
        for i, (name, curve) in enumerate(self.curves.items()):
            colour = COLOURS[i % len(COLOURS)]
            ax.plot(curve.confidence, curve.accuracy, color=colour, label=shortened(name))
            sizes = 12 + 120 * np.sqrt(curve.rows / curve.rows.sum())
            ax.scatter(curve.confidence, curve.accuracy, s=sizes, color=colour, alpha=0.7)
            ax.vlines(curve.confidence, *self.intervals[name], color=colour, linewidth=1.2, alpha=0.8)
        ax.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="confidence in the predicted label", aspect="equal")
        ax.set_ylabel("accuracy, with 95 % interval")
        ax.legend(loc="best", fontsize="small")
        ax.grid(alpha=0.25)


def _intervals(curve: ReliabilityCurve) -> np.ndarray:
    """Wilson's interval of every bin, (2, n_bins)."""
    return np.array([wilson(*bin) for bin in zip(curve.accuracy.tolist(), curve.rows.tolist(), strict=True)]).T


def _checked(proba: Any, n_rows: int, n_classes: int) -> np.ndarray:
    proba = np.asarray(proba, dtype=float)
    if proba.ndim == 1 and n_classes == 2:
        proba = np.column_stack([1.0 - proba, proba])
    if proba.shape != (n_rows, n_classes):
        shape = (n_rows, n_classes)
        raise ValueError(f"expected probabilities of shape {shape}, labels by classes, got {proba.shape}")
    return proba

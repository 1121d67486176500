"""Shares of the views of a ``WeightedSum``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._canvas import COLOURS, INK, axes_or_new


class ViewWeightsDisplay:
    """How much of the latent functions each view makes up, with two standard deviations; one colour for each model."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> ViewWeightsDisplay:
        """Of a model with a ``WeightedSum`` kernel."""
        return cls.from_estimators({type(estimator).__name__: estimator}, ax=ax)

    @classmethod
    def from_estimators(cls, estimators: dict[str, Any], *, ax: Any = None) -> ViewWeightsDisplay:
        """Of several models with the same views, by name: one learned by the evidence and one by sampling, say."""
        weights = {name: estimator.view_weights_ for name, estimator in estimators.items()}
        if len({found.names for found in weights.values()}) != 1:
            raise ValueError(f"expected models with the same views, got {[w.names for w in weights.values()]}")
        return cls(weights).plot(ax=ax)

    def plot(self, ax: Any = None) -> ViewWeightsDisplay:
        ax = axes_or_new(ax)
        views = next(iter(self.weights.values())).names
        places = np.arange(len(views))[::-1]
        height = 0.8 / len(self.weights)
        for i, (name, found) in enumerate(self.weights.items()):
            ax.barh(
                places + 0.4 - (i + 0.5) * height,
                found.mean,
                height,
                xerr=2.0 * np.nan_to_num(found.sd),
                color=COLOURS[i % len(COLOURS)],
                ecolor=INK,
                error_kw={"linewidth": 0.9},
                label=name,
            )
        ax.set(yticks=places, yticklabels=views, xlabel="share of the latent variance", xlim=(0.0, None))
        if len(self.weights) > 1:
            ax.legend(fontsize="small")
        ax.grid(axis="x", alpha=0.25)
        self.ax_, self.figure_ = ax, ax.figure
        return self

"""Weights of views as shares of a whole, with the uncertainty that learning left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .results import Learned


class ViewWeights(NamedTuple):
    """Shares of the views of a ``WeightedSum``: their mean (J,) and spread (J,), NaN where it is not known.

    Where the kernel's parameters were sampled these are moments over the draws; otherwise the shares at the optimum,
    and their spread by the curvature there.
    """

    names: tuple[str, ...]
    mean: np.ndarray
    sd: np.ndarray

    def __repr__(self) -> str:
        parts = (f"{n} {m:.3f} ± {s:.3f}" for n, m, s in zip(self.names, self.mean, self.sd, strict=True))
        return f"ViewWeights({', '.join(parts)})"


def view_weights(names: tuple[str, ...], weights: np.ndarray, learned: Learned) -> ViewWeights:
    """Shares from what was learned about the logarithms of the weights."""
    places = [j for j, name in enumerate(learned.theta_names) if name.split("[")[0] == "weights"]
    if len(places) != len(names):  # held fixed
        return ViewWeights(names, weights / weights.sum(), np.zeros(len(names)))
    if learned.samples is not None:
        draws = _shares(learned.samples.flat[:, places])
        mean = learned.samples.flat_weights @ draws
        return ViewWeights(names, mean, np.sqrt(learned.samples.flat_weights @ (draws - mean) ** 2))
    mean = _shares(learned.theta[None, places])[0]
    if learned.covariance is None:
        return ViewWeights(names, mean, np.full(len(names), np.nan))
    # d share_i / d log weight_j = share_i ([i = j] - share_j)
    slope = np.diag(mean) - np.outer(mean, mean)
    # A weight that nothing holds is one so small that it changes nothing.
    covariance = slope @ np.nan_to_num(learned.covariance[np.ix_(places, places)]) @ slope.T
    return ViewWeights(names, mean, np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def _shares(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)

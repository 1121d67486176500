"""How much of the latent functions each view makes up, with the uncertainty that learning left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import WeightedSum
from .objective import Model, slopes
from .results import HyperResult

#: Rows and draws from which shares are worked out.
_ROWS, _DRAWS = 200, 200


class ViewWeights(NamedTuple):
    """Shares of the views of a ``WeightedSum``: their mean (J,) and spread (J,), NaN where it is not known.

    A view's share is that of its prior variance about the mean over the training rows: a view whose length-scale has
    grown until its function is all but constant makes up nothing, whatever its weight. Where the kernel's parameters
    were sampled, mean and spread are over the draws; otherwise the shares at the optimum, and their spread by the
    curvature there.
    """

    names: tuple[str, ...]
    mean: np.ndarray
    sd: np.ndarray

    def __repr__(self) -> str:
        parts = (f"{n} {m:.3f} ± {s:.3f}" for n, m, s in zip(self.names, self.mean, self.sd, strict=True))
        return f"ViewWeights({', '.join(parts)})"


def view_weights(model: Model, learned: HyperResult) -> ViewWeights:
    """Shares of the views of a model whose kernel is a ``WeightedSum``."""
    kernel = model.kernel
    assert isinstance(kernel, WeightedSum)
    rows = model.X[np.unique(np.linspace(0, len(model.X) - 1, _ROWS).round().astype(int))]

    def shares(theta: np.ndarray) -> np.ndarray:
        at = model.at(theta)[0]
        assert isinstance(at, WeightedSum)
        variations = at.variations(rows)
        return variations / variations.sum()

    if learned.samples is not None:
        thetas, chances = learned.samples.representatives(_DRAWS, np.random.default_rng(0))
        draws = np.array([shares(theta) for theta in thetas])
        mean = chances @ draws
        return ViewWeights(kernel.names, mean, np.sqrt(chances @ (draws - mean) ** 2))
    mean = shares(learned.theta)
    if learned.covariance is None:
        return ViewWeights(kernel.names, mean, np.full(len(mean), np.nan))
    slope = slopes(shares, learned.theta, model.theta_bounds)
    # A parameter that nothing holds belongs to a view so small that it changes nothing.
    covariance = slope @ np.nan_to_num(learned.covariance) @ slope.T
    return ViewWeights(kernel.names, mean, np.sqrt(np.maximum(np.diag(covariance), 0.0)))

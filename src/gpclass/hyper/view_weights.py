"""How much of the latent functions each view makes up, with the uncertainty that learning left."""

from typing import NamedTuple

import numpy as np

from .objective import Objective, slopes
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


def view_weights(objective: Objective, found: HyperResult) -> ViewWeights:
    """Shares of the views of a model whose kernel has a ``WeightedSum``."""
    problem = objective.problem
    names = problem.kernel.view_names
    rows = problem.X[np.unique(np.linspace(0, len(problem.X) - 1, _ROWS).round().astype(int))]

    def shares(theta: np.ndarray) -> np.ndarray:
        variations = problem.at(theta)[0].variations(rows)
        return variations / variations.sum()

    if found.samples is not None:
        thetas, chances = found.samples.representatives(_DRAWS, np.random.default_rng(0))
        draws = np.array([shares(theta) for theta in thetas])
        mean = chances @ draws
        return ViewWeights(names, mean, np.sqrt(chances @ (draws - mean) ** 2))
    mean = shares(found.theta)
    if found.covariance is None:
        return ViewWeights(names, mean, np.full(len(mean), np.nan))
    slope = slopes(shares, found.theta, problem.theta_bounds)
    # A parameter that nothing holds belongs to a view so small that it changes nothing.
    covariance = slope @ np.nan_to_num(found.covariance) @ slope.T
    return ViewWeights(names, mean, np.sqrt(np.maximum(np.diag(covariance), 0.0)))

"""Weights of rows: a likelihood raised to a power for each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .per_row import PerRow


def copies_left_out(weights: np.ndarray) -> np.ndarray:
    """How much of each row's weight leave-one-out takes away. Integer weights are numbers of copies, of which one is
    left out. Of other weights all is left out, or a row would be predicted from itself."""
    whole = np.all(weights == np.round(weights))
    return np.minimum(weights, 1.0) if whole else weights


@dataclass(frozen=True, eq=False, repr=False)
class Weighted(PerRow):
    """p(y_n | f_n)^w_n for the training rows; an integer weight is the same as that many copies of the row.

    For engines that work with derivatives in f; a power has no closed Gaussian average.

    ``left_out`` (n,) is the share of each row's weight that leave-one-out takes away; None derives it from the weights.
    It is given where weights are products with class weights: a class weight of five does not make five copies.
    """

    weights: np.ndarray = field(default_factory=lambda: np.ones(0))
    left_out: np.ndarray | None = None

    def auxiliary_noise(self, n: int) -> np.ndarray:
        return super().auxiliary_noise(n) / self.weights

    def loo_log_prob(self, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
        return self.weights * self.base.loo_log_prob(y, mean, cov)

    def subset(self, rows: np.ndarray) -> Weighted:
        # Some of the weights may be integers where not all are: the share left out of a row must not change.
        left_out = self.share_left_out(len(self.weights))[rows]
        return replace(self, base=self.base.subset(rows), weights=self.weights[rows], left_out=left_out)

    def share_left_out(self, n: int) -> np.ndarray:
        return copies_left_out(self.weights) / self.weights if self.left_out is None else self.left_out

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self.weights * self.base.log_prob(y, f)

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_prob, first, second = self.base.derivatives(y, f)
        return self.weights * log_prob, self.weights[:, None] * first, self.weights[:, None, None] * second

    def augment(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The mean over w copies of a row has the mean of one and 1 / w of its noise."""
        return self.base.augment(y, f)

    def noise_slopes(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        by_noise, by_gradient, by_curvature = self.base.noise_slopes(y, f)
        return self.weights * by_noise, self.weights[:, None] * by_gradient, by_curvature

    def curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        d, pullback = self.base.curvature(y, f)
        return self.weights[:, None] * d, pullback

"""Gaussian noise, for regression."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..numerics.parameters import POSITIVE, REAL
from ..numerics.special import log_phi
from .base import AverageInClosedForm


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(AverageInClosedForm):
    """y = f + bias + noise, noise ~ N(0, variance). The bias is fixed unless freed: estimators centre y."""

    variance: float = 1.0
    bias: float = 0.0
    fixed: bool | str | tuple[str, ...] = field(default=("bias",), kw_only=True)
    domains: ClassVar = {"variance": POSITIVE, "bias": REAL}
    supports = frozenset({"derivatives", "curvature", "augment", "tilted_gradient"})
    log_concave = True

    def curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        return np.full(f.shape, 1.0 / self.variance), lambda cotangent: np.zeros_like(f)

    def augment(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The auxiliary is the observation itself."""
        return np.asarray(y, dtype=float)[:, None]

    def tilted(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        total = self.variance + var
        residual = np.asarray(y, dtype=float)[:, None] - mean - self.bias
        log_z = log_phi(residual / np.sqrt(total)) - 0.5 * np.log(total)
        return log_z[:, 0], residual / total, -1.0 / total

    def tilted_gradient(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        _, first, second = self.tilted(y, mean, var)
        return self._collect({"variance": self._by_variance(first, second), "bias": first.sum()})

    def expected_log_prob(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        return self.log_prob(y, mean) - 0.5 * var[:, 0] / self.variance

    def predict(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """Mean and variance of a new target, (n, 2)."""
        return np.stack([mean[:, 0] + self.bias, var[:, 0] + self.variance], axis=1)

    def predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        raise NotImplementedError("a Gaussian likelihood has no class labels; use predict")

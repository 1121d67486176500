"""Binary labels through the logistic function."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from .base import Likelihood, signs

#: Below this variance a latent value counts as known: quadrature of so narrow a peak loses its digits.
_KNOWN = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class Logit(Likelihood):
    """P(y = 1 | f) = 1 / (1 + exp(-f)) (WB98); Gaussian averages by a rule that resolves the step at any variance."""

    supports = frozenset({"derivatives", "curvature"})
    log_concave = True

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return log_expit(signs(y) * f)[:, 0]

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        s = signs(y)
        margin = s * f
        miss = expit(-margin)
        return log_expit(margin)[:, 0], s * miss, -(expit(margin) * miss)[:, :, None]

    def curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        d = np.maximum(expit(f) * expit(-f), 1e-300)
        return d, lambda cotangent: cotangent * (1.0 - 2.0 * expit(f))

    def tilted(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_z, first, second = self.derivatives(y, mean)  # the limit of a known latent value
        tilted = log_z, first, second[:, :, 0]
        wide = var[:, 0] > _KNOWN
        for limit, average in zip(tilted, super().tilted(y[wide], mean[wide], var[wide]), strict=True):
            limit[wide] = average
        return tilted

"""Kernel parameters by leave-one-out log predictive probability: what predicts best, not what explains best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .evidence import Evidence
from .objective import Model


@dataclass(frozen=True)
class LeaveOneOut(Evidence):
    """Maximise the sum of log probabilities of every training label given the others, plus the log prior.

    The engine's leave-one-out beliefs make one fit enough for all rows. The slope is taken by central differences of
    ``step`` in theta, two fits for each parameter: meant for kernels with few parameters.
    """

    step: float = 1e-3

    def value_and_gradient(self, model: Model, theta: np.ndarray, init: Any) -> tuple[float, np.ndarray, Any]:
        value, state = model.loo_score(theta, init)
        gradient = np.empty_like(theta)
        low, high = model.theta_bounds.T
        for j in range(len(theta)):
            ahead, behind = theta.copy(), theta.copy()
            # Differences must not step outside the bounds that the search itself respects.
            ahead[j] = min(theta[j] + self.step, high[j])
            behind[j] = max(theta[j] - self.step, low[j])
            rise = model.loo_score(ahead, state)[0] - model.loo_score(behind, state)[0]
            gradient[j] = rise / (ahead[j] - behind[j])
        return value, gradient, state

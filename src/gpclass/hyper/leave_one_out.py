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
        value, state = self._score(model, theta, init)
        gradient = np.empty_like(theta)
        for j in range(len(theta)):
            move = np.zeros_like(theta)
            move[j] = self.step
            ahead, behind = (self._score(model, theta + s * move, state)[0] for s in (1.0, -1.0))
            gradient[j] = (ahead - behind) / (2.0 * self.step)
        return value, gradient, state

    def _score(self, model: Model, theta: np.ndarray, init: Any) -> tuple[float, Any]:
        # Differences may step just outside the bounds that the search itself respects.
        low, high = model.theta_bounds.T
        fit = model.fit(np.clip(theta, low, high), init)
        if fit.loo is None:
            raise TypeError(f"{type(model.engine).__name__} gives no leave-one-out beliefs; use hyper='evidence'")
        _, likelihood = model.at(theta)
        mean, cov = fit.loo
        if cov.ndim == 2:
            return float(np.sum(likelihood.tilted(model.y, mean, cov)[0])), fit.state
        log_proba = likelihood.predict_log(mean, cov)
        return float(log_proba[np.arange(len(model.y)), model.y].sum()), fit.state

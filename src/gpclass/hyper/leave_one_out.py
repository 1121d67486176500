"""Kernel parameters by leave-one-out log predictive probability: what predicts best, not what explains best."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .evidence import Evidence
from .objective import Objective, by_differences

#: Differences need scores that are known to a small share of their step.
_TOL = 1e-6


def _tightened(objective: Objective) -> Objective:
    """The objective by an engine that converges so far."""
    learner: Any = objective.learner
    if getattr(learner, "tol", 0.0) <= _TOL:
        return objective
    return replace(objective, learner=replace(learner, tol=_TOL))


@dataclass(frozen=True)
class LeaveOneOut(Evidence):
    """Maximise the sum of log probabilities of every training label given the others, plus the log prior.

    The engine's leave-one-out predictions make one fit enough for all rows. The slope is taken by central differences
    of ``step`` in theta, two fits for each parameter: meant for kernels with few parameters.
    """

    step: float = 1e-3

    def value_and_gradient(
        self, objective: Objective, theta: np.ndarray, init: Any, *, strict: bool
    ) -> tuple[float, np.ndarray, Any]:
        return by_differences(_tightened(objective).loo_score, theta, init, objective.theta_bounds, self.step)

    def covariance_at(self, objective: Objective, theta: np.ndarray) -> None:
        """None: leave-one-out scores are no log density of theta."""

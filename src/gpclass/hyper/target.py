"""The log density of theta that searches maximise and samplers sample."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

#: (theta, state) -> (value, gradient, state): the evidence, or whatever stands for it
Evaluate = Callable[[np.ndarray, Any], tuple[float, np.ndarray, Any]]


class Target:
    """log p(y | theta) + log p(theta), each evaluation starting from the engine's state at the last (or, where that
    would make the value depend on the way, from scratch: ``warm=False``).

    Where nothing can be computed, or outside the bounds, the value is -inf and the gradient zero; ``cause`` says why.
    """

    def __init__(
        self, evaluate: Evaluate, prior: Any, bounds: np.ndarray, *, of_theta: bool, warm: bool = True
    ) -> None:
        self.evaluate, self.prior, self.bounds = evaluate, prior, bounds
        self.of_theta, self.warm = of_theta, warm
        self.n_evaluations = 0
        self.n_refused = 0
        self.cause = ""
        #: what the engine starts from next
        self.state: Any = None
        self._last: tuple[bytes, tuple[float, np.ndarray]] | None = None

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        # A search asks for its start again.
        if self._last is None or self._last[0] != theta.tobytes():
            self._last = theta.tobytes(), self._evaluated(theta)
        return self._last[1]

    def _evaluated(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        low, high = self.bounds.T
        slack = 1e-9 * (1.0 + np.abs(theta))
        if not (np.all(np.isfinite(theta)) and np.all(theta >= low - slack) and np.all(theta <= high + slack)):
            return self._refuse(theta, "outside the bounds of its parameters")
        self.n_evaluations += 1
        try:
            value, gradient, state = self.evaluate(np.clip(theta, low, high), self.state)
        except (LinAlgError, FloatingPointError) as error:
            return self._refuse(theta, str(error))
        log_prior, slope = self.prior(theta, self.of_theta)
        value, gradient = value + log_prior, gradient + slope
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return self._refuse(theta, "the evidence or its gradient is not finite")
        self.state = state if self.warm else None
        return float(value), gradient

    def _refuse(self, theta: np.ndarray, cause: str) -> tuple[float, np.ndarray]:
        self.n_refused += 1
        self.cause = cause
        return -np.inf, np.zeros_like(theta)

"""Learning theta by stochastic steps: the evidence of another random subset of the rows at each."""

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError

from ..inference.settings import check_counts
from ..training.monitor import SILENT, Monitor
from .adam import Adam
from .objective import Objective
from .priors import Normal, PriorLike
from .results import HyperResult
from .search import ONE_START, Effort, Search


@dataclass(frozen=True)
class StochasticEvidence(Search):
    """Steps of Adam on the mean log evidence of random subsets of the rows, with the log prior's share of it.

    For many parameters and many rows, such as the weights of a network (``TorchKernel``): a few hundred rows do not
    determine them, and the evidence of all rows is expensive. Steps shrink to zero along a cosine.

    Parameters
    ----------
    n_rows : int
        Rows of a subset.
    n_steps : int
    step : float
        Length of the first steps, in theta.
    prior : Prior, dictionary of parameter name to Prior, or None
        As for ``Evidence``.
    """

    n_rows: int = 500
    n_steps: int = 200
    step: float = 0.03
    prior: PriorLike = field(default_factory=Normal)

    def __post_init__(self) -> None:
        check_counts(self, n_rows=2, n_steps=1)
        if not self.step > 0.0:
            raise ValueError(f"StochasticEvidence: step must be positive, got {self.step!r}")

    @property
    def rows_at_once(self) -> int | None:
        return self.n_rows

    def __call__(
        self, objective: Objective, rng: np.random.Generator, monitor: Monitor = SILENT, effort: Effort = ONE_START
    ) -> HyperResult:
        theta, bounds, n = objective.theta, objective.theta_bounds, objective.n_rows
        log_prior, adam, m = objective.log_prior(self.prior), Adam(theta.size), min(self.n_rows, n)
        trace: list[float] = []
        n_evaluations, cause = 0, ""
        with monitor.task("learning steps", self.n_steps) as steps:
            for done in range(self.n_steps):
                if steps.should_stop:
                    break
                some = objective.of_rows(np.sort(rng.choice(n, m, replace=False)))
                n_evaluations += 1
                try:
                    value, gradient, _ = some.value_and_gradient(theta)
                except (LinAlgError, FloatingPointError) as error:
                    cause = str(error)  # another subset may do
                else:
                    expected, slope = log_prior(theta, False)
                    trace.append(value / m + expected / n)
                    length = self.step * 0.5 * (1.0 + np.cos(np.pi * done / self.n_steps))
                    theta = adam.step(theta, gradient / m + slope / n, length, bounds)
                steps.step(f"log evidence of a row {trace[-1]:.4f}" if trace else "")
        if not trace:
            raise LinAlgError(f"nothing can be computed at the starting values: {cause}")
        low, high = bounds.T
        touched = np.minimum(np.abs(theta - low), np.abs(theta - high)) < 1e-8
        return HyperResult(
            theta,
            n * float(np.mean(trace[-max(1, len(trace) // 10) :])),
            n_evaluations,
            not steps.should_stop,
            steps.should_stop,
            at_bounds=tuple(name for name, hit in zip(objective.theta_names, touched, strict=True) if hit),
            theta_names=objective.theta_names,
            trace=tuple(trace),
        )

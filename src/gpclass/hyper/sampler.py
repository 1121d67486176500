"""What samplers of theta share: the density, the starting point, and the account they give."""

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError

from ..inference.settings import check_counts
from ..numerics.diagnostics import effective_sample_size, split_r_hat
from ..training.monitor import SILENT, Monitor
from .evidence import DensityMode, Fixed
from .objective import Objective
from .priors import Normal, PriorLike
from .results import HyperResult, Samples
from .search import ONE_START, Effort, Search
from .target import Evaluate, Target

#: Chains count as mixed below this.
MIXED = 1.1


@dataclass(frozen=True, kw_only=True)
class Sampler(Search):
    """Base of the samplers of theta.

    Parameters
    ----------
    prior : Prior, dictionary of parameter name to Prior, or None
        See ``gpclass.hyper.priors``; by default a normal distribution about the starting values with standard
        deviation 3.
        With the default kernel as for ``Evidence``.
    n_models : int
        Predictions average over fits at this many of the draws (or at all, if there are fewer).
    max_rows : int or None
        Sample theta given at most so many rows, evenly spaced within each class; None takes all. Fewer rows know less,
        so the posterior of theta is wider.
    """

    prior: PriorLike | str = field(default_factory=Normal)
    n_models: int = 50
    max_rows: int | None = None

    samples: ClassVar[bool] = True
    tries_relevances: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_counts(self, n_models=1)
        if self.max_rows is not None:
            check_counts(self, max_rows=2)

    @property
    def row_limit(self) -> int | None:
        return self.max_rows

    @property
    def n_averaged(self) -> int:
        return self.n_models

    def __call__(
        self, objective: Objective, rng: np.random.Generator, monitor: Monitor = SILENT, effort: Effort = ONE_START
    ) -> HyperResult:
        if objective.theta.size == 0:
            return Fixed()(objective, rng)
        self.check(objective)
        return self.sample(objective.thinned(self.max_rows), rng, monitor, effort)

    @abstractmethod
    def sample(self, objective: Objective, rng: np.random.Generator, monitor: Monitor, effort: Effort) -> HyperResult:
        """Draws from the posterior of a theta that is not empty, given all rows of the objective."""

    def target(self, objective: Objective) -> Target:
        """The log density of theta given the rows."""
        return self._target_of(objective, partial(objective.value_and_gradient, strict=True))

    def _target_of(self, objective: Objective, evaluate: Evaluate) -> Target:
        # A likelihood that is not log-concave can have several fixed points: from scratch each theta has one value.
        warm = objective.problem.likelihood.log_concave
        prior = objective.log_prior(self.prior_for(objective))
        return Target(evaluate, prior, objective.theta_bounds, of_theta=True, warm=warm)

    def prior_for(self, objective: Objective) -> PriorLike:
        """The prior of theta."""
        if isinstance(self.prior, str):
            raise ValueError(f"{type(self).__name__}: expected a Prior, a dictionary or None, got {self.prior!r}")
        return self.prior

    def optimum(self, objective: Objective, rng: np.random.Generator, monitor: Monitor, effort: Effort) -> HyperResult:
        """The theta of highest density, where sampling can start."""
        search = DensityMode(prior=self.prior_for(objective), max_rows=None, tol=1e-5)
        return search(objective, rng, monitor, effort)


def scattered(target: Target, centre: HyperResult, rng: np.random.Generator) -> np.ndarray:
    """A starting point about one standard error from the optimum, where the density can be computed."""
    spread = np.full_like(centre.theta, 0.5)
    if centre.standard_error is not None:
        spread = np.where(np.isfinite(centre.standard_error), np.minimum(centre.standard_error, 2.0), spread)
    low, high = target.bounds.T
    for shrink in (1.0, 0.5, 0.1, 0.01):
        theta = np.clip(centre.theta + shrink * spread * rng.standard_normal(len(spread)), low + 1e-6, high - 1e-6)
        if np.isfinite(target(theta)[0]):
            return theta
    raise LinAlgError(f"nothing can be computed near the most probable parameters: {target.cause}")


def from_chains(
    theta: np.ndarray,
    log_density: np.ndarray,
    objective: Objective,
    n_evaluations: int,
    acceptance: float,
    n_failed: int = 0,
    stopped: bool = False,
) -> HyperResult:
    """The result of Markov chains, draws (chains, draws, p)."""
    r_hat = float(np.max(split_r_hat(theta)))
    samples = Samples(
        theta,
        log_density,
        n_effective=effective_sample_size(theta),
        r_hat=r_hat,
        acceptance=acceptance,
        n_failed=n_failed,
    )
    return HyperResult(
        samples.mean,
        float(log_density.mean()),
        n_evaluations,
        r_hat < MIXED and acceptance > 0.05,
        stopped,
        theta_names=objective.theta_names,
        samples=samples,
    )

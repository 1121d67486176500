"""What samplers of theta share: the density, the starting point, and the account they give."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError

from ..inference.settings import check_counts
from ..numerics.diagnostics import effective_sample_size, split_r_hat
from .evidence import Evidence, Fixed
from .objective import Model
from .priors import Normal, PriorLike
from .results import HyperResult, Samples
from .target import Evaluate, Target

#: Chains count as mixed below this.
MIXED = 1.1


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Base of the samplers of theta.

    Parameters
    ----------
    prior : Prior, dictionary of parameter name to Prior, or None
        See ``gpclass.hyper.priors``; by default a normal distribution about the starting values with standard deviation 3.
        With the default kernel as for ``Evidence``.
    n_models : int
        Predictions average over fits at this many of the draws (or at all, if there are fewer).
    max_rows : int or None
        Sample theta given at most so many rows, evenly spaced within each class; None takes all. Fewer rows know less,
        so the posterior of theta is wider.
    """

    prior: PriorLike = field(default_factory=Normal)
    n_models: int = 50
    max_rows: int | None = None

    def __post_init__(self) -> None:
        check_counts(self, n_models=1)
        if self.max_rows is not None:
            check_counts(self, max_rows=2)

    def __call__(
        self, model: Model, rng: np.random.Generator, n_restarts_optimizer: int = 0, n_jobs: int | None = None
    ) -> HyperResult:
        if model.theta.size == 0:
            return Fixed()(model, rng)
        return self.sample(self.rows_of(model), rng, n_restarts_optimizer, n_jobs)

    def sample(
        self, model: Model, rng: np.random.Generator, n_restarts_optimizer: int, n_jobs: int | None
    ) -> HyperResult:
        """Draws from the posterior of a theta that is not empty, given all rows of the model."""
        raise NotImplementedError

    def target(self, model: Model) -> Target:
        """The log density of theta given the rows."""
        return self._over(model, partial(model.value_and_gradient, strict=True))

    def _over(self, model: Model, evaluate: Evaluate) -> Target:
        # A likelihood that is not log-concave can have several fixed points: from scratch each theta has one value.
        warm = model.likelihood.log_concave
        return Target(evaluate, model.log_prior(self.prior_for(model)), model.theta_bounds, of_theta=True, warm=warm)

    def prior_for(self, model: Model) -> PriorLike:
        """The prior of a model's parameters."""
        return self.prior

    def rows_of(self, model: Model) -> Model:
        """The model on the rows that theta is sampled from."""
        return model if self.max_rows is None else model.thinned(self.max_rows)

    def optimum(
        self, model: Model, rng: np.random.Generator, n_restarts_optimizer: int = 0, n_jobs: int | None = None
    ) -> HyperResult:
        """The theta of highest density, where sampling can start."""
        return _Peak(prior=self.prior_for(model), max_rows=None, tol=1e-5)(model, rng, n_restarts_optimizer, n_jobs)


class _Peak(Evidence):
    """The mode of the density of theta itself, whatever the priors are written for."""

    def target(self, model: Model, strict: bool = True) -> Target:
        target = super().target(model, strict)
        target.of_theta = True
        return target


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
    theta: np.ndarray, log_density: np.ndarray, model: Model, n_evaluations: int, **account: float | int
) -> HyperResult:
    """The result of Markov chains, draws (chains, draws, p)."""
    r_hat = float(np.max(split_r_hat(theta)))
    samples = Samples(
        theta,
        log_density,
        n_effective=effective_sample_size(theta),
        r_hat=r_hat,
        **account,  # type: ignore[arg-type]
    )
    return HyperResult(
        samples.mean,
        float(log_density.mean()),
        n_evaluations,
        r_hat < MIXED and account.get("acceptance", 1.0) > 0.05,
        theta_names=tuple(model.theta_names),
        samples=samples,
    )

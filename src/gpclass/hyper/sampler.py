"""What samplers of theta share: the density, the starting point, and the account they give."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError

from ..diagnostics import effective_sample_size, split_r_hat
from ..priors import Normal, PriorLike
from .evidence import Evidence
from .objective import Model
from .results import Learned, Samples
from .target import Target

#: Chains count as mixed below this.
MIXED = 1.1


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Base of the samplers of theta.

    Parameters
    ----------
    prior : Prior, dictionary of parameter name to Prior, or None
        See ``gpclass.priors``; by default a normal distribution about the starting values with standard deviation 3.
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
        self._check_counts(n_models=1)

    def _check_counts(self, **least: int) -> None:
        for name, smallest in least.items():
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not (whole and value >= smallest):
                raise ValueError(
                    f"{type(self).__name__}: {name} must be a whole number of at least {smallest}, got {value!r}"
                )

    def target(self, model: Model) -> Target:
        """The log density of theta given the rows."""
        prior = model.log_prior(self.prior_for(model))
        return Target(model.value_and_gradient, prior, model.theta_bounds, of_theta=True)

    def prior_for(self, model: Model) -> PriorLike:
        """The prior of a model's parameters."""
        return self.prior

    def rows_of(self, model: Model) -> Model:
        """The model on the rows that theta is sampled from."""
        return model if self.max_rows is None else model.thinned(self.max_rows)

    def optimum(
        self, model: Model, rng: np.random.Generator, n_restarts: int = 0, n_jobs: int | None = None
    ) -> Learned:
        """The theta of highest density, where sampling can start."""
        return _Peak(prior=self.prior_for(model), max_rows=None, tol=1e-5)(model, rng, n_restarts, n_jobs)


class _Peak(Evidence):
    """The mode of the density of theta itself, whatever the priors are written for."""

    def target(self, model: Model) -> Target:
        return Sampler(prior=self.prior).target(model)


def scattered(target: Target, centre: Learned, rng: np.random.Generator) -> np.ndarray:
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
) -> Learned:
    """The result of Markov chains, draws (chains, draws, p)."""
    r_hat = float(np.max(split_r_hat(theta)))
    samples = Samples(
        theta,
        log_density,
        n_effective=effective_sample_size(theta),
        r_hat=r_hat,
        **account,  # type: ignore[arg-type]
    )
    return Learned(
        samples.mean,
        float(log_density.mean()),
        n_evaluations,
        r_hat < MIXED,
        theta_names=tuple(model.theta_names),
        samples=samples,
    )

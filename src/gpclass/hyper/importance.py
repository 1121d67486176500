"""Importance sampling of theta (GR06 sections 4.3 and 4.4), in a form that does not collapse, and as printed.

The paper draws phi ~ Exp(psi) with psi following the estimate of phi, and weighs draws by the density of the posterior
mean of the latent functions under the prior, N(m | 0, C_phi) (equation 4.5). C_phi is nearly singular, so one draw
takes all the weight, and a proposal that follows the estimate cannot come back from a wrong one.

Here the latent functions are integrated out: weights are the engine's evidence times the prior. The proposal starts as
a t distribution at the most probable theta, with the curvature there for its scale, and is fitted to the weighted draws
after each round; all rounds count, weighted by the mixture of their proposals, so no round can spoil the others
(adaptive multiple importance sampling). A wide component in every round keeps the weights bounded where the
proposal is too narrow, and the largest weights are Pareto smoothed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular
from scipy.special import gammaln, logsumexp

from ..inference.settings import check_counts
from ..numerics import linalg
from ..numerics.diagnostics import effective_weights, pareto_smoothed
from ..training.monitor import SILENT, Monitor
from . import published_importance as published_importance
from .objective import Objective
from .priors import ExponentialGamma, PriorLike, Relevance
from .results import ENOUGH, HyperResult, Samples
from .sampler import Sampler
from .search import Effort
from .target import Target

#: GR06's prior for phi = w / 2, vague: psi integrated out.
HIERARCHY = Relevance(ExponentialGamma(1e-3, 2e-3))
#: Degrees of freedom of the proposals.
_DF = 5.0
#: Share and widening of the second component of each proposal.
_WIDE_SHARE, _WIDTH = 0.15, 3.0


@dataclass(frozen=True, kw_only=True)
class Importance(Sampler):
    """Importance sampling of theta under the engine's evidence and the prior.

    Parameters
    ----------
    prior : "hierarchy", Prior, dictionary of parameter name to Prior, or None
        "hierarchy" is GR06's Exponential-Gamma prior on inverse squared length-scales, and a weak normal on all else;
        with the default kernel too, whose length-scales it does not expect to be alike.
    n_draws : int
        Draws in all, at least 21; with ``as_published``, in each iteration.
    n_rounds : int or None
        Rounds after each of which the proposal is adapted; None is 5, or with ``as_published`` 50 iterations.
    as_published : bool
        Follow the printed equations of GR06, collapsing weights included: for probit likelihoods and length-scales, or
        the weights of a ``WeightedSum`` alone (G06). Predictions are then made at the mean, as in the paper.
    """

    prior: PriorLike | str = "hierarchy"
    n_draws: int = 500
    n_rounds: int | None = None
    as_published: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, n_draws=21)  # of fewer weights the tail is too short to be judged
        if self.n_rounds is not None:
            check_counts(self, n_rounds=1)
        if isinstance(self.prior, str) and self.prior != "hierarchy":
            raise ValueError(
                f"Importance: prior must be 'hierarchy', a Prior, a dictionary or None, got {self.prior!r}"
            )
        if not self.as_published and self.n_draws < 5 * self._n_rounds:
            raise ValueError(f"Importance: expected at least 5 draws a round, got {self.n_draws} in {self._n_rounds}")

    @property
    def _n_rounds(self) -> int:
        return (50 if self.as_published else 5) if self.n_rounds is None else self.n_rounds

    @property
    def averages(self) -> bool:
        return not self.as_published  # the paper predicts at the mean

    def prior_for(self, objective: Objective) -> PriorLike:
        if not isinstance(self.prior, str):
            return self.prior
        scaled = any(entry.role == "length_scale" for entry in objective.problem.theta_entries)
        return {"length_scale": HIERARCHY} if scaled else {}

    def sample(self, objective: Objective, rng: np.random.Generator, monitor: Monitor, effort: Effort) -> HyperResult:
        if self.as_published:
            with linalg.suited_threads(objective.n_rows):
                return published_importance.sample(objective, rng, self.n_draws, self._n_rounds, monitor)
        best = self.optimum(objective, rng, monitor, effort)
        target = self._density(objective)
        first = Proposal.near(best, objective.theta_bounds)
        thetas, values, raw = adaptive_draws(target, first, self.n_draws, self._n_rounds, rng, monitor)
        log_weights, k = pareto_smoothed(raw)
        effective = effective_weights(log_weights)
        done = np.isfinite(values)
        weights = np.exp(log_weights[done])
        samples = Samples(
            thetas[done][None],
            values[done][None],
            weights=weights,
            n_effective=effective,
            pareto_k=k,
            n_failed=int(np.sum(~done)),
        )
        return HyperResult(
            samples.mean,
            float(weights @ values[done]),
            best.n_evaluations + target.n_evaluations,
            effective >= ENOUGH and k < 0.7,
            best.stopped,
            theta_names=objective.theta_names,
            samples=samples,
        )

    def _density(self, objective: Objective) -> Target:
        """The log density of theta without its gradient, which importance sampling does not need."""

        def evaluate(theta: np.ndarray, init: object) -> tuple[float, np.ndarray, object]:
            fit = objective.fit(theta, init, strict=True)
            return fit.objective, np.zeros_like(theta), fit.state

        return self._target_of(objective, evaluate)


def adaptive_draws(
    target: Target, first: Proposal, n_draws: int, n_rounds: int, rng: np.random.Generator, monitor: Monitor = SILENT
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws (S, p), log densities (S,) and log importance weights (S,), whose mean is the density's integral."""
    proposals = [first]
    thetas, values = np.empty((0, len(first.centre))), np.empty(0)
    sizes = np.diff(np.linspace(0, n_draws, n_rounds + 1).astype(int))
    with monitor.task("draws", n_draws) as draws:
        for done, size in enumerate(sizes, start=1):
            thetas = np.vstack([thetas, proposals[-1].draw(size, rng)])
            for theta in thetas[-size:]:
                values = np.append(values, target(theta)[0])
                draws.step()
            if not np.any(np.isfinite(values)):
                raise LinAlgError(f"nothing could be computed at any draw of the parameters: {target.cause}")
            log_weights = values - log_mixture(proposals, sizes[:done], thetas)
            if done < n_rounds:
                smooth = np.exp(pareto_smoothed(log_weights)[0])
                proposals.append(Proposal.fitted(thetas, smooth, proposals[-1]))
    return thetas, values, log_weights


@dataclass(frozen=True)
class Proposal:
    """A multivariate t distribution, and a wider one of the same centre in a small share of the draws; both cut off at
    the bounds (p, 2) of theta."""

    centre: np.ndarray
    chol: np.ndarray
    bounds: np.ndarray

    @classmethod
    def near(cls, best: HyperResult, bounds: np.ndarray) -> Proposal:
        """About an optimum, as wide as the curvature there says; a factor of e where it says nothing."""
        p = len(best.theta)
        covariance = best.covariance
        if covariance is None or not np.all(np.isfinite(covariance)):
            variance = np.full(p, 1.0) if covariance is None else np.diag(covariance)
            covariance = np.diag(np.where(np.isfinite(variance), variance, 1.0))
        # No wider than there is room between the bounds.
        room = np.minimum(1.0, 0.25 * np.ptp(bounds, axis=1) / np.sqrt(np.diag(covariance)))
        return cls(best.theta, linalg.cholesky(covariance * np.outer(room, room)), bounds)

    @classmethod
    def fitted(cls, thetas: np.ndarray, weights: np.ndarray, last: Proposal) -> Proposal:
        """To weighted draws; with fewer effective draws than parameters, more is kept of the last covariance."""
        centre = weights @ thetas
        off = thetas - centre
        covariance = (weights[:, None] * off).T @ off
        effective = 1.0 / np.sum(weights**2)
        keep = 1.0 / (1.0 + effective / (2.0 * len(centre)))
        chol = linalg.cholesky((1.0 - keep) * covariance + keep * last.chol @ last.chol.T)
        return cls(centre, chol, last.bounds)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n draws between the bounds."""
        kept = np.empty((0, len(self.centre)))
        for _ in range(1000):
            drawn = self._draw_anywhere(max(2 * n, 100), rng)
            kept = np.vstack([kept, drawn[self._inside(drawn)]])
            if len(kept) >= n:
                return kept[:n]
        raise LinAlgError("the bounds of the parameters leave no room to sample in; widen them")

    def _inside(self, thetas: np.ndarray) -> np.ndarray:
        low, high = self.bounds.T
        return np.all((thetas >= low) & (thetas <= high), axis=1)

    @cached_property
    def _log_room(self) -> float:
        """Log of the share of the uncut distribution that lies between the bounds, from draws of its own."""
        if not np.any(np.isfinite(self.bounds)):
            return 0.0
        drawn = self._draw_anywhere(20000, np.random.default_rng(0))
        return float(np.log(max(np.mean(self._inside(drawn)), 1e-4)))

    def _draw_anywhere(self, n: int, rng: np.random.Generator) -> np.ndarray:
        wide = np.where(rng.uniform(size=n) < _WIDE_SHARE, _WIDTH, 1.0)
        stretch = wide / np.sqrt(rng.chisquare(_DF, size=n) / _DF)
        return self.centre + stretch[:, None] * (rng.standard_normal((n, len(self.centre))) @ self.chol.T)

    def log_density(self, thetas: np.ndarray) -> np.ndarray:
        p = len(self.centre)
        square = np.sum(solve_triangular(self.chol, (thetas - self.centre).T, lower=True) ** 2, axis=0)
        constant = gammaln(0.5 * (_DF + p)) - gammaln(0.5 * _DF) - 0.5 * p * np.log(_DF * np.pi)
        constant -= np.sum(np.log(np.diag(self.chol)))
        parts = [
            np.log(share) - p * np.log(width) - 0.5 * (_DF + p) * np.log1p(square / (_DF * width**2))
            for share, width in ((1.0 - _WIDE_SHARE, 1.0), (_WIDE_SHARE, _WIDTH))
        ]
        return np.where(self._inside(thetas), constant + np.logaddexp(*parts) - self._log_room, -np.inf)


def log_mixture(proposals: list[Proposal], sizes: np.ndarray, thetas: np.ndarray) -> np.ndarray:
    """Log density of draws under the mixture of all rounds' proposals, in proportion to the rounds' sizes."""
    shares = np.asarray(sizes, dtype=float)[:, None] / np.sum(sizes)
    return logsumexp([proposal.log_density(thetas) for proposal in proposals], axis=0, b=shares)

"""The variational importance sampler as GR06 print it (equations 4.5 to 4.8), and G06 for weights of views, kept to be
compared with.

One iteration updates the posterior means of the latent functions at the present phi (4.6), draws phi ~ Exp(psi) and
averages them with weights prod_k N(m_k | 0, C_phi) (4.5, 4.7), and sets psi by its posterior mean (4.8). On the paper's
toy problem the effective sample size is 1 from the first iterations on.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import gammaln, logsumexp

from ..inference.dense.gibbs import is_plain_probit
from ..kernels import PerClass
from ..numerics import linalg
from ..numerics.diagnostics import effective_weights
from ..training.monitor import SILENT, Monitor
from .objective import Objective
from .results import ENOUGH, HyperResult, Samples

#: GR06 6.1: psi ~ Gamma(sigma, tau), vague.
_SIGMA = _TAU = 1e-3


def check(objective: Objective) -> None:
    """Refuse what the printed equations do not cover."""
    other = [entry.name for entry in objective.problem.theta_entries if entry.role != "length_scale"]
    if other and not _only_weights(objective):
        raise TypeError(
            "Importance(as_published=True) knows length-scales only, or the weights of a WeightedSum only, and "
            f"{other[0]!r} is free; fix it"
        )
    if not is_plain_probit(objective.problem.likelihood):
        raise TypeError(
            "Importance(as_published=True) needs Probit() or MultinomialProbit() with unit variance and without label "
            f"noise, got {objective.problem.likelihood!r}"
        )


def _only_weights(objective: Objective) -> bool:
    return objective.theta.size > 1 and all(entry.parameter == "weights" for entry in objective.problem.theta_entries)


class _Relevances:
    """phi_d = 1 / (2 length_scale_d^2) ~ Exp(psi_d), psi_d ~ Gamma(sigma, tau) (GR06 section 4.3)."""

    def __init__(self, objective: Objective) -> None:
        self.bounds, self.class_of = objective.theta_bounds.T, _classes(objective)
        self.phi = 0.5 * np.exp(-2.0 * objective.theta)

    def draw(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        psi = (_SIGMA + 1.0) / (_TAU + self.phi)  # 4.8
        drawn = rng.exponential(1.0 / psi, size=(n_draws, len(self.phi)))
        return np.clip(-0.5 * np.log(2.0 * drawn), *self.bounds)

    def estimate(self, thetas: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        self.phi = np.einsum("sp,sp->p", weights[:, self.class_of], 0.5 * np.exp(-2.0 * thetas))  # 4.7
        return np.clip(-0.5 * np.log(2.0 * self.phi), *self.bounds)


class _Shares:
    """beta^2 ~ Dirichlet(rho), rho_j ~ Gamma(1, 1) (G06), with the sum of the weights as it is."""

    def __init__(self, objective: Objective) -> None:
        self.bounds, self.log_total = objective.theta_bounds.T, logsumexp(objective.theta)
        self.rho = np.ones(objective.theta.size)

    def draw(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        drawn = np.maximum(rng.dirichlet(self.rho, size=n_draws), 1e-300)
        return np.clip(np.log(drawn) + self.log_total, *self.bounds)

    def estimate(self, thetas: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shares = weights[:, 0] @ np.exp(thetas - self.log_total)
        # The posterior mean of rho, by draws from its prior weighed by the density of the shares.
        rho = rng.gamma(1.0, size=(len(thetas), len(shares)))
        log_chance = gammaln(rho.sum(axis=1)) - gammaln(rho).sum(axis=1) + (rho - 1.0) @ np.log(shares / shares.sum())
        self.rho = np.exp(log_chance - logsumexp(log_chance)) @ rho
        return np.clip(np.log(shares) + self.log_total, *self.bounds)


class Step(NamedTuple):
    """One iteration: theta and the bound there, the dual K^-1 m (n, C) of the means, draws of theta with log weights (a
    column for each class with a PerClass kernel, else one), and the next theta, their weighted mean."""

    theta: np.ndarray
    bound: float
    alpha: np.ndarray
    thetas: np.ndarray
    log_weights: np.ndarray
    estimate: np.ndarray


def iterate(objective: Objective, rng: np.random.Generator, n_draws: int, integrated: bool = False) -> Iterator[Step]:
    """Iterations from random means, without end.

    ``integrated`` replaces the weights N(m | 0, C_phi) by N(y | 0, I + C_phi), the density of the pseudo-observations y
    with m integrated out: the printed ones treat the posterior mean, which is smoother than any draw, as a draw.
    """
    check(objective)
    theta, problem = objective.theta, objective.problem
    belief = _Shares(objective) if _only_weights(objective) else _Relevances(objective)
    m = 0.1 * rng.standard_normal((len(problem.y), problem.n_latent))
    while True:
        y = _pseudo_observations(objective, m)
        m, bound = _update_means(objective, objective.at(theta)[0](problem.X), m)
        thetas = belief.draw(n_draws, rng)
        values, noise = (y, 1.0) if integrated else (m, 0.0)
        log_weights = np.array([_log_prior_of_means(objective, t, values, noise) for t in thetas])
        if not np.any(np.isfinite(log_weights)):
            raise LinAlgError("the prior covariance cannot be factorised at any draw of the parameters")
        estimate = belief.estimate(thetas, np.exp(log_weights - logsumexp(log_weights, axis=0)), rng)
        yield Step(theta, bound, y - m, thetas, log_weights, estimate)  # (I + C) alpha = y
        theta = estimate


def sample(
    objective: Objective, rng: np.random.Generator, n_draws: int, n_iter: int, monitor: Monitor = SILENT
) -> HyperResult:
    """The estimate of theta after n_iter iterations, with the draws of the last one."""
    trace, steps = [], iterate(objective, rng, n_draws)
    with monitor.task("iterations", n_iter) as iterations:
        for step in iterations.each(islice(steps, n_iter)):
            trace.append(step.bound)
    thetas, log_weights = step.thetas, step.log_weights
    weights = np.exp(log_weights - logsumexp(log_weights, axis=0))
    density, shares = log_weights.sum(axis=1), weights[:, 0]
    if weights.shape[1] > 1:
        # Every class has weights of its own: equally weighted draws stand for them.
        picks = [rng.choice(n_draws, size=n_draws, p=column) for column in weights.T]
        thetas = np.stack([thetas[picks[c], j] for j, c in enumerate(_classes(objective))], axis=1)
        density = np.sum([log_weights[pick, c] for c, pick in enumerate(picks)], axis=0)
        shares = np.full(n_draws, 1.0 / n_draws)
    effective = min(effective_weights(column) for column in log_weights.T)
    n_failed = int(np.sum(~np.all(np.isfinite(log_weights), axis=1)))
    samples = Samples(thetas[None], density[None], weights=shares, n_effective=effective, n_failed=n_failed)
    numbers = (trace[-1], len(trace) * n_draws, effective >= ENOUGH, len(trace) < n_iter)
    return HyperResult(step.estimate, *numbers, theta_names=objective.theta_names, samples=samples, trace=tuple(trace))


def _classes(objective: Objective) -> np.ndarray:
    """For each entry of theta the group of weights it goes by: its class's with a PerClass kernel, else the one."""
    kernel = objective.problem.kernel
    sizes = [child.theta.size for child in kernel.children] if isinstance(kernel, PerClass) else [objective.theta.size]
    return np.repeat(np.arange(len(sizes)), sizes)


def _groups(matrix: np.ndarray, values: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """A matrix with the columns of the values that it belongs to: all of them, or each class's own."""
    return [(matrix, values)] if matrix.ndim == 2 else [(own, values[:, [c]]) for c, own in enumerate(matrix)]


def _pseudo_observations(objective: Objective, m: np.ndarray) -> np.ndarray:
    likelihood = objective.problem.likelihood
    return likelihood.augment(objective.problem.y, m) - getattr(likelihood, "bias", 0.0)


def _update_means(objective: Objective, K: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, float]:
    """m_k <- C (I + C)^-1 y_k (4.6), and the bound there (appendix C, re-derived in ``inference.vb``)."""
    means, fit = [], 0.0
    for own, y in _groups(K, _pseudo_observations(objective, m)):
        L = linalg.cholesky(own + np.eye(len(own)))
        alpha = linalg.solve(L, y)
        means.append(own @ alpha)
        fit -= 0.5 * float(np.vdot(means[-1], alpha) + y.shape[1] * linalg.log_det(L))
    m = np.hstack(means)
    return m, fit + float(objective.problem.likelihood.log_prob(objective.problem.y, m).sum())


def _log_prior_of_means(objective: Objective, theta: np.ndarray, m: np.ndarray, noise: float = 0.0) -> np.ndarray:
    """log N(m_k | 0, C_phi + noise I): one entry for each class with a PerClass kernel, else one, summed over classes.
    C has the smallest jitter of ``linalg.JITTER_LADDER`` with which it factorises; minus infinity where none does."""
    K = objective.at(theta)[0](objective.problem.X)
    try:
        factors = _groups(linalg.cholesky(K + noise * np.eye(K.shape[-1])), m)
    except LinAlgError:
        return np.full(len(K) if K.ndim == 3 else 1, -np.inf)
    whitened = [(L, linalg.solve_triangular(L, own)) for L, own in factors]
    return np.array([-0.5 * (np.sum(half**2) + half.shape[1] * linalg.log_det(L)) for L, half in whitened])

"""The variational importance sampler as GR06 print it (equations 4.5 to 4.8), kept to be compared with.

One iteration updates the posterior means of the latent functions at the present phi (4.6), draws phi ~ Exp(psi) and
averages them with weights prod_k N(m_k | 0, C_phi) (4.5, 4.7), and sets psi by its posterior mean (4.8). On the paper's
toy problem the effective sample size is 1 from the first iterations on.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import logsumexp

from .. import linalg
from .._progress import track
from ..diagnostics import effective_weights
from ..inference.base import class_matrix
from ..inference.gibbs import is_plain_probit
from ..kernels import PerClass
from .objective import Model
from .results import ENOUGH, Learned, Samples

#: GR06 6.1: psi ~ Gamma(sigma, tau), vague.
_SIGMA = _TAU = 1e-3


def check(model: Model) -> None:
    """Refuse what the printed equations do not cover."""
    other = [name for name in model.theta_names if name.split("[")[0].split(".")[-1] != "length_scale"]
    if other:
        raise TypeError(f"Importance(literal=True) knows length-scales only, and {other[0]!r} is free; fix it")
    if not is_plain_probit(model.likelihood):
        raise TypeError(
            "Importance(literal=True) needs Probit() or MultinomialProbit() with unit variance and without label "
            f"noise, got {model.likelihood!r}"
        )


def sample(model: Model, rng: np.random.Generator, n_draws: int, n_iter: int) -> Learned:
    """The estimate of phi after n_iter iterations, with the draws of the last one."""
    check(model)
    theta = model.theta
    phi = 0.5 * np.exp(-2.0 * theta)
    class_of = _classes(model)
    m = 0.1 * rng.standard_normal((len(model.y), model.n_latent))
    trace = []
    for _ in track(range(n_iter), "iterations", n_iter):
        K = model.at(theta)[0](model.X)
        m, bound = _update_means(model, K, m)
        trace.append(bound)
        psi = (_SIGMA + 1.0) / (_TAU + phi)  # 4.8
        drawn = rng.exponential(1.0 / psi, size=(n_draws, len(phi)))
        thetas = np.clip(-0.5 * np.log(2.0 * drawn), *model.theta_bounds.T)
        drawn = 0.5 * np.exp(-2.0 * thetas)
        log_weights = np.array([_log_prior_of_means(model, t, m) for t in thetas])
        if not np.any(np.isfinite(log_weights)):
            raise LinAlgError("the prior covariance cannot be factorised at any draw of the parameters")
        weights = np.exp(log_weights - logsumexp(log_weights, axis=0))
        phi = np.einsum("sp,sp->p", weights[:, class_of], drawn)  # 4.7
        theta = np.clip(-0.5 * np.log(2.0 * phi), *model.theta_bounds.T)
    density, shares = log_weights.sum(axis=1), weights[:, 0]
    if weights.shape[1] > 1:
        # Every class has weights of its own: equally weighted draws stand for them.
        picks = [rng.choice(n_draws, size=n_draws, p=column) for column in weights.T]
        thetas = np.stack([thetas[picks[c], j] for j, c in enumerate(class_of)], axis=1)
        density = np.sum([log_weights[pick, c] for c, pick in enumerate(picks)], axis=0)
        shares = np.full(n_draws, 1.0 / n_draws)
    samples = Samples(
        thetas[None],
        density[None],
        weights=shares,
        n_effective=min(effective_weights(column) for column in log_weights.T),
        n_failed=int(np.sum(~np.all(np.isfinite(log_weights), axis=1))),
    )
    return Learned(
        theta,
        trace[-1],
        n_iter * n_draws,
        samples.n_effective >= ENOUGH,  # type: ignore[operator]
        theta_names=tuple(model.theta_names),
        samples=samples,
        trace=tuple(trace),
    )


def _classes(model: Model) -> np.ndarray:
    """For each entry of theta the group of weights it goes by: its class's with a PerClass kernel, else the one."""
    if not isinstance(model.kernel, PerClass):
        return np.zeros(model.theta.size, dtype=int)
    return np.repeat(np.arange(model.n_latent), [child.theta.size for child in model.kernel.children])


def _update_means(model: Model, K: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, float]:
    """m_k <- C (I + C)^-1 y_k (4.6), and the bound there (appendix C, re-derived in ``inference.vb``)."""
    y = model.likelihood.augment(model.y, m) - getattr(model.likelihood, "bias", 0.0)
    means, fit = [], 0.0
    for c in range(model.n_latent):
        own = class_matrix(K, c)
        if c == 0 or K.ndim == 3:
            L = linalg.cholesky(own + np.eye(len(own)))
        alpha = linalg.solve(L, y[:, c])
        means.append(own @ alpha)
        fit -= 0.5 * float(means[-1] @ alpha + linalg.log_det(L))
    m = np.stack(means, axis=1)
    return m, fit + float(model.likelihood.log_prob(model.y, m).sum())


def _log_prior_of_means(model: Model, theta: np.ndarray, m: np.ndarray) -> np.ndarray:
    """log N(m_k | 0, C_phi): one entry for each class with a PerClass kernel, else one, summed over classes."""
    K = model.at(theta)[0](model.X)
    try:
        L = linalg.cholesky(K)
    except LinAlgError:
        return np.full(len(K) if K.ndim == 3 else 1, -np.inf)
    if K.ndim == 3:
        halves = [linalg.half_solve(L[c], m[:, c]) for c in range(len(L))]
        return np.array([-0.5 * (h @ h + linalg.log_det(L[c])) for c, h in enumerate(halves)])
    half = linalg.half_solve(L, m)
    return np.array([-0.5 * (np.sum(half**2) + m.shape[1] * linalg.log_det(L))])

"""GR06's loop of section 4.4 written plainly, one iteration at a time: with the printed importance weights, which
collapse, and with the latent functions integrated out of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import logsumexp

from ..kernels import RBF
from ..likelihoods import MultinomialProbit
from ..numerics import linalg

#: psi_d ~ Gamma(sigma, tau), vague (section 6.1).
SIGMA = TAU = 1e-3
LIKELIHOOD = MultinomialProbit()


@dataclass(frozen=True)
class Step:
    """One iteration: the relevances phi, how many of the draws behind them count, and the latent functions there."""

    phi: np.ndarray
    n_effective: float
    bound: float
    X: np.ndarray
    alpha: np.ndarray

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable class: that of the largest mean, because all classes have the same variance."""
        return (kernel_of(self.phi)(X, self.X) @ self.alpha).argmax(axis=1)


def kernel_of(phi: np.ndarray) -> RBF:
    """exp(-sum_d phi_d (x_d - x'_d)^2)."""
    return RBF(1.0 / np.sqrt(2.0 * phi))


def iterate(
    X: np.ndarray, y: np.ndarray, integrated: bool, n_draws: int, n_iterations: int, rng: np.random.Generator
) -> Iterator[Step]:
    """Iterations from phi = 1 and random means, for classes y = 0, 1, ...

    Draws phi ~ Exp(psi) are weighed by prod_k N(m_k | 0, C_phi) as printed (4.5), or, ``integrated``, by
    prod_k N(y_k | 0, I + C_phi): the density of the pseudo-observations y with m integrated out. The first takes the
    posterior mean for a draw from the prior; it is smoother than any, so wide kernels take all the weight.
    """
    phi, n_effective = np.ones(X.shape[1]), float("nan")
    noise = np.eye(len(X))
    m = 0.1 * rng.standard_normal((len(X), y.max() + 1))
    for _ in range(n_iterations):
        Y = LIKELIHOOD.augment(y, m)
        C = kernel_of(phi)(X)
        L = linalg.cholesky(C + noise)
        alpha = linalg.solve(L, Y)
        m = C @ alpha  # 4.6
        fit = -0.5 * (np.vdot(m, alpha) + m.shape[1] * linalg.log_det(L))
        yield Step(phi, n_effective, float(LIKELIHOOD.log_prob(y, m).sum() + fit), X, alpha)
        psi = (SIGMA + 1.0) / (TAU + phi)  # 4.8
        draws = rng.exponential(1.0 / psi, size=(n_draws, len(phi)))
        values, ridge = (Y, noise) if integrated else (m, 0.0)
        log_weights = np.array([_log_density(values, kernel_of(own)(X) + ridge) for own in draws])
        weights = np.exp(log_weights - logsumexp(log_weights))
        phi, n_effective = weights @ draws, float(1.0 / np.sum(weights**2))  # 4.7


def _log_density(values: np.ndarray, covariance: np.ndarray) -> float:
    """sum_k log N(values_k | 0, covariance) but for a constant; minus infinity where no jitter helps to factorise.

    The smallest jitter of ``linalg.JITTER_LADDER`` with which it factorises is taken. Without the noise most
    covariances need one, and where the printed weights fall depends on it.
    """
    try:
        L = linalg.cholesky(covariance)
    except LinAlgError:
        return -np.inf
    half = linalg.solve_triangular(L, values)
    return float(-0.5 * (np.vdot(half, half) + values.shape[1] * linalg.log_det(L)))

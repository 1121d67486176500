"""Sites that couple the classes: the state of ``EP(coupling="full")``.

Each row has a Gaussian site on its C latent values with precision T = diag(d) - d d' / sum(d) and a location. That
product form is what the nested EP of Riihimaki, Jylanki & Vehtari (2013) arrives at for the multinomial probit, and
what the softmax has under the moments of CC05 (``likelihoods.softmax``). It makes a sweep cost C + 1 factorisations
(``ProductFormPosterior``) and not one of a matrix of C n rows.

All arrays have the namespace of K; the likelihood computes on the host, row by row.
"""

from typing import Any, NamedTuple

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...numerics.arrays import Array, like, namespace, to_host
from ..base import GaussianTerms, Latent
from .cavities import FLOOR, cavities
from .left_out import SIZE_OF_SWEEPS, by_sweeps, solve_again
from .product_form_posterior import ProductFormPosterior, Workspace


class CoupledSites(NamedTuple):
    """d and location, (n, C): what a sweep changes, and what a fit with other parameters starts from."""

    d: Array
    location: Array


class _CoupledState(NamedTuple):
    """Posterior at the training rows for given sites, and the cavities."""

    sites: CoupledSites
    posterior: ProductFormPosterior
    alpha: Array
    mean: Array
    cavity_mean: Array
    cavity_cov: Array
    cavity_scale: Array
    weights: Array
    log_norm: Array  # log of the integral of cavity times site, (n,)
    broken: Array  # rows whose cavity is no distribution


class CoupledScheme:
    """How sites that couple the classes turn into posteriors and cavities, and cavities into matching sites."""

    def __init__(self, K: Array, y: np.ndarray, likelihood: Likelihood, n_latent: int) -> None:
        self.K, self.y, self.likelihood, self.shape = K, y, likelihood, (len(y), n_latent)
        self._xp = namespace(K)
        self._workspace = Workspace(*self.shape, K)

    def start(self, init: Any) -> CoupledSites:
        """The sites given, unless they belong to another problem or engine."""
        if isinstance(init, CoupledSites) and init.d.shape == self.shape:
            return CoupledSites(*(like(part, self.K) for part in init))
        # A little curvature everywhere: the prior, to all purposes, and no division by zero.
        least = 1e-8 / float(self._xp.max(self._xp.linalg.diagonal(self.K)))
        return CoupledSites(like(np.full(self.shape, least), self.K), like(np.zeros(self.shape), self.K))

    def refresh(self, d: Array, location: Array) -> _CoupledState:
        """The posterior and the cavities for these sites; overwrites the matrices of the last."""
        xp, d = self._xp, self._xp.clip(d, FLOOR, None)
        posterior = ProductFormPosterior(self.K, d, self._workspace)
        # Not as location - T mean: at large amplitudes predictions k*' alpha need digits that the mean has lost.
        alpha = posterior.alpha(location)
        mean = linalg.product(self.K, alpha)
        cov = posterior.marginals()
        cavity_mean, cavity_cov, log_det, broken = cavities(mean, cov, d, alpha)
        # log integral of N(f; mu, V) exp(-f'Tf/2 + nu'f) = nu'mu - mu'T mu/2 + r'(mean - mu)/2 - log|I + VT|/2 with
        # r = nu - T mu.
        t_mu = posterior.times_precision(cavity_mean)
        pull = xp.sum(cavity_mean * (location - 0.5 * t_mu), axis=1)
        pull += 0.5 * xp.sum((location - t_mu) * (mean - cavity_mean), axis=1)
        log_norm = pull + 0.5 * log_det
        variance = self._visible(cov)
        weights = xp.stack([variance, xp.sqrt(variance)])
        scale = xp.sqrt(1.0 + self._visible(cavity_cov))
        return _CoupledState(
            CoupledSites(d, location), posterior, alpha, mean, cavity_mean, cavity_cov, scale, weights, log_norm, broken
        )

    def match(self, state: _CoupledState) -> tuple[float, Array, Array]:
        """The log evidence, the sites (2, n, C) that match the moments of every row, and the rows (n, 1) that keep
        theirs."""
        xp = self._xp
        log_z, d, location = self.likelihood.evaluate("site", self.y, state.cavity_mean, state.cavity_cov)
        matched = xp.stack([d, location])
        keep = state.broken | ~xp.all(xp.isfinite(matched), axis=(0, 2))
        # log Z_EP: every label's Z over its site's integral under the cavity, times the integral of prior and sites.
        whole = 0.5 * (linalg.dot(state.sites.location, state.mean) - state.posterior.log_det)
        return float(xp.sum(log_z - state.log_norm)) + whole, matched, keep[:, None]

    def gradient(self, state: _CoupledState) -> tuple[Array, np.ndarray]:
        """d log Z_EP / dK_c; the sites drop out at the fixed point."""
        self.likelihood.refuse_to_learn("EP with coupled sites")
        by_K, _ = state.posterior.log_det_gradient()
        return 0.5 * (linalg.outer(state.alpha, state.alpha, stacked=self.K.ndim == 3) - by_K), np.zeros(0)

    def leave_one_out(self, state: _CoupledState, tol: float) -> Latent:
        """Each row without its label: the cavities, and where these are far from the posterior small problems of the
        row and those around it."""
        mean, cov = (np.array(to_host(part)) for part in (state.cavity_mean, state.cavity_cov))
        centre = to_host(state.mean), to_host(state.alpha)
        sites = to_host(state.sites.d), to_host(state.sites.location)
        solve = by_sweeps(self.y, self.likelihood, *sites, tol)
        solve_again(state.posterior, self.likelihood, self.y, centre, (mean, cov), solve, SIZE_OF_SWEEPS)
        return Latent(mean, cov)

    def terms(self, state: _CoupledState) -> GaussianTerms:
        """The posterior, for predictions elsewhere."""
        return state.posterior.terms(state.alpha)

    def _visible(self, cov: Array) -> Array:
        """Variances (n, C) of each latent value less the mean of all: what labels depend on."""
        xp = self._xp
        own, by_class = xp.linalg.diagonal(cov), xp.mean(cov, axis=2)
        # Where the common shift is nearly all there is, the difference may lose its sign.
        return xp.maximum(own - 2.0 * by_class + xp.mean(by_class, axis=1, keepdims=True), 1e-15 * own)

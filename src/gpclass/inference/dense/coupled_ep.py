"""Expectation propagation whose sites couple the classes: the loop behind ``EP(coupling="full")``.

Each row has a Gaussian site on its C latent values with precision T = diag(d) - d d' / sum(d) and a location. That
product form is what the nested EP of Riihimaki, Jylanki & Vehtari (2013) arrives at for the multinomial probit, and
what the softmax has under the moments of CC05 (``likelihoods.softmax``). It makes a sweep cost C + 1 factorisations
(``coupling.ProductFormPosterior``) and not one of a matrix of C n rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...training.monitor import track
from ..base import Fit, Info
from .anderson import Anderson
from .product_form_posterior import ProductFormPosterior, Workspace

#: Curvatures stay above this: a class that does not matter for a row still needs a root.
_FLOOR = 1e-100


class CoupledSites(NamedTuple):
    """d and location, (n, C): what the loop iterates, and what a neighbour starts from."""

    d: np.ndarray
    location: np.ndarray


class _State(NamedTuple):
    """Posterior at the training rows for given sites, and the cavities."""

    sites: CoupledSites
    posterior: ProductFormPosterior
    alpha: np.ndarray
    mean: np.ndarray
    spread: np.ndarray  # posterior standard deviations (n, C) but for common shifts
    cavity_mean: np.ndarray
    cavity_cov: np.ndarray
    log_norm: np.ndarray  # log of the integral of cavity times site, (n,)
    broken: np.ndarray  # rows whose cavity is no distribution


def run(engine: Any, K: np.ndarray, y: np.ndarray, likelihood: Likelihood, C: int, init: Any, gradient: bool) -> Fit:
    """``engine`` is an EP with its damping, tol and max_iter; the rest as for any engine."""
    n = len(y)
    if isinstance(init, CoupledSites) and init.d.shape == (n, C):
        sites = init
    else:
        # A little curvature everywhere: the prior, to all purposes, and no division by zero.
        sites = CoupledSites(np.full((n, C), 1e-8 / np.max(np.diagonal(K, axis1=-2, axis2=-1))), np.zeros((n, C)))
    workspace = Workspace(n, C)
    state = _refresh(K, sites, workspace)
    walk = Anderson(mixing=engine.damping)
    trace: list[float] = []
    converged, n_skipped = False, 0
    best, smallest = sites, np.inf
    for _ in track(range(engine.max_iter), "EP sweeps"):
        log_z, d, location = likelihood.site(y, state.cavity_mean, state.cavity_cov)
        trace.append(_log_evidence(state, log_z))
        matched = np.stack([d, location])
        keep = state.broken | ~np.isfinite(matched).all(axis=(0, 2))
        n_skipped += int(np.count_nonzero(keep))
        current = np.stack(state.sites)
        residual = np.where(keep[:, None], 0.0, matched - current)
        weights = np.stack([state.spread**2, state.spread])
        previous = state.cavity_mean
        d, location = walk.step(current, residual, weights)
        state = _refresh(K, CoupledSites(np.maximum(d, _FLOOR), location), workspace)
        noise = np.sqrt(1.0 + _visible(state.cavity_cov))
        max_step = np.max(np.abs(state.cavity_mean - previous) / noise)
        max_residual = max(float(max_step), float(np.max(np.abs(residual * weights))))
        if max_residual < smallest:
            best, smallest = state.sites, max_residual
        if max_residual < engine.tol:
            converged = True
            break
        walk.watch(max_residual)
    if not converged:
        state = _refresh(K, best, workspace)
    log_z = likelihood.site(y, state.cavity_mean, state.cavity_cov)[0]
    log_evidence = _log_evidence(state, log_z)
    trace.append(log_evidence)
    info = Info(len(trace) - 1, converged, tuple(trace), n_skipped)
    dK = dlikelihood = None
    if gradient:
        likelihood.refuse_to_learn("EP with coupled sites")
        dK, dlikelihood = _gradient(K, state), np.zeros(0)
    loo = (state.cavity_mean, state.cavity_cov)
    return Fit(
        state.posterior.weights(state.alpha), log_evidence, log_evidence, info, state.sites, loo, dK, dlikelihood
    )


def _refresh(K: np.ndarray, sites: CoupledSites, workspace: Workspace) -> _State:
    d, location = sites
    posterior = ProductFormPosterior(K, d, workspace)
    # Not as location - T mean: at large amplitudes predictions k*' alpha need digits that the mean has lost.
    alpha = posterior.alpha(location)
    mean = linalg.product(K, alpha)
    total = d.sum(axis=1, keepdims=True)
    cov = posterior.marginals()
    # T = U U' with U = D^1/2 (I - q q'), q = (d / s)^1/2: the cavity covariance is S + S U (I - U'S U)^-1 U' S.
    root, q = np.sqrt(d), np.sqrt(d / total)
    U = root[:, :, None] * (np.eye(d.shape[1]) - q[:, :, None] * q[:, None, :])
    SU = cov @ U
    settled = np.swapaxes(U, 1, 2) @ SU
    values, vectors = np.linalg.eigh(settled)
    broken = values[:, -1] >= 1.0 - 1e-12
    left = np.where(broken[:, None], 1.0, 1.0 - values)
    turned = SU @ vectors
    cavity_cov = cov + (turned / left[:, None, :]) @ np.swapaxes(turned, 1, 2)
    cavity_cov[broken] = cov[broken]
    # mean_- = S_- (S^-1 mean - location) = mean - S_- (location - T mean) = mean - S_- alpha
    cavity_mean = mean - np.einsum("ncd,nd->nc", cavity_cov, alpha)
    cavity_mean[broken] = mean[broken]
    # log integral of N(f; mu, V) exp(-f'Tf/2 + nu'f) = nu'mu - mu'T mu/2 + r'(mean - mu)/2 - log|I + VT|/2 with
    # r = nu - T mu, and |I + VT|^-1 = |I - U'SU|.
    t_mu = posterior.times_precision(cavity_mean)
    pull = (cavity_mean * (location - 0.5 * t_mu)).sum(axis=1)
    pull += 0.5 * ((location - t_mu) * (mean - cavity_mean)).sum(axis=1)
    log_norm = pull + 0.5 * np.log(left).sum(axis=1)
    spread = np.sqrt(_visible(cov))
    return _State(sites, posterior, alpha, mean, spread, cavity_mean, cavity_cov, log_norm, broken)


def _visible(cov: np.ndarray) -> np.ndarray:
    """Variances (n, C) of each latent value less the mean of all: what labels can see of them."""
    own, by_class = np.einsum("ncc->nc", cov), cov.mean(axis=2)
    # Where the common shift is nearly all there is, the difference may lose its sign.
    return np.maximum(own - 2.0 * by_class + by_class.mean(axis=1, keepdims=True), 1e-15 * own)


def _log_evidence(state: _State, log_z: np.ndarray) -> float:
    """log Z_EP: every label's Z over its site's integral under the cavity, times the integral of prior and sites."""
    whole = 0.5 * (np.vdot(state.sites.location, state.mean) - state.posterior.log_det)
    return float(np.sum(log_z - state.log_norm) + whole)


def _gradient(K: np.ndarray, state: _State) -> np.ndarray:
    """d log Z_EP / dK_c; the sites drop out at the fixed point."""
    spread, _ = state.posterior.log_det_gradient()
    if K.ndim == 2:
        return 0.5 * (state.alpha @ state.alpha.T - spread)
    return 0.5 * (np.einsum("nc,mc->cnm", state.alpha, state.alpha) - spread)

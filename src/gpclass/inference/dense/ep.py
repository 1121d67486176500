"""Expectation propagation, jointly over all classes.

Sites that couple the classes are in ``coupled_ep``. Here they are independent between classes: for likelihoods with one
latent function, for labels with noise, and when asked for.

Every row n and latent function c has a Gaussian site with precision tau_nc and location nu_nc = tau_nc * mean_nc. A
sweep takes each site out (the cavity), matches the first two moments of cavity times likelihood, and puts the
matching site back, all rows at once. For the multinomial probit those moments follow from derivatives of log Z in the
cavity means, and log Z is the one-dimensional cone integral of ``probit_moments``: the classes are coupled through it
although the sites are not, and no K-dimensional quadrature is needed.

Adding the same function to all classes changes no label, so that direction is settled by the prior alone, and plain
sweeps crawl along it. Anderson acceleration does not.

The cavity leaves the row's own label out, so it predicts that label: leave-one-out probabilities cost nothing extra.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...training.monitor import track
from ..base import Fit, GaussianTerms, Info, check_prior, class_matrix, threads_suited_to_size
from ..settings import check_settings
from . import coupled_ep
from .anderson import Anderson

#: Site precisions stay above this fraction of the prior precision; a log-concave likelihood never asks for less.
_FLOOR = 1e-10


class Sites(NamedTuple):
    """Gaussian sites (n, C): what EP iterates, and what a neighbour starts from."""

    precision: np.ndarray
    location: np.ndarray


class _State(NamedTuple):
    """Posterior at the training rows for given sites."""

    sites: Sites
    chol: tuple[np.ndarray, ...]  # L_c of B_c = I + T^1/2 K_c T^1/2
    inverse_factor: tuple[np.ndarray, ...]  # L_c^-1
    log_det: float  # sum_c log |B_c|
    alpha: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    def cavity(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean, variance, and where the cavity is no distribution."""
        precision = 1.0 / self.variance - self.sites.precision
        broken = precision <= 1e-12 / self.variance
        variance = 1.0 / np.where(broken, 1.0 / self.variance, precision)
        mean = variance * (self.mean / self.variance - self.sites.location)
        return np.where(broken, self.mean, mean), variance, broken


@dataclass(frozen=True)
class EP:
    """Expectation propagation for any likelihood with moments of the tilted distribution.

    Parameters
    ----------
    damping : float in (0, 1]
        Share of the way to the matching site that a sweep goes; halved when sweeps stop settling.
    tol : float
        Stop when no cavity mean moves by more than this, in units of its own spread and the unit noise, and no site is
        further than this from matching its moments, in units of the posterior spread.
    max_iter : int
        Limit on sweeps.
    coupling : "auto", "none" or "full"
        Whether sites have covariances between classes. "full" (``coupled_ep``) needs a likelihood with a ``site``:
        MultinomialProbit without label noise, or Softmax. A sweep then costs more, and far fewer are needed; evidence,
        predictions and leave-one-out beliefs are closer to the truth. "auto" is "full" wherever that works.
    """

    damping: float = 0.8
    tol: float = 1e-4
    max_iter: int = 400
    coupling: str = "auto"

    needs: ClassVar = ()

    def __post_init__(self) -> None:
        check_settings(self, max_iter=1)
        if self.coupling not in ("auto", "none", "full"):
            raise ValueError(f"EP: coupling must be 'auto', 'none' or 'full', got {self.coupling!r}")

    def differentiates(self, likelihood: Likelihood) -> bool:
        """Where sites lose negative precisions the evidence is not stationary in them, and has no cheap gradient."""
        return likelihood.log_concave

    def _couples(self, likelihood: Likelihood, n_latent: int) -> bool:
        if self.coupling == "none" and n_latent > 1 and not likelihood.provides("tilted"):
            raise TypeError(
                f"EP(coupling='none') needs one-dimensional moments; {type(likelihood).__name__} has none: use EP()"
            )
        if n_latent == 1 or self.coupling == "none":
            return False
        if self.coupling == "full" and not likelihood.provides("site"):
            raise TypeError(
                "EP(coupling='full') needs MultinomialProbit without label noise, or Softmax; got "
                f"{likelihood!r}. Use EP(), which couples the classes wherever it can"
            )
        return likelihood.provides("site")

    @threads_suited_to_size
    def __call__(
        self,
        K: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        n_latent: int,
        init: Any = None,
        gradient: bool = False,
    ) -> Fit:
        check_prior(K)
        if likelihood.predictive is not likelihood:
            raise TypeError(
                "EP takes no weights or soft labels: a power of a likelihood has no closed Gaussian average"
            )
        if gradient and not self.differentiates(likelihood):
            raise TypeError(f"EP gives no gradient for {type(likelihood).__name__} with label noise")
        if self._couples(likelihood, n_latent):
            return coupled_ep.run(self, K, y, likelihood, n_latent, init, gradient)
        n = len(y)
        prior = np.stack([np.diag(class_matrix(K, c)) for c in range(n_latent)], axis=1)
        # A row may have no prior variance at all (a linear kernel at zero).
        floor = _FLOOR / np.maximum(prior, 1e-10 * prior.max())
        fits = isinstance(init, Sites) and init.precision.shape == prior.shape
        sites = init if fits else Sites(floor, np.zeros((n, n_latent)))
        state = _refresh(K, Sites(np.maximum(sites.precision, floor), sites.location))
        walk = Anderson(mixing=self.damping)
        trace, converged, n_skipped = [], False, 0
        best, smallest = state, np.inf
        cavity_mean, cavity_variance, broken = state.cavity()
        for _ in track(range(self.max_iter), "EP sweeps"):
            log_z, first, second = likelihood.tilted(y, cavity_mean, cavity_variance)
            trace.append(_log_evidence(state, log_z, cavity_mean, cavity_variance))
            # Moments mean + v first and v + v^2 second, written as a site; a broken cavity keeps the one it has.
            shrink = np.maximum(1.0 + cavity_variance * second, 1e-10)
            matched = np.stack([-second / shrink, (first - second * cavity_mean) / shrink])
            # A likelihood that is not log-concave may ask for a negative precision: then match the mean alone.
            flat = matched[0] < floor
            matched = np.where(flat, np.stack([floor, first]), matched)
            keep = broken | ~np.isfinite(matched).all(axis=0)
            n_skipped += int(np.count_nonzero(keep))
            current = np.stack(state.sites)
            residual = np.where(keep, 0.0, matched - current)
            weights = np.stack([state.variance, np.sqrt(state.variance)])
            precision, location = walk.step(current, residual, weights)
            state = _refresh(K, Sites(np.maximum(precision, floor), location))
            previous = cavity_mean
            cavity_mean, cavity_variance, broken = state.cavity()
            # Settled when neither the cavities move nor the sites still miss their moments.
            max_step = np.max(np.abs(cavity_mean - previous) / np.sqrt(1.0 + cavity_variance))
            max_residual = max(float(max_step), float(np.max(np.abs(residual * weights))))
            if max_residual < smallest:
                best, smallest = state, max_residual
            if max_residual < self.tol:
                converged = True
                break
            walk.watch(max_residual)
        if not converged:
            state = best
            cavity_mean, cavity_variance, _ = state.cavity()
        log_z, _, _ = likelihood.tilted(y, cavity_mean, cavity_variance)
        log_evidence = _log_evidence(state, log_z, cavity_mean, cavity_variance)
        trace.append(log_evidence)
        posterior = GaussianTerms(state.alpha, np.sqrt(state.sites.precision), np.stack(state.chol))
        info = Info(len(trace) - 1, converged, tuple(trace), n_skipped)
        dK = dlikelihood = None
        if gradient:
            dK = _gradient(K, state)
            dlikelihood = likelihood.tilted_gradient(y, cavity_mean, cavity_variance)
        loo = (cavity_mean, cavity_variance)
        return Fit(posterior, log_evidence, log_evidence, info, state.sites, loo, dK, dlikelihood)


def _refresh(K: np.ndarray, sites: Sites) -> _State:
    """One factorisation for each latent function: B = I + T^1/2 K T^1/2 = L L'."""
    n, C = sites.precision.shape
    root = np.sqrt(sites.precision)

    def one(c: int) -> tuple[np.ndarray, ...]:
        own = class_matrix(K, c)
        r = root[:, c]
        B = own * r
        B *= r[:, None]
        B[np.diag_indices(n)] += 1.0
        L = linalg.cholesky(B)
        inverse_factor = linalg.inverse_factor(L)
        # Sigma = T^-1 - T^-1/2 B^-1 T^-1/2, so its diagonal is (1 - diag B^-1) / tau, with diag B^-1 from L^-1.
        settled = np.einsum("kn,kn->n", inverse_factor, inverse_factor)
        variance = (1.0 - settled) / sites.precision[:, c]
        # Where tau is tiny that difference has no digits left: take those rows the long way.
        weak = np.flatnonzero(sites.precision[:, c] * np.diag(own) < 1e-7)
        if len(weak):
            V = inverse_factor @ (r[:, None] * own[:, weak])
            variance[weak] = np.diag(own)[weak] - np.einsum("kn,kn->n", V, V)
        # alpha = K^-1 mean = nu - T^1/2 B^-1 T^1/2 K nu
        nu = sites.location[:, c]
        alpha = nu - r * (inverse_factor.T @ (inverse_factor @ (r * (own @ nu))))
        return L, inverse_factor, alpha, own @ alpha, np.maximum(variance, 1e-14 * np.max(np.diag(own)))

    chol, inverse_factor, alpha, mean, variance = zip(*linalg.for_each_class(one, C, K.shape[-1]), strict=True)
    return _State(
        sites,
        chol,
        inverse_factor,
        float(sum(linalg.log_det(L) for L in chol)),
        np.stack(alpha, axis=1),
        np.stack(mean, axis=1),
        np.stack(variance, axis=1),
    )


def _log_evidence(state: _State, log_z: np.ndarray, cavity_mean: np.ndarray, cavity_variance: np.ndarray) -> float:
    """log Z_EP in natural parameters; stationary in the sites at the fixed point."""
    tau, nu = state.sites
    v = state.variance
    cavity_precision = 1.0 / cavity_variance
    cavity_location = cavity_mean * cavity_precision
    quadratic = np.vdot(nu, state.mean) - np.sum(v * nu**2)
    quadratic += np.sum(v * cavity_location * (tau / cavity_precision * cavity_location - 2.0 * nu))
    spread = np.sum(np.log1p(tau * cavity_variance)) - state.log_det
    return float(log_z.sum() + 0.5 * (quadratic + spread))


def _gradient(K: np.ndarray, state: _State) -> np.ndarray:
    """d log Z_EP / dK_c = (alpha alpha' - T^1/2 B^-1 T^1/2) / 2; the sites drop out at the fixed point."""
    root = np.sqrt(state.sites.precision)

    def one(c: int) -> np.ndarray:
        half = state.inverse_factor[c] * root[:, c]
        return 0.5 * (np.outer(state.alpha[:, c], state.alpha[:, c]) - half.T @ half)

    pieces = linalg.for_each_class(one, root.shape[1], root.shape[0])
    return np.sum(pieces, axis=0) if K.ndim == 2 else np.stack(pieces)

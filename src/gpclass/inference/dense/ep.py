"""Expectation propagation, jointly over all classes.

Every row n and latent function c has a Gaussian site with precision tau_nc and location nu_nc = tau_nc * mean_nc. A
sweep takes each site out (the cavity), matches the first two moments of cavity times likelihood, and puts the
matching site back, all rows at once. For the multinomial probit those moments follow from derivatives of log Z in the
cavity means, and log Z is the one-dimensional cone integral of ``probit_moments``: the classes are coupled through it
although the sites are not, and no K-dimensional quadrature is needed.

Sites that couple the classes are in ``coupled_ep``. Those here are independent between classes: for likelihoods with
one latent function, for labels with noise, and when asked for.

Adding the same function to all classes changes no label, so that direction is determined by the prior alone, and plain
sweeps converge slowly along it. Anderson acceleration does not.

The cavity leaves the row's own label out, so it predicts that label: leave-one-out probabilities cost nothing extra.

All arrays have the namespace of K; the likelihood computes on the host, row by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from operator import mul
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...numerics.arrays import Array, is_numpy, like, namespace, to_host
from ...training.monitor import Monitor
from ..base import Engine, Fit, GaussianTerms, Info, Latent, check_prior_variance, class_matrix
from ..prior import DensePrior
from ..settings import check_settings
from .anderson import Anderson
from .cavities import matching_sites
from .coupled_ep import CoupledScheme
from .left_out import by_sweeps
from .left_out_groups import independent_without_groups, without_groups
from .product_form_posterior import ProductFormPosterior

#: Site precisions stay above this fraction of the prior precision; a log-concave likelihood never asks for less.
FLOOR = 1e-10


@dataclass(frozen=True)
class EP(Engine):
    """Expectation propagation for any likelihood.

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
        predictions and leave-one-out predictions are closer to the truth. "auto" is "full" wherever that works.
    """

    damping: float = 0.8
    tol: float = 1e-4
    max_iter: int = 400
    coupling: str = "auto"

    prior_type: ClassVar = DensePrior

    def __post_init__(self) -> None:
        check_settings(self, max_iter=1)
        if self.coupling not in ("auto", "none", "full"):
            raise ValueError(f"EP: coupling must be 'auto', 'none' or 'full', got {self.coupling!r}")

    def differentiates(self, likelihood: Likelihood) -> bool:
        """Where sites lose negative precisions the evidence is not stationary in them, and has no cheap gradient."""
        return likelihood.log_concave

    def _couples(self, likelihood: Likelihood, n_latent: int) -> bool:
        if n_latent == 1 or self.coupling == "none":
            return False
        if self.coupling == "full" and "site" not in likelihood.supports:
            raise TypeError(
                "EP(coupling='full') needs MultinomialProbit without label noise, or Softmax; got "
                f"{likelihood!r}. Use EP(), which couples the classes wherever it can"
            )
        return "site" in likelihood.supports

    def infer(
        self, prior: DensePrior, y: np.ndarray, likelihood: Likelihood, init: Any, gradient: bool, monitor: Monitor
    ) -> Fit:
        check_prior_variance(prior.K)
        if gradient and not self.differentiates(likelihood):
            raise TypeError(
                f"EP gives no gradient for {likelihood!r}, which is not log-concave; use VB() or Laplace(), or "
                "differences of the evidence"
            )
        kind = CoupledScheme if self._couples(likelihood, prior.n_latent) else IndependentScheme
        scheme: Any = kind(prior.K, y, likelihood, prior.n_latent)
        state, info = self._sweep(scheme, init, monitor)
        log_evidence = info.trace[-1]
        slope = prior.gradient(*scheme.gradient(state)) if gradient else None
        loo = None if gradient else cache(lambda: scheme.leave_one_out(state, self.tol))
        posterior = prior.posterior(scheme.terms(state))
        return Fit(posterior, log_evidence, log_evidence, info, loo, slope, state.sites)

    def without_groups(
        self,
        prior: DensePrior,
        y: np.ndarray,
        likelihood: Likelihood,
        terms: GaussianTerms,
        groups: Sequence[np.ndarray],
    ) -> Latent:
        """By the sites of the fit; where classes have independent ones, others keep theirs."""
        d, alpha = terms.sqrt_precision**2, to_host(terms.alpha)
        mean = to_host(linalg.product(prior.K, terms.alpha))
        d = d[:, None] if d.ndim == 1 else d
        if d.shape[1] > 1 and terms.coupling is None:
            return Latent(*independent_without_groups(prior.K, d, mean, alpha, groups))
        posterior = ProductFormPosterior(prior.K, d)
        location = alpha + linalg.row_products(to_host(posterior.precision()), mean)
        solve = by_sweeps(y, likelihood, to_host(d), location, self.tol)
        mean, cov = without_groups(posterior, mean, alpha, groups, solve)
        return Latent(mean, cov if d.shape[1] > 1 else cov[:, :, 0])

    def check(self, likelihood: Likelihood, n_latent: int) -> None:
        super().check(likelihood, n_latent)
        self._couples(likelihood, n_latent)

    def _sweep(self, scheme: Any, init: Any, monitor: Monitor) -> tuple[Any, Info]:
        """Sweeps until the sites match the moments of their rows: the state there, or the best one on the way."""
        xp = namespace(scheme.K)
        state = scheme.refresh(*scheme.start(init))
        acceleration = Anderson(mixing=self.damping)
        trace: list[float] = []
        converged, n_skipped = False, 0
        best, smallest = state.sites, np.inf
        with monitor.task("EP sweeps") as sweeps:
            for _ in sweeps.each(range(self.max_iter)):
                log_evidence, matched, keep = scheme.match(state)
                trace.append(log_evidence)
                n_skipped += int(xp.count_nonzero(keep))
                current, weights, previous = xp.stack(state.sites), state.weights, state.cavity_mean
                residual = xp.where(keep, 0.0, matched - current)
                following = acceleration.step(current, residual, partial(mul, weights))
                state = scheme.refresh(following[0, ...], following[1, ...])
                # Converged when neither the cavities move nor the sites still miss their moments.
                max_step = xp.max(xp.abs(state.cavity_mean - previous) / state.cavity_scale)
                max_residual = max(float(max_step), float(xp.max(xp.abs(residual * weights))))
                if max_residual < smallest:
                    best, smallest = state.sites, max_residual
                if max_residual < self.tol:
                    converged = True
                    break
                acceleration.watch(max_residual)
        if not converged:
            state = scheme.refresh(*best)
        trace.append(scheme.match(state)[0])
        stopped = sweeps.should_stop and not converged
        return state, Info(len(trace) - 1, converged, tuple(trace), n_skipped, stopped=stopped)


class Sites(NamedTuple):
    """Gaussian sites (n, C): what a sweep changes, and what a fit with other parameters starts from."""

    precision: Array
    location: Array

    def cavities(self, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """Means and variances (n, C) of the posterior without each site, and where that is no distribution."""
        xp = namespace(mean)
        left = 1.0 / variance - self.precision
        broken = left <= 1e-12 / variance
        cavity_variance = 1.0 / xp.where(broken, 1.0 / variance, left)
        return xp.where(broken, mean, cavity_variance * (mean / variance - self.location)), cavity_variance, broken

    def log_evidence(self, mean: Array, variance: Array, cavity_mean: Array, cavity_variance: Array) -> float:
        """The sites' part of log Z_EP in natural parameters, without log Z and the determinant; stationary in the sites
        at the fixed point."""
        xp, (tau, nu), location = namespace(mean), self, cavity_mean / cavity_variance
        quadratic = linalg.dot(nu, mean) - float(xp.sum(variance * nu**2))
        quadratic += float(xp.sum(variance * location * (tau * cavity_variance * location - 2.0 * nu)))
        return 0.5 * (quadratic + float(xp.sum(xp.log1p(tau * cavity_variance))))


class _State(NamedTuple):
    """Posterior at the training rows for given sites, and the cavities.

    ``cavity_scale`` (n, C) is the unit of moves of cavity means, ``weights`` (2, n, C) those of the two parameters of a
    site; both are what labels depend on.
    """

    sites: Sites
    chol: tuple[Array, ...]  # L_c of B_c = I + T^1/2 K_c T^1/2
    inverse_factor: tuple[Array, ...]  # L_c^-1
    log_det: float  # sum_c log |B_c|
    alpha: Array
    mean: Array
    variance: Array
    cavity_mean: Array
    cavity_cov: Array
    cavity_scale: Array
    weights: Array
    broken: Array  # where the cavity is no distribution


class IndependentScheme:
    """How sites that are independent between classes turn into posteriors and cavities, and cavities into sites."""

    def __init__(self, K: Array, y: np.ndarray, likelihood: Likelihood, n_latent: int) -> None:
        self.K, self.y, self.likelihood, self.shape = K, y, likelihood, (len(y), n_latent)
        self._xp = xp = namespace(K)
        diagonals = [xp.linalg.diagonal(class_matrix(K, c)) for c in range(n_latent)]
        self.variances = xp.stack(diagonals, axis=1)
        # A row may have no prior variance at all (a linear kernel at zero).
        self.floor = FLOOR / xp.clip(self.variances, 1e-10 * float(xp.max(self.variances)), None)
        self._smallest = 1e-14 * xp.max(self.variances, axis=0)

    def start(self, init: Any) -> Sites:
        """The sites given, unless they belong to another problem or engine."""
        if isinstance(init, Sites) and init.precision.shape == self.shape:
            return Sites(*(like(part, self.K) for part in init))
        return Sites(self.floor, self._xp.zeros_like(self.floor))

    def refresh(self, precision: Array, location: Array) -> _State:
        """The posterior and the cavities for these sites: one factorisation for each latent function."""
        xp = self._xp
        precision = xp.maximum(precision, self.floor)
        root = xp.sqrt(precision)

        def one(c: int) -> tuple[Array, ...]:
            K, prior, tau, r, nu = (
                class_matrix(self.K, c),
                self.variances[:, c],
                precision[:, c],
                root[:, c],
                location[:, c],
            )
            L = linalg.whitened_factor(K, r)
            inverse_factor = linalg.inverse_factor(L)
            # Sigma = T^-1 - T^-1/2 B^-1 T^-1/2, so its diagonal is (1 - diag B^-1) / tau, with diag B^-1 from L^-1.
            variance = (1.0 - linalg.squared_norms(inverse_factor)) / tau
            # Where tau is tiny that difference has no digits left: these rows get their variances by a product.
            weak = tau * prior < 1e-7
            if xp.any(weak):
                cross = xp.matrix_transpose(K[weak])  # K is symmetric
                variance[weak] = prior[weak] - linalg.squared_norms(inverse_factor @ (r[:, None] * cross))
            # alpha = K^-1 mean = nu - T^1/2 B^-1 T^1/2 K nu
            alpha = nu - r * (inverse_factor.T @ (inverse_factor @ (r * (K @ nu))))
            return L, inverse_factor, alpha, K @ alpha, xp.maximum(variance, self._smallest[c])

        found = linalg.for_each_class(one, self.shape[1], self.shape[0], on_host=is_numpy(self.K))
        chol, inverse_factor, *columns = zip(*found, strict=True)
        alpha, mean, variance = (xp.stack(parts, axis=1) for parts in columns)
        sites = Sites(precision, location)
        cavity_mean, cavity_variance, broken = sites.cavities(mean, variance)
        return _State(
            sites,
            chol,
            inverse_factor,
            sum(float(linalg.log_det(L)) for L in chol),
            alpha,
            mean,
            variance,
            cavity_mean,
            cavity_variance,
            xp.sqrt(1.0 + cavity_variance),
            xp.stack([variance, xp.sqrt(variance)]),
            broken,
        )

    def match(self, state: _State) -> tuple[float, Array, Array]:
        """The log evidence, the sites (2, n, C) that match the moments of every row, and those (n, C) that stay as they
        are."""
        xp, mean, variance = self._xp, state.cavity_mean, state.cavity_cov
        log_z, first, second = self.likelihood.evaluate("tilted", self.y, mean, variance)
        matched = matching_sites(mean, variance, first, second, self.floor)
        # A broken cavity keeps the site it has.
        keep = state.broken | ~xp.all(xp.isfinite(matched), axis=0)
        evidence = state.sites.log_evidence(state.mean, state.variance, mean, variance) - 0.5 * state.log_det
        return float(xp.sum(log_z)) + evidence, matched, keep

    def gradient(self, state: _State) -> tuple[Array, np.ndarray]:
        """d log Z_EP / dK_c = (alpha alpha' - T^1/2 B^-1 T^1/2) / 2, and that in the likelihood's theta; the sites drop
        out at the fixed point."""
        xp = self._xp
        root = xp.sqrt(state.sites.precision)

        def one(c: int) -> Array:
            alpha = state.alpha[:, c]
            return 0.5 * (alpha[:, None] * alpha - linalg.gram(state.inverse_factor[c] * root[:, c]))

        by_class = linalg.for_each_class(one, self.shape[1], self.shape[0], on_host=is_numpy(self.K))
        moments = to_host(state.cavity_mean), to_host(state.cavity_cov)
        by_K = reduce(xp.add, by_class) if self.K.ndim == 2 else xp.stack(by_class)
        return by_K, self.likelihood.tilted_gradient(self.y, *moments)

    def leave_one_out(self, state: _State, tol: float) -> Latent:
        """Each row without its label: the cavities."""
        return Latent.on_host(state.cavity_mean, state.cavity_cov)

    def terms(self, state: _State) -> GaussianTerms:
        """The posterior, for predictions elsewhere."""
        return GaussianTerms(state.alpha, self._xp.sqrt(state.sites.precision), self._xp.stack(state.chol))

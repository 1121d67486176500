"""Variational Bayes for probit models with auxiliary variables (GR06 section 4.3, appendices A and C).

The factorised posterior Q(Y) Q(M) has Q(m_c) = N(m_c, Sigma_c) with Sigma_c = K_c (I + K_c)^-1, whatever the labels.
The published iteration m <- Sigma (m + p(m)), p = d log P(t | m) / dm (eq 4.6), stops where K^-1 m = p(m): at the
maximum of the concave function

    J(m) = sum_n log P(t_n | m_n) - 1/2 sum_c m_c' K_c^-1 m_c.

So we maximise J by Newton's method instead (``latent_objective``), still with one factorisation for all classes.

The bound of appendix C after the Q(Y) update, re-derived (the printed one has a superfluous (N - NK)/2 log 2 pi), is

    B = J(m) - 1/2 sum_c log |I + K_c|  <=  log p(t).

As a guide for kernel parameters B is poor. ``objective="laplace"`` takes the Laplace evidence at the same mode,
J - 1/2 log |I + W K|, with the curvature in product form (exact for up to three classes; see ``product_form``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...numerics.arrays import Array, like, namespace, to_host
from ...training.monitor import Monitor
from ..base import Engine, Fit, GaussianTerms, Info, Latent
from ..prior import DensePrior
from ..settings import check_settings
from .latent_objective import LatentObjective, Maximum, Point
from .left_out_groups import independent_without_groups, mode_without_groups
from .one_matrix import OneMatrixVB
from .product_form_posterior import ProductFormPosterior


@dataclass(frozen=True)
class VB(Engine):
    """Variational Bayes for ``Probit`` and ``MultinomialProbit``.

    Parameters
    ----------
    objective : "laplace" or "bound"
        What learning of kernel parameters maximises.
    solver : "newton" or "plain"
        Newton's method, or the iteration of GR06 eq 4.6 as published.
    tol : float
        Stop when no latent mean moves by more than this.
    max_iter : int
        Limit on Newton steps (a few dozen are plenty) or plain iterations.

    Beyond 10,000 rows that share a kernel, a model with given or learned parameters is fitted by ``OneMatrixVB``, which
    has a tolerance of its own.
    """

    objective: str = "laplace"
    solver: str = "newton"
    tol: float = 1e-6
    max_iter: int = 200

    prior_type: ClassVar = DensePrior
    needs: ClassVar = ("augment", "derivatives", "curvature")
    takes_weights: ClassVar = True
    shares_factor: ClassVar = True

    def __post_init__(self) -> None:
        check_settings(self, max_iter=1)
        for name, known in (("objective", ("laplace", "bound")), ("solver", ("newton", "plain"))):
            if getattr(self, name) not in known:
                raise ValueError(f"VB: {name} must be one of {known}, got {getattr(self, name)!r}")

    def infer(
        self, prior: DensePrior, y: np.ndarray, likelihood: Likelihood, init: Any, gradient: bool, monitor: Monitor
    ) -> Fit:
        latent = LatentObjective(prior.K, y, likelihood, prior.n_latent)
        maximise = latent.maximise if self.solver == "newton" else partial(_maximise_plain, latent)
        mode, objective_trace, converged, stopped = maximise(init, self.tol, self.max_iter, monitor)
        bounds = tuple(J - 0.5 * latent.log_det for J in objective_trace)
        terms = GaussianTerms(mode.alpha, latent.noise**-0.5, latent.by_noise.chol)
        info = Info(len(objective_trace) - 1, converged, bounds, stopped=stopped)
        value, loo = bounds[-1], None
        dK: Any = None
        dlikelihood: Any = None
        if self.objective == "laplace" or not gradient:
            laplace = latent.laplace(mode, gradient)
            dK, dlikelihood = laplace.dK, laplace.dlikelihood
            if self.objective == "laplace":
                value = laplace.value
            # Few ask for it, and it costs as much as the posterior itself.
            loo = None if gradient else cache(partial(_leave_one_out, latent, mode, laplace.posterior))
        else:
            dK, dlikelihood = _bound_gradient(latent, mode)
        slope = prior.gradient(dK, dlikelihood) if gradient else None
        return Fit(prior.posterior(terms), bounds[-1], value, info, loo, slope, mode.m)

    def without_groups(
        self,
        prior: DensePrior,
        y: np.ndarray,
        likelihood: Likelihood,
        terms: GaussianTerms,
        groups: Sequence[np.ndarray],
    ) -> Latent:
        """Means as Laplace's method has them, variances of VB's own kind: those of Gaussian auxiliaries."""
        mean, _ = mode_without_groups(prior.K, y, likelihood, terms, groups)
        precision = like(1.0 / likelihood.auxiliary_noise(len(y)), prior.K)[:, None]
        shared = prior.K.ndim == 2
        of_each = namespace(prior.K).broadcast_to(precision, (len(y), 1 if shared else prior.n_latent))
        zeros = np.zeros(of_each.shape)
        _, variance = independent_without_groups(prior.K, of_each, zeros, zeros, groups)
        return Latent(mean, np.broadcast_to(variance, mean.shape).copy())

    def in_one_matrix(self) -> Engine:
        return OneMatrixVB()

    def check(self, likelihood: Likelihood, n_latent: int) -> None:
        super().check(likelihood, n_latent)
        likelihood.refuse_to_learn("VB", able=("label_noise",))


def _maximise_plain(
    latent: LatentObjective, init: Array | None, tol: float, max_iter: int, monitor: Monitor
) -> Maximum:
    """GR06 eq 4.6: the auxiliaries y~ = m + p, then the new mean Sigma y~."""
    point = latent.start(init)
    objective_trace = [point.J]
    with monitor.task("iterations") as steps:
        for _ in steps.each(range(max_iter)):
            new = latent.at(latent.by_noise.alpha(point.m / latent.noise[:, None] + point.p))
            max_step = latent.largest(new.m - point.m)
            point = new
            objective_trace.append(point.J)
            if max_step < tol:
                return Maximum(point, objective_trace, True)
        return Maximum(point, objective_trace, False, steps.should_stop)


def _bound_gradient(latent: LatentObjective, mode: Point) -> tuple[Array, np.ndarray]:
    """dB/dK = 1/2 sum_c alpha_c alpha_c' - C/2 (noise I + K)^-1, and dB/d label_noise where that is learned; m drops
    out because it maximises J."""
    by_noise = np.zeros(0)
    if latent.likelihood.theta.size:
        by_noise = np.array([latent.likelihood.noise_slopes(latent.y, to_host(mode.m))[0].sum()])
    root = latent.noise**-0.5
    precision = root[:, None] * linalg.inverse(latent.by_noise.chol) * root
    n_shared = latent.shape[1] if latent.K.ndim == 2 else 1
    return 0.5 * (latent.outer(mode.alpha, mode.alpha) - n_shared * precision), by_noise


def _leave_one_out(latent: LatentObjective, mode: Point, posterior: ProductFormPosterior) -> Latent:
    """Means by the response of the mode, variances of VB's own kind."""
    mean, _ = latent.leave_one_out(mode, posterior)
    return Latent.on_host(mean, left_out_variance(latent))


def left_out_variance(latent: LatentObjective) -> Array:
    """Variances (n, C) of every row without its label, as VB has them; the means are found by linear response."""
    xp = namespace(latent.K)
    share = like(latent.likelihood.share_left_out(len(latent.y)), latent.K)
    variance = xp.linalg.diagonal(latent.by_noise.Sigma)  # (n,), or (C, n)
    variance = xp.broadcast_to(variance[:, None] if variance.ndim == 1 else variance.T, latent.shape)
    variance = xp.clip(variance, 1e-14 * float(xp.max(variance)), None)
    return 1.0 / (1.0 / variance - (share / latent.noise)[:, None])

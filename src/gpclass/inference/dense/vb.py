"""Variational Bayes for probit models with auxiliary variables (GR06 section 4.3, appendices A and C).

The factorised posterior Q(Y) Q(M) has Q(m_c) = N(m_c, Sigma_c) with Sigma_c = K_c (I + K_c)^-1, whatever the labels.
The published iteration m <- Sigma (m + p(m)), p = d log P(t | m) / dm (eq 4.6), stops where K^-1 m = p(m): at the
maximum of the concave function

    J(m) = sum_n log P(t_n | m_n) - 1/2 sum_c m_c' K_c^-1 m_c.

So we maximise J by Newton's method instead (``mode.py``), still with one factorisation for all classes.

The bound of appendix C after the Q(Y) update, re-derived (the printed one has a superfluous (N - NK)/2 log 2 pi), is

    B = J(m) - 1/2 sum_c log |I + K_c|  <=  log p(t).

As a guide for kernel parameters B is poor. ``objective="laplace"`` takes the Laplace evidence at the same mode,
J - 1/2 log |I + W K|, with the curvature in product form (exact for up to three classes; see ``product_form``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ...likelihoods import Likelihood
from ...numerics import linalg
from ...training.monitor import track
from ..base import Fit, GaussianTerms, Info, require, threads_suited_to_size
from ..settings import check_settings
from .latent_objective import LatentObjective, Maximum, Point


@dataclass(frozen=True)
class VB:
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
    """

    objective: str = "laplace"
    solver: str = "newton"
    tol: float = 1e-6
    max_iter: int = 200

    needs: ClassVar = ("augment", "derivatives", "curvature")
    takes_weights: ClassVar = True

    def __post_init__(self) -> None:
        check_settings(self, max_iter=1)
        for name, known in (("objective", ("laplace", "bound")), ("solver", ("newton", "plain"))):
            if getattr(self, name) not in known:
                raise ValueError(f"VB: {name} must be one of {known}, got {getattr(self, name)!r}")

    @threads_suited_to_size
    def __call__(
        self,
        K: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        n_latent: int,
        init: np.ndarray | None = None,
        gradient: bool = False,
    ) -> Fit:
        require(self, likelihood)
        likelihood.refuse_to_learn("VB", able=("label_noise",))
        latent = LatentObjective(K, y, likelihood, n_latent)
        maximise = latent.maximise if self.solver == "newton" else partial(_maximise_plain, latent)
        top, objective_trace, converged = maximise(init, self.tol, self.max_iter)
        bounds = tuple(J - 0.5 * latent.log_det for J in objective_trace)
        weights = GaussianTerms(top.alpha, latent.noise**-0.5, latent.chol)
        info = Info(len(objective_trace) - 1, converged, bounds)
        value, dK, dlikelihood, loo = bounds[-1], None, None, None
        if self.objective == "laplace" or not gradient:
            laplace = latent.laplace(top, gradient)
            dK, dlikelihood = laplace.dK, laplace.dlikelihood
            if self.objective == "laplace":
                value = laplace.value
            if not gradient:
                mean, _ = latent.leave_one_out(top, laplace.posterior)
                loo = mean, left_out_variance(latent)
        elif gradient:
            dK, dlikelihood = _bound_gradient(latent, top)
        return Fit(weights, bounds[-1], value, info, top.alpha, loo, dK, dlikelihood)


def _maximise_plain(latent: LatentObjective, init: np.ndarray | None, tol: float, max_iter: int) -> Maximum:
    """GR06 eq 4.6: the auxiliaries y~ = m + p, then the new mean Sigma y~."""
    point = latent.start(init)
    objective_trace = [point.J]
    for _ in track(range(max_iter), "iterations"):
        _, alpha = latent.split(point.m + latent.noise[:, None] * point.p)
        new = latent.at(alpha)
        max_step = np.max(np.abs(new.m - point.m))
        point = new
        objective_trace.append(point.J)
        if max_step < tol:
            return Maximum(point, objective_trace, True)
    return Maximum(point, objective_trace, False)


def _bound_gradient(latent: LatentObjective, top: Point) -> tuple[np.ndarray, np.ndarray]:
    """dB/dK = 1/2 sum_c alpha_c alpha_c' - C/2 (noise I + K)^-1, and dB/d label_noise where that is learned; m drops
    out because it maximises J."""
    alpha = top.alpha
    by_noise = np.zeros(0)
    if latent.likelihood.theta.size:
        by_noise = np.array([latent.likelihood.noise_slopes(latent.y, top.m)[0].sum()])  # type: ignore[attr-defined]
    root = latent.noise**-0.5
    precision = root[:, None] * linalg.inverse(latent.chol) * root
    if latent.K.ndim == 2:
        return 0.5 * (alpha @ alpha.T - alpha.shape[1] * precision), by_noise
    return 0.5 * (np.einsum("ic,jc->cij", alpha, alpha) - precision), by_noise


def left_out_variance(latent: LatentObjective) -> np.ndarray:
    """Variances (n, C) of every row without its label, as VB has them; the means go by linear response."""
    share = latent.likelihood.share_left_out(len(latent.y))
    variance = np.diagonal(latent.Sigma, axis1=-2, axis2=-1)
    variance = np.broadcast_to(np.atleast_2d(variance).T, latent.shape)
    variance = np.maximum(variance, 1e-14 * variance.max())
    return 1.0 / (1.0 / variance - (share / latent.noise)[:, None])

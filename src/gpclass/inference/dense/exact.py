"""Gaussian-process regression: with Gaussian noise everything is closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...likelihoods import Gaussian, Likelihood
from ...numerics import linalg
from ..base import Fit, GaussianTerms, Info, threads_suited_to_size


@dataclass(frozen=True)
class Exact:
    """Exact posterior and evidence for a Gaussian likelihood."""

    needs: ClassVar = ()

    @threads_suited_to_size
    def __call__(
        self,
        K: np.ndarray,
        y: np.ndarray,
        likelihood: Likelihood,
        n_latent: int = 1,
        init: Any = None,
        gradient: bool = False,
    ) -> Fit:
        if not isinstance(likelihood, Gaussian):
            raise TypeError(f"Exact inference needs the Gaussian likelihood, got {type(likelihood).__name__}")
        stacked = K.ndim == 3
        if stacked:
            K = K[0]
        noise = likelihood.variance
        n = len(y)
        # B = I + K / noise has eigenvalues of at least 1, so it always factorises.
        B = K / noise
        B[np.diag_indices(n)] += 1.0
        L = linalg.cholesky(B)
        residual = np.asarray(y, dtype=float)[:, None] - likelihood.bias
        alpha = linalg.solve(L, residual) / noise
        log_evidence = -0.5 * float(np.vdot(residual, alpha) + linalg.log_det(L) + n * np.log(2.0 * np.pi * noise))
        weights = GaussianTerms(alpha, np.full(n, noise**-0.5), L[None] if stacked else L)
        info = Info(1, True, (log_evidence,))
        precision = linalg.inverse(L) / noise
        # Without row n: mean y_n - alpha_n / P_nn and variance 1 / P_nn - noise, P the inverse of K + noise.
        own = np.diag(precision)[:, None]
        loo = (residual - alpha / own, np.maximum(1.0 / own - noise, 1e-14 * noise))
        if not gradient:
            return Fit(weights, log_evidence, log_evidence, info, loo=loo)
        dK = 0.5 * (alpha @ alpha.T - precision)
        dlikelihood = likelihood._collect({"variance": noise * np.trace(dK), "bias": alpha.sum()})
        return Fit(
            weights, log_evidence, log_evidence, info, loo=loo, dK=dK[None] if stacked else dK, dlikelihood=dlikelihood
        )

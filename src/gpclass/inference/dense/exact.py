"""Gaussian-process regression: with Gaussian noise everything is closed form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...likelihoods import Gaussian, Likelihood
from ...numerics import linalg
from ...numerics.arrays import like, namespace, to_host
from ...training.monitor import Monitor
from ..base import Engine, Fit, GaussianTerms, Info, Latent, class_matrix
from ..prior import DensePrior
from .one_matrix import OneMatrixExact


@dataclass(frozen=True)
class Exact(Engine):
    """Exact posterior and evidence for a Gaussian likelihood."""

    prior_type: ClassVar = DensePrior
    shares_factor: ClassVar = True

    def infer(
        self, prior: DensePrior, y: np.ndarray, likelihood: Likelihood, init: Any, gradient: bool, monitor: Monitor
    ) -> Fit:
        assert isinstance(likelihood, Gaussian)
        stacked = prior.K.ndim == 3
        K, n, noise = class_matrix(prior.K, 0), len(y), likelihood.variance
        xp = namespace(K)
        # B = I + K / noise has eigenvalues of at least 1, so it always factorises.
        sqrt_precision = like(np.full(n, noise**-0.5), K)
        L = linalg.whitened_factor(K, sqrt_precision)
        residual = like(np.asarray(y, dtype=float)[:, None] - likelihood.bias, K)
        alpha = linalg.solve(L, residual) / noise
        quadratic, log_det = linalg.dot(residual, alpha), float(linalg.log_det(L))
        log_evidence = -0.5 * float(quadratic + log_det + n * np.log(2.0 * np.pi * noise))
        terms = GaussianTerms(alpha, sqrt_precision, L[None, ...] if stacked else L)
        info = Info(1, True, (log_evidence,))
        precision = linalg.inverse(L) / noise
        # Without row n: mean y_n - alpha_n / P_nn and variance 1 / P_nn - noise, P the inverse of K + noise.
        own = xp.linalg.diagonal(precision)[:, None]
        loo = Latent.on_host(residual - alpha / own, xp.clip(1.0 / own - noise, 1e-14 * noise, None))
        posterior = prior.posterior(terms)
        if not gradient:
            return Fit(posterior, log_evidence, log_evidence, info, loo)
        dK = 0.5 * (alpha @ alpha.T - precision)
        by_noise, by_bias = noise * float(xp.linalg.trace(dK)), float(xp.sum(alpha))
        dlikelihood = likelihood._collect({"variance": by_noise, "bias": by_bias})
        slope = prior.gradient(dK[None, ...] if stacked else dK, dlikelihood)
        return Fit(posterior, log_evidence, log_evidence, info, loo, slope)

    def without_groups(
        self,
        prior: DensePrior,
        y: np.ndarray,
        likelihood: Likelihood,
        terms: GaussianTerms,
        groups: Sequence[np.ndarray],
    ) -> Latent:
        """With P the inverse of K + noise, the rows of a group have the mean y - P_GG^-1 alpha_G and the covariance
        P_GG^-1 - noise without their targets: the formula of ``infer`` in blocks."""
        assert isinstance(likelihood, Gaussian)
        noise, alpha = likelihood.variance, to_host(terms.alpha)[:, 0]
        P = to_host(linalg.inverse(class_matrix(terms.chol, 0) if terms.chol.ndim == 3 else terms.chol)) / noise
        mean, variance = np.full((2, len(y), 1), np.nan)
        for rows in groups:
            own = np.linalg.inv(P[np.ix_(rows, rows)])
            mean[rows, 0] = y[rows] - likelihood.bias - own @ alpha[rows]
            variance[rows, 0] = np.clip(np.diagonal(own) - noise, 1e-14 * noise, None)
        return Latent(mean, variance)

    def in_one_matrix(self) -> Engine:
        return OneMatrixExact()

    def check(self, likelihood: Likelihood, n_latent: int) -> None:
        if not isinstance(likelihood, Gaussian):
            raise TypeError(
                f"Exact inference needs the Gaussian likelihood of GPRegressor, got {type(likelihood).__name__}; for "
                "labels use inference='vb', 'ep' or 'laplace'"
            )

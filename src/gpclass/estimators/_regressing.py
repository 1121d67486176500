"""What regressors share: targets in their own units, and predictions of new ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from ..inference.posteriors import members_of
from ..likelihoods import Gaussian, Likelihood
from ..training.learning import Fitted


class GPRegressorMixin(RegressorMixin):
    """For regressors that are also ``GPEstimator``: targets are centred and scaled internally."""

    likelihood: Any
    likelihood_: Any
    posterior_: Any
    log_evidence_: float
    _checked: Any

    def _settle_target(self, y: Any) -> np.ndarray:
        """y with mean 0 and variance 1."""
        y = np.asarray(y, dtype=float)
        self.target_mean_ = float(y.mean())
        # Squares of the smallest numbers are zero: the scale is found in units of a power of two, which rounds nothing.
        _, exponent = np.frexp(np.abs(y).max())
        spread = float(np.ldexp(np.ldexp(y, -exponent).std(), exponent))
        self.target_scale_ = spread if spread > 1e-12 * abs(self.target_mean_) else 1.0
        return (y - self.target_mean_) / self.target_scale_

    def _noise(self) -> Gaussian:
        if self.likelihood is not None and not isinstance(self.likelihood, Gaussian):
            kind = type(self.likelihood).__name__ if isinstance(self.likelihood, Likelihood) else repr(self.likelihood)
            raise TypeError(f"numbers need a Gaussian likelihood, got {kind}")
        return Gaussian(0.1) if self.likelihood is None else self.likelihood

    def _in_units_of_target(self, n_rows: int, n_heard: int | None = None) -> None:
        """After fitting to so many rows, of which the evidence is about ``n_heard``: evidence and noise as the user's
        numbers have them."""
        log_scale = float(np.log(self.target_scale_))
        self._log_units = -n_rows * log_scale
        self.log_evidence_ -= (n_rows if n_heard is None else n_heard) * log_scale
        self.noise_std_ = self.target_scale_ * float(np.sqrt(self.likelihood_.variance))

    def _keep_leave_one_out(self, fits: list[Fitted]) -> None:
        """Predictions of each training target from the others, where one set of parameters made them."""
        self.loo_mean_: np.ndarray | None = None
        self.loo_std_: np.ndarray | None = None
        if len(fits) == 1 and fits[0].fit.loo is not None:
            mean, variance = fits[0].fit.loo
            self.loo_mean_ = self._units(mean.ravel() + self.likelihood_.bias)
            self.loo_std_ = self.target_scale_ * np.sqrt(variance.ravel() + self.likelihood_.variance)

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Mean (m,) of new targets; with ``return_std`` or ``return_cov`` also their spread, noise included."""
        if return_std and return_cov:
            raise ValueError("expected at most one of return_std and return_cov, got both")
        X = self._checked(X)
        if return_cov:
            mean, covariance = self._moments(X, full_cov=True)
            return self._units(mean), covariance * self.target_scale_**2
        mean, variance = self._moments(X)
        return (self._units(mean), np.sqrt(variance) * self.target_scale_) if return_std else self._units(mean)

    def _moments(self, X: np.ndarray, full_cov: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (or covariance) of new targets, averaged over models where there are several."""
        weights, means, spreads = [], [], []
        for weight, posterior, likelihood in members_of(self.posterior_, self.likelihood_):
            assert isinstance(likelihood, Gaussian)
            mean, cov = posterior.joint(X) if full_cov else posterior.latent(X)
            weights.append(weight)
            means.append(mean[:, 0] + likelihood.bias)
            noise = likelihood.variance
            spreads.append(cov[0] + noise * np.eye(len(X)) if full_cov else cov[:, 0] + noise)
        mean = np.average(means, axis=0, weights=weights)
        off = np.array(means) - mean
        between = np.einsum("s,si,sj->ij" if full_cov else "s,si,si->i", weights, off, off)
        return mean, np.average(spreads, axis=0, weights=weights) + between

    def _units(self, mean: np.ndarray) -> np.ndarray:
        return self.target_mean_ + self.target_scale_ * mean

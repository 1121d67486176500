"""GPRegressor: Gaussian-process regression with Gaussian noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import validate_data

from ._estimator import GPEstimator, choose
from .inference import Exact
from .likelihoods import Gaussian
from .posteriors import members_of

ENGINES = {"exact": Exact}


class GPRegressor(RegressorMixin, GPEstimator):
    """Gaussian-process regression; targets are centred and scaled internally.

    Parameters
    ----------
    kernel, hyper, n_restarts, standardize, random_state, n_jobs, verbose
        As for ``GPClassifier``; amplitudes are in units of the standard deviation of y.
    likelihood : Gaussian, default=None
        Noise model to start from, its variance in units of the variance of y; None starts at 0.1.
    inference : engine or str, default="exact"

    Attributes
    ----------
    kernel_, likelihood_, relevance_, hyper_, info_, n_iter_ : as for ``GPClassifier``
    log_evidence_ : float, log p(y) in the units of y
    noise_std_ : float, learned noise in the units of y
    """

    likelihood_: Gaussian

    def __init__(
        self,
        kernel: Any = None,
        *,
        likelihood: Any = None,
        inference: Any = "exact",
        hyper: Any = "evidence",
        n_restarts: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.inference = inference
        self.hyper = hyper
        self.n_restarts = n_restarts
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any) -> GPRegressor:
        """Fit to rows X (n, n_features) with numbers y (n,)."""
        with self._fitting():
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
            y = np.asarray(y, dtype=float)
            self.target_mean_ = float(y.mean())
            spread = float(y.std())
            self.target_scale_ = spread if spread > 1e-12 * abs(self.target_mean_) else 1.0
            likelihood = Gaussian(0.1) if self.likelihood is None else self.likelihood
            engine = choose("inference", self.inference, ENGINES)
            self._learn(X, (y - self.target_mean_) / self.target_scale_, likelihood, engine, 1)
            self._log_units = -len(y) * float(np.log(self.target_scale_))
            self.log_evidence_ += self._log_units
            self.noise_std_ = self.target_scale_ * float(np.sqrt(self.likelihood_.variance))
        return self

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

"""GPRegressor: Gaussian-process regression with Gaussian noise."""

from __future__ import annotations

from typing import Any

from sklearn.callback import with_callbacks

from ..inference import Exact
from ._base import GPEstimator, choose
from ._regressing import GPRegressorMixin

ENGINES = {"exact": Exact}


class GPRegressor(GPRegressorMixin, GPEstimator):
    """Gaussian-process regression; targets are centred and scaled internally.

    Parameters
    ----------
    kernel, hyper, n_restarts_optimizer, standardize, random_state, n_jobs, verbose
        As for ``GPClassifier``; amplitudes are in units of the standard deviation of y.
    likelihood : Gaussian, default=None
        Noise model to start from, its variance in units of the variance of y; None starts at 0.1.
    inference : engine or str, default="exact"

    Attributes
    ----------
    kernel_, likelihood_, relevance_, hyper_, info_, n_iter_ : as for ``GPClassifier``
    log_evidence_ : float, log p(y) in the units of y
    noise_std_ : float, learned noise in the units of y
    loo_mean_, loo_std_ : (n,) predictions of each training target from the others, and their spread, noise included;
        None where predictions are averaged over sampled parameters
    """

    _for_many_rows = ("IVMRegressor",)

    def __init__(
        self,
        kernel: Any = None,
        *,
        likelihood: Any = None,
        inference: Any = "exact",
        hyper: Any = "evidence",
        n_restarts_optimizer: int = 0,
        standardize: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.inference = inference
        self.hyper = hyper
        self.n_restarts_optimizer = n_restarts_optimizer
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any) -> GPRegressor:
        """Fit to rows X (n, n_features) with numbers y (n,)."""
        with self._fitting():
            X, y = self._validated(X, y, y_numeric=True, ensure_min_samples=2)
            engine = choose("inference", self.inference, ENGINES)
            fits = self._learn(X, self._settle_target(y), self._noise(), engine, 1)
            self._in_units_of_target(len(y))
            self._keep_leave_one_out(fits)
        return self

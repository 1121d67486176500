"""GPRegressor: Gaussian-process regression with Gaussian noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from ..inference import DensePrior, Exact
from ..numerics.devices import host_labels, host_rows, place_of
from ..training.dense import train
from ._base import GPEstimator, choose_engine, choose_search, generator
from ._inputs import Inputs
from ._regressing import GPRegressorMixin
from ._targets import Targets, check_targets

ENGINES = {"exact": Exact}


class GPRegressor(GPRegressorMixin, GPEstimator):
    """Gaussian-process regression with Gaussian noise; targets are centred and scaled internally.

    Parameters
    ----------
    kernel, hyper, n_restarts_optimizer, standardize, random_state, n_jobs, device, verbose
        As for ``GPClassifier``; amplitudes are in units of the standard deviation of y.
    likelihood : Gaussian, default=None
        Noise model with the starting value of its variance, in units of the variance of y; None starts at 0.1.
    inference : engine or str, default="exact"

    Attributes
    ----------
    kernel_, likelihood_, relevance_, hyper_, info_, n_iter_ : as for ``GPClassifier``
    log_evidence_ : float, log p(y) in the units of y
    noise_std_ : float, learned noise in the units of y
    loo_mean_, loo_std_ : (n,) predictions of each training target from the others, and their standard deviations, noise
        included; None if predictions are averaged over sampled parameters
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
        device: str | None = None,
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
        self.device = device
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any) -> GPRegressor:
        """Fit to rows X (n, n_features) with targets y (n,)."""
        with self._monitor() as monitor:
            engine = choose_engine(self.inference, ENGINES, "GPRegressor", DensePrior)
            settings = self._settings(engine, choose_search(self.hyper))
            rng = generator(self.random_state)
            place, y, X = place_of(self.device, X), host_labels(y, X), host_rows(X)
            inputs, rows, y = Inputs.fit(self, X, check_targets(y), y_numeric=True, ensure_min_samples=2)
            inputs = replace(inputs, place=place)
            targets = Targets.of(np.asarray(y, dtype=float))
            inputs = inputs.standardized(rows, self.kernel, self.standardize)
            problem = self._problem(inputs, rows, targets.transform(y), self._noise(), 1)
            trained = train(problem, settings, rng, monitor)
        attributes = self._target_attributes(targets, trained, len(y), len(y))
        attributes |= {"loo_mean_": None, "loo_std_": None}
        if trained.loo is not None:
            mean, variance = (moment.ravel() for moment in trained.loo)
            attributes["loo_mean_"] = targets.inverse(mean + trained.likelihood.params["bias"])
            attributes["loo_std_"] = targets.scale * np.sqrt(variance + trained.likelihood.params["variance"])
        self._store(inputs, trained, **attributes)
        return self

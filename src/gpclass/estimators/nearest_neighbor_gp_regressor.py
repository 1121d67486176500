"""NearestNeighborGPRegressor: regression on thousands to millions of rows, each predicted from its nearest ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from ..inference.neighbors.link import GaussianLink
from ..numerics.devices import host_labels, host_rows, place_of
from ._base import GPEstimator
from ._inputs import Inputs
from ._neighbors import NeighborMixin
from ._regressing import GPRegressorMixin
from ._targets import Targets, check_targets


class NearestNeighborGPRegressor(NeighborMixin, GPRegressorMixin, GPEstimator):
    """Gaussian-process regression on thousands to millions of rows: each is predicted from its nearest training rows.

    Parameters
    ----------
    kernel, n_neighbors, index, hyper, max_iter, standardize, random_state, device, verbose
        As for ``NearestNeighborGPClassifier``; the kernel has unit variance, and its amplitude is learned separately.

    Attributes
    ----------
    kernel_, components_, relevance_, hyper_, n_features_in_ : as for ``NearestNeighborGPClassifier``
    noise_std_ : float, learned noise in the units of y
    loo_mean_, loo_std_ : (n,) predictions of each training target from the others, and their standard deviations, noise
        included; computed on first access

    Examples
    --------
    >>> import numpy as np
    >>> from gpclass import NearestNeighborGPRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, (200, 2))
    >>> model = NearestNeighborGPRegressor(n_neighbors=40, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.0, 0.0]]).round(1)
    array([0.8])
    """

    _loo: tuple[np.ndarray, np.ndarray] | None

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_neighbors: int = 100,
        index: str = "auto",
        hyper: Any = "loo",
        max_iter: int = 1000,
        standardize: Any = "auto",
        random_state: Any = None,
        device: str | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.index = index
        self.hyper = hyper
        self.max_iter = max_iter
        self.standardize = standardize
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NearestNeighborGPRegressor:
        """Fit to rows X (n, n_features) with targets y (n,), which count ``sample_weight`` (n,) times."""
        with self._monitor() as monitor:
            settings = self._check_settings()
            place, y = place_of(self.device, X), check_targets(host_labels(y, X))
            sample_weight, X = host_labels(sample_weight, X, "sample_weight"), host_rows(X)
            inputs, rows, y = Inputs.fit(self, X, y, sample_weight, order="C", y_numeric=True, ensure_min_samples=2)
            weights = self._weights(sample_weight, rows)
            rows, y, weights = self._without_zeros(rows, np.asarray(y, dtype=float), weights)
            targets = Targets.of(y, weights)
            z = targets.transform(y)
            link = GaussianLink()
            inputs, trained, embedding = self._train(
                inputs, rows, z, z[:, None], link, settings, monitor, weights, place
            )
        noise = trained.likelihood.scale * np.exp(trained.hyper.theta[trained.kernel.theta.size])
        more = {
            "_targets": targets,
            "_embedding": embedding,
            "components_": trained.components,
            "_loo": None,
            "target_mean_": targets.mean,
            "target_scale_": targets.scale,
            "noise_std_": targets.scale * float(np.sqrt(noise)),
            "n_samples_seen_": len(y),
        }
        self._store(inputs, trained, **more)
        return self

    @with_callbacks
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> NearestNeighborGPRegressor:
        """Let a batch of rows join the training rows, or begin a model with them; metric and noise stay as they are."""
        if not hasattr(self, "_targets"):
            return self.fit(X, y, sample_weight)
        with self._monitor():
            y, sample_weight = check_targets(host_labels(y, X)), host_labels(sample_weight, X, "sample_weight")
            rows, y = self._inputs.check(self, host_rows(X), y, order="C", y_numeric=True)
            weights = self._weights(sample_weight, rows)
            rows, y, weights = self._without_zeros(rows, np.asarray(y, dtype=float), weights)
            points = self._points(self._inputs.scaled(rows))
            longer = self._local.extended(points, self._targets.transform(y)[:, None], weights)
        self.posterior_ = longer
        self.n_samples_seen_ += len(rows)
        self._loo = None
        return self

    def _moments(self, rows: Any, full_cov: bool) -> tuple[np.ndarray, np.ndarray]:
        if full_cov:
            self.posterior_.joint(rows)  # refuses
        mean, variance = self.posterior_.moments(rows)
        return mean[:, 0], self.likelihood_.scale * (variance + self.posterior_.noise)

    def _leave_one_out(self) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        if self._loo is None:
            mean, cov = self.posterior_.leave_one_out(np.arange(len(self.posterior_.X)))
            spread = np.sqrt(self.likelihood_.scale * (cov[:, 0] + self.posterior_.noise))
            self._loo = self._targets.inverse(mean[:, 0]), self._targets.scale * spread
        return self._loo

    @property
    def loo_mean_(self) -> np.ndarray:
        """Predictions (n,) of each training target from the others."""
        return self._leave_one_out()[0]

    @property
    def loo_std_(self) -> np.ndarray:
        """Their standard deviations (n,), noise included."""
        return self._leave_one_out()[1]

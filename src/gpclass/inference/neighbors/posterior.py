"""Predictions from nearest training rows, alone or stacked with a global model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...kernels import Kernel
from ...numerics.devices import HOST, Place
from ..base import Latent, LatentTerms
from ..calibration import Calibration
from ..inducing.softmax_map import SoftmaxMode
from .embedding import Embedding
from .local import LocalMoments, LocalRegression
from .on_device import SentRows
from .search import NeighborIndex

#: Rows that are predicted at a time.
BLOCK_ROWS = 4096


@dataclass(frozen=True)
class NeighborPosterior:
    """Regression of new rows on the nearest of the training rows X (n, d), with their targets (n, C).

    The index is built when it is first needed, and neither pickled nor saved.
    """

    kernel: Kernel
    noise: float
    X: np.ndarray
    targets: np.ndarray
    n_neighbors: int
    index: str = "auto"
    weights: np.ndarray | None = None
    embedding: Embedding | None = None
    place: Place = HOST

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("neighbor_index", "regression")}

    @property
    def n_latent(self) -> int:
        return self.targets.shape[1]

    @cached_property
    def regression(self) -> LocalRegression:
        sent = SentRows.of(self.place, self.X, self.targets, self.weights)
        return LocalRegression(self.kernel, self.noise, self.weights, self.embedding, sent=sent)

    @cached_property
    def neighbor_index(self) -> NeighborIndex:
        return NeighborIndex(self.regression.points(self.X), self.index, place=self.place)

    def compact(self) -> NeighborPosterior:
        """A copy for a file, without what is computed again when needed, and for the host."""
        return replace(self, place=HOST)

    def restored(self) -> NeighborPosterior:
        return self

    def extended(self, X: np.ndarray, targets: np.ndarray, weights: np.ndarray | None) -> NeighborPosterior:
        """The same with more training rows."""
        if (self.weights is None) != (weights is None):
            raise ValueError("expected sample_weight in every batch or in none")
        both = None if self.weights is None or weights is None else np.concatenate([self.weights, weights])
        return replace(
            self, X=np.concatenate([self.X, X]), targets=np.concatenate([self.targets, targets]), weights=both
        )

    def moments(self, X: np.ndarray, own: np.ndarray | None = None) -> LocalMoments:
        """Means (m, C) and variances (m,) of rows; ``own`` (m,) are their numbers among the training rows, where they
        are such rows and each is to be predicted from the others."""
        m = min(self.n_neighbors, len(self.X) - (own is not None))
        mean, variance = np.empty((len(X), self.n_latent)), np.empty(len(X))
        for rows in _blocks(len(X)):
            neighbors = self.neighbor_index.search(
                self.regression.points(X[rows]), m, None if own is None else own[rows]
            )
            mean[rows], variance[rows] = self.regression.moments(self.X, self.targets, X[rows], neighbors)
        return LocalMoments(mean, variance)

    def latent(self, X: np.ndarray) -> Latent:
        """Marginal means and variances (m, C) at new rows."""
        mean, variance = self.moments(X)
        return Latent(mean, np.repeat(variance[:, None], self.n_latent, axis=1))

    def latent_terms(self, x: np.ndarray) -> LatentTerms:
        """w_i t_i of every neighbour with its targets t_i, for one row x (1, d)."""
        m = min(self.n_neighbors, len(self.X))
        neighbors = self.neighbor_index.search(self.regression.points(x), m)[0]
        w = self.regression.mean_weights(self.X, x[0], neighbors)
        return LatentTerms(neighbors, w[:, None] * self.targets[neighbors])

    def leave_one_out(self, rows: np.ndarray) -> Latent:
        """The same of training rows, each without its own target."""
        mean, variance = self.moments(self.X[rows], rows)
        return Latent(mean, np.repeat(variance[:, None], self.n_latent, axis=1))

    def predict_log(self, likelihood: Any, X: np.ndarray, calibration: Calibration) -> np.ndarray:
        """log probabilities (m, K) of the labels of new rows."""
        return calibration.log_proba(likelihood, *self.latent(X))

    def nearest_correlation(self, X: np.ndarray) -> np.ndarray:
        """Correlation (m,) of each row with the nearest training row."""
        found = np.empty(len(X))
        for rows in _blocks(len(X)):
            nearest = self.neighbor_index.search(self.regression.points(X[rows]), 1)[:, 0]
            prior = np.sqrt(self.kernel.diag(X[rows]) * self.kernel.diag(self.X[nearest]))
            pairs = zip(X[rows, None], self.X[nearest, None], strict=True)
            k = np.array([float(self.kernel(row, other)[0, 0]) for row, other in pairs])
            found[rows] = k / np.where(prior > 0.0, prior, 1.0)
        return np.clip(found, 0.0, 1.0)

    def joint(self, X: np.ndarray) -> Latent:
        raise ValueError("nearest-neighbour models have no covariances between new rows; expected full_cov=False")

    def sample(self, X: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        raise ValueError("nearest-neighbour models have no covariances between new rows, so no draws of functions")


@dataclass(frozen=True)
class StackedPosterior:
    """A nearest-neighbour model and a global one: probabilities are their weighted mean.

    Latent values are those of the nearest-neighbour model; ``weight`` is the share of the global one.
    """

    local: NeighborPosterior
    global_model: SoftmaxMode
    weight: float

    @property
    def X(self) -> np.ndarray:
        return self.local.X

    @property
    def n_latent(self) -> int:
        return self.local.n_latent

    def compact(self) -> StackedPosterior:
        return replace(self, local=self.local.compact())

    def restored(self) -> StackedPosterior:
        return self

    def latent(self, X: np.ndarray) -> Latent:
        return self.local.latent(X)

    def latent_terms(self, x: np.ndarray) -> LatentTerms:
        return self.local.latent_terms(x)

    def joint(self, X: np.ndarray) -> Latent:
        return self.local.joint(X)

    def sample(self, X: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        return self.local.sample(X, n_samples, rng)

    def nearest_correlation(self, X: np.ndarray) -> np.ndarray:
        return self.local.nearest_correlation(X)

    def predict_log(self, likelihood: Any, X: np.ndarray, calibration: Calibration) -> np.ndarray:
        """log of the weighted mean of both models' probabilities, and of lapses."""
        log_local = likelihood.predict_log(*self.local.latent(X))
        return self.mixed(log_local, self.global_model.predict_log(X), calibration)

    def mixed(self, log_local: np.ndarray, log_global: np.ndarray, calibration: Calibration) -> np.ndarray:
        both = np.logaddexp(np.log1p(-self.weight) + log_local, np.log(self.weight) + log_global)
        return calibration.mixed(both, both.shape[1])


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n_rows))

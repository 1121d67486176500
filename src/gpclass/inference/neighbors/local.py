"""Gaussian-process regression of each row on its nearest rows (Datta et al. 2016, Muyskens et al. 2021).

With all other rows for neighbours this is exact regression: means and variances of new rows, or of each training row
given the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...kernels import RBF, Kernel, Matern
from ...numerics import linalg
from ...numerics.compiled import over_rows
from ...numerics.local_gp import PROFILES, nearest, pull, regress
from .embedding import Embedding
from .on_device import SentRows
from .on_device import regress as on_device


class LocalMoments(NamedTuple):
    """Means (b, C) and variances (b,) of rows given their neighbours, without noise; prior variance 1 in the fast
    case."""

    mean: np.ndarray
    variance: np.ndarray


class LocalSlopes(NamedTuple):
    """Slopes in the kernel's theta, in the logarithm of the noise, and in the mixing (d, d) where there is one."""

    theta: np.ndarray
    noise: float
    mixing: np.ndarray | None = None


#: slopes in means (b, C) and variances (b,) -> slopes in the parameters
LocalPullback = Callable[[np.ndarray, np.ndarray], LocalSlopes]


@dataclass(frozen=True)
class LocalRegression:
    """Regression of rows on their neighbours under a kernel, with noise of variance ``noise / weights``.

    RBF and Matern kernels run in compiled loops; any other kernel is called once for each row, which is slower.
    ``embedding`` says which columns are categories to the kernel, for the search of neighbours. With a ``mixing``
    U (d, d), for compiled kernels only, the metric is that of (x / length_scale) (I + U). Where the training rows are
    ``sent`` to a device, the batches of such kernels are computed there.
    """

    kernel: Kernel
    noise: float
    weights: np.ndarray | None = None
    embedding: Embedding | None = None
    mixing: np.ndarray | None = None
    sent: SentRows | None = None

    @property
    def profile(self) -> int | None:
        """The number of the kernel in the compiled loops, None where they do not know it."""
        if type(self.kernel) is RBF:
            return PROFILES[np.inf]
        return PROFILES[self.kernel.nu] if type(self.kernel) is Matern else None

    def points(self, X: np.ndarray) -> np.ndarray:
        """Rows as points among which neighbours are searched for: the nearer, the more correlated."""
        root = np.sqrt(self.kernel.relevance(X.shape[1]))
        if self.mixing is not None:
            return X * root @ (np.eye(X.shape[1]) + self.mixing)
        if self.embedding is None or self.embedding.is_identity:
            return X * root
        return self.embedding.transform(X) * root[self.embedding.columns]

    def _noise(self, n_rows: int) -> np.ndarray:
        return np.full(n_rows, self.noise) if self.weights is None else self.noise / self.weights

    def nearest(self, X: np.ndarray, Q: np.ndarray, candidates: np.ndarray, n_neighbors: int) -> np.ndarray:
        """The nearest (b, n_neighbors) of each row's candidates, which are sorted by an earlier metric.

        Mixed columns and categories are left in that order: to sort them anew costs more than it gains.
        """
        simple = self.mixing is None and (self.embedding is None or self.embedding.is_identity)
        if candidates.shape[1] <= n_neighbors or not simple:
            return candidates[:, :n_neighbors]
        chosen = np.empty((len(Q), n_neighbors), np.int64)
        root = np.sqrt(self.kernel.relevance(X.shape[1]))
        over_rows(nearest, len(Q), 0.5 * candidates.shape[1] * X.shape[1], X, Q, candidates, root, chosen)
        return chosen

    def moments(self, X: np.ndarray, targets: np.ndarray, Q: np.ndarray, neighbors: np.ndarray) -> LocalMoments:
        """Means and variances of the rows Q given the targets (n, C) of their neighbours (b, m) among the rows X."""
        if self.profile is None:
            moments = [self._one(X, targets, row, own, False)[:2] for row, own in zip(Q, neighbors, strict=True)]
            means, variances = zip(*moments, strict=True)
            return LocalMoments(np.stack(means), np.array(variances))
        return self._compiled(X, targets, Q, neighbors, False)[0]

    def vjp(
        self, X: np.ndarray, targets: np.ndarray, Q: np.ndarray, neighbors: np.ndarray
    ) -> tuple[LocalMoments, LocalPullback]:
        """The same, and a function from slopes in them to slopes in theta."""
        if self.profile is not None:
            return self._compiled(X, targets, Q, neighbors, True)
        means, variances, pulls = zip(
            *(self._one(X, targets, row, own, True) for row, own in zip(Q, neighbors, strict=True)), strict=True
        )

        def pullback(p: np.ndarray, q: np.ndarray) -> LocalSlopes:
            slopes = [pull(*both) for pull, both in zip(pulls, zip(p, q, strict=True), strict=True)]
            return LocalSlopes(
                np.sum([own for own, _ in slopes], axis=0), float(sum(by_noise for _, by_noise in slopes))
            )

        return LocalMoments(np.stack(means), np.array(variances)), pullback

    def _compiled(
        self, X: np.ndarray, targets: np.ndarray, Q: np.ndarray, neighbors: np.ndarray, keep: bool
    ) -> tuple[LocalMoments, LocalPullback]:
        if self.sent is not None:
            return self._on_device(self.sent, Q, neighbors)
        (b, m), d, noise = neighbors.shape, X.shape[1], self._noise(len(X))
        length_scale = self.kernel.params["length_scale"]
        inverse_scale = np.ascontiguousarray(1.0 / np.broadcast_to(length_scale, (d,)))
        scaled = np.empty((0, d))
        if self.mixing is not None:  # the mixed differences of a batch take the place of rows
            scaled = ((X[neighbors] - Q[:, None]) * inverse_scale).reshape(b * m, d)
            X, Q, inverse_scale = scaled + scaled @ self.mixing, np.zeros((b, d)), np.ones(d)
            noise, targets = noise[neighbors].ravel(), targets[neighbors].reshape(b * m, -1)
            neighbors = np.arange(b * m).reshape(b, m)
        mean, variance, weights = np.empty((b, targets.shape[1])), np.empty(b), np.empty((b, m))
        kept = b if keep else 0
        chol, slopes, own = np.empty((kept, m, m)), np.empty((kept, m, m)), np.empty((2 * kept, m))
        cost = 0.3 * m * m * (d + m / 3.0 + 10.0)
        common = (X, Q, neighbors, inverse_scale)
        over_rows(regress, b, cost, *common, self.profile, noise, targets, mean, variance, weights, chol, slopes, own)

        def pullback(p: np.ndarray, q: np.ndarray) -> LocalSlopes:
            by_scale, by_noise = np.empty((b, d)), np.empty(b)
            by_rows = np.empty((0 if self.mixing is None else b, m, d))
            p, q = np.ascontiguousarray(p), np.ascontiguousarray(q)
            kept_parts = (noise, targets, weights, chol, slopes, own)
            with linalg.one_thread:  # every row of the loop has a small matrix product
                over_rows(pull, b, cost, *common, *kept_parts, p, q, by_scale, by_noise, by_rows)
            by_column, by_mixing = by_scale.sum(axis=0), None
            if self.mixing is not None:
                by_mixed = by_rows.reshape(b * m, d)
                by_mixing = scaled.T @ by_mixed
                by_column = -np.einsum("nd,nd->d", by_mixed + by_mixed @ self.mixing.T, scaled)
            own_scale = by_column if np.ndim(length_scale) else by_column.sum()
            return LocalSlopes(self.kernel._collect({"length_scale": own_scale}), float(by_noise.sum()), by_mixing)

        return LocalMoments(mean, np.maximum(variance, 1e-12)), pullback

    def _on_device(self, rows: SentRows, Q: np.ndarray, neighbors: np.ndarray) -> tuple[LocalMoments, LocalPullback]:
        length_scale = self.kernel.params["length_scale"]
        inverse_scale = 1.0 / np.broadcast_to(length_scale, (Q.shape[1],))
        nu = self.kernel.nu if isinstance(self.kernel, Matern) else np.inf
        mean, variance, pull = on_device(rows, Q, neighbors, nu, inverse_scale, self.noise, self.mixing)

        def pullback(p: np.ndarray, q: np.ndarray) -> LocalSlopes:
            by_scale, by_noise, by_mixing = pull(p, q)
            own_scale = by_scale if np.ndim(length_scale) else by_scale.sum()
            return LocalSlopes(self.kernel._collect({"length_scale": own_scale}), by_noise, by_mixing)

        return LocalMoments(mean, np.maximum(variance, 1e-12)), pullback

    def mean_weights(self, X: np.ndarray, row: np.ndarray, own: np.ndarray) -> np.ndarray:
        """w = (K + D)^-1 k (m,) of a row (d,) and its neighbours, for any kernel: its mean is w' T."""
        K = self.kernel(X[own]) + np.diag(self._noise(len(X))[own])
        return linalg.solve(linalg.cholesky(K), self.kernel(row[None], X[own])[0])

    def _one(self, X: np.ndarray, targets: np.ndarray, row: np.ndarray, own: np.ndarray, slopes: bool) -> Any:
        """Mean (C,) and variance of one row, for any kernel, and its pullback: the plain version of the loops."""
        rows, T, D = X[own], targets[own], self._noise(len(X))[own]
        K, pull_K = self.kernel.vjp(rows)
        k, pull_k = self.kernel.vjp(row[None], rows)
        L = linalg.cholesky(K + np.diag(D))
        w = linalg.solve(L, k[0])
        prior = float(self.kernel.diag(row[None])[0])
        mean, variance = w @ T, max(prior - float(w @ k[0]), 1e-12 * prior)

        def pullback(p: np.ndarray, q: float) -> tuple[np.ndarray, float]:
            r = linalg.solve(L, T @ p - q * k[0])
            by_K = -0.5 * (np.outer(r, w) + np.outer(w, r))
            by_theta = pull_K(by_K) + pull_k((r - q * w)[None]) + self.kernel.diag_pullback(row[None], np.array([q]))
            return by_theta, -float(np.sum(r * w * D))

        return mean, variance, pullback if slopes else None

"""A kernel whose matrices the user computed: Gram matrices in, Gram matrices at predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .base import Kernel, Pullback


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(Kernel):
    """X is the covariance matrix itself.

    At fit X is the (n, n) Gram matrix of the training rows. At predict X is (m, n), covariances between the
    new and the training rows. A prediction also needs each new row's own prior variance k(x, x): when the
    training diagonal is constant (as for any normalised kernel) that value is taken, otherwise give X as
    (m, n + 1) with k(x, x) in the last column.

    ``n_train`` and ``variance`` are settled at fit and need not be given.
    """

    n_train: int | None = None
    variance: float | None = None

    @property
    def pairwise(self) -> bool:
        return True

    def bind(self, X: np.ndarray, n_latent: int = 1, feature_names: Sequence[str] | None = None) -> Kernel:
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed expects a square Gram matrix at fit, got shape {X.shape}")
        scale = np.max(np.abs(X))
        asymmetry = np.max(np.abs(X - X.T))
        if asymmetry > 1e-8 * scale:
            raise ValueError(
                f"Precomputed expects a symmetric Gram matrix; |K - K'| is up to {asymmetry:.3g} "
                f"where the largest entry is {scale:.3g}"
            )
        smallest = np.linalg.eigvalsh(X)[0]
        if smallest < -1e-8 * scale * len(X):
            raise ValueError(
                "Precomputed expects a positive semi-definite Gram matrix; "
                f"its smallest eigenvalue is {smallest:.6g} where the largest entry is {scale:.3g}"
            )
        diagonal = np.diag(X)
        constant = np.ptp(diagonal) <= 1e-8 * scale
        return replace(self, n_train=len(X), variance=float(diagonal[0]) if constant else None)

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        # With Z the rows of X are new, and their covariances with the training rows come first.
        K = X if Z is None else X[:, : self.n_train]
        return K, lambda G: np.zeros(0)

    def diag(self, X: np.ndarray) -> np.ndarray:
        if X.shape[1] == (self.n_train or 0) + 1:
            return X[:, -1]
        if self.variance is None:
            raise ValueError(
                "Precomputed: the training Gram matrix has no constant diagonal, so predictions need each new "
                f"row's own variance: give X of shape (m, {(self.n_train or 0) + 1}) with k(x, x) in the last "
                f"column; got {X.shape}"
            )
        return np.full(len(X), self.variance)

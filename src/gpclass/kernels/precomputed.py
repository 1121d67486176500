"""A kernel whose matrices the user computed: Gram matrices in, Gram matrices at predict."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.arrays import Array, full, namespace
from .base import Kernel, Pullback
from .rows import GramRows, Rows


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(Kernel):
    """A covariance matrix that is known: X itself, or one that comes beside X under a name.

    Without a name X is the covariance matrix: at fit the (n, n) Gram matrix of the training rows, at predict (m, n),
    covariances between the new and the training rows. A prediction also needs each new row's own prior variance
    k(x, x): when the training diagonal is constant (as for any normalised kernel) that value is taken, otherwise give X
    as (m, n + 1) with k(x, x) in the last column.

    With ``Precomputed("network")`` X holds features, and the matrix comes beside it, in the same shapes:
    ``fit(X, y, grams={"network": K})`` and ``predict(X, grams={"network": K_new})``. In a ``WeightedSum`` it is one of
    the views, and rows of which this source knows nothing are NaN.

    ``n_train`` and ``variance`` are settled at fit and need not be given.
    """

    name: str | None = None
    n_train: int | None = None
    variance: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.name is None or isinstance(self.name, str)):
            raise ValueError(f"Precomputed: name must be a word or None, got {self.name!r}")

    @property
    def pairwise(self) -> bool:
        return self.name is None

    @property
    def gram_names(self) -> tuple[str, ...]:
        return () if self.name is None else (self.name,)

    def _gram(self, X: Any) -> GramRows:
        gram = X.grams.get(self.name or "") if isinstance(X, Rows) else None
        if gram is None:
            needs = f"Precomputed({self.name!r}) needs a Gram matrix next to X"
            raise ValueError(f"{needs}: expected fit(X, y, grams={{{self.name!r}: K}}) of a GPClassifier")
        return gram

    def bind(self, X: Any, n_latent: int = 1, columns: Any = None) -> Kernel:
        if self.name is not None:
            self._gram(X)
            return self
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed expects a square Gram matrix at fit, got shape {X.shape}")
        check_gram(X)
        return replace(self, n_train=len(X), variance=constant_variance(X))

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        return self._matrix(X, Z), lambda G: np.zeros(0)

    def _matrix(self, X: Any, Z: Any) -> Array:
        if self.name is None:
            # With Z the rows of X are new, and their covariances with the training rows come first.
            return X if Z is None else X[:, : self.n_train]
        left = self._gram(X)
        right = left if Z is None else self._gram(Z)
        xp = namespace(left.cross)
        if xp.all(right.index >= 0):
            return xp.take(left.cross, right.index, axis=1)
        if xp.all(left.index >= 0):
            return xp.take(right.cross, left.index, axis=1).T
        raise ValueError(
            f"covariances between new rows need their own Gram matrix, which the view {self.name!r} does not have; "
            "ask for variances (full_cov=False)"
        )

    def diag(self, X: Any) -> Array:
        if self.name is not None:
            return self._gram(X).variance
        if X.shape[1] == (self.n_train or 0) + 1:
            return X[:, -1]
        if self.variance is None:
            shape = f"(m, {(self.n_train or 0) + 1})"
            raise ValueError(
                "Precomputed: the training Gram matrix has no constant diagonal, so predictions need each new row's "
                f"own variance: give X of shape {shape} with k(x, x) in the last column; got {X.shape}"
            )
        return full((X.shape[0],), self.variance, X)

    def observed_rows(self, X: Any) -> Array:
        if self.name is None:
            return super().observed_rows(X)
        variance = self._gram(X).variance
        return ~namespace(variance).isnan(variance)

    def used_columns(self, n_features: int) -> np.ndarray:
        return np.full(n_features, self.name is None)


def check_gram(K: np.ndarray, name: str = "Precomputed") -> None:
    """Refuse a matrix that is not symmetric or not positive semi-definite."""
    scale = np.max(np.abs(K))
    largest = f"where the largest entry is {scale:.3g}"
    asymmetry = np.max(np.abs(K - K.T))
    if asymmetry > 1e-8 * scale:
        raise ValueError(f"{name} expects a symmetric Gram matrix; |K - K'| is up to {asymmetry:.3g} {largest}")
    smallest = np.linalg.eigvalsh(K)[0]
    if smallest < -1e-8 * scale * len(K):
        what = f"{name} expects a positive semi-definite Gram matrix"
        raise ValueError(f"{what}; its smallest eigenvalue is {smallest:.6g} {largest}")


def constant_variance(K: np.ndarray) -> float | None:
    """The value on the diagonal, if it is everywhere the same."""
    diagonal = np.diag(K)
    return float(diagonal[0]) if np.ptp(diagonal) <= 1e-8 * np.max(np.abs(K)) else None

"""A kernel whose matrices the user computed: Gram matrices in, Gram matrices at predict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .base import Kernel, Pullback
from .columns import Columns


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(Kernel):
    """A covariance matrix that is known: X itself, or one that stands next to X under a name.

    Without a name X is the covariance matrix: at fit the (n, n) Gram matrix of the training rows, at predict (m, n),
    covariances between the new and the training rows. A prediction also needs each new row's own prior variance
    k(x, x): when the training diagonal is constant (as for any normalised kernel) that value is taken, otherwise give X
    as (m, n + 1) with k(x, x) in the last column.

    ``Precomputed("network")`` is for ``WeightedSum``: X holds features, and the matrix comes next to it,
    ``fit(X, y, grams={"network": K})`` and ``predict(X, grams={"network": K_new})``, in the same shapes. Rows of which
    this source knows nothing are NaN.

    ``n_train``, ``variance`` and ``columns`` are settled at fit and need not be given.
    """

    name: str | None = None
    n_train: int | None = None
    variance: float | None = None
    columns: slice | None = None

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

    def bind(self, X: np.ndarray, n_latent: int = 1, columns: Any = None) -> Kernel:
        if self.name is None:
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"Precomputed expects a square Gram matrix at fit, got shape {X.shape}")
            check_gram(X)
            return replace(self, n_train=len(X), variance=constant_variance(X))
        grams = Columns.of(columns).grams
        if self.name not in grams:
            raise ValueError(
                f"Precomputed({self.name!r}) needs a Gram matrix next to X: expected fit(X, y, grams={{{self.name!r}: "
                "K}) of a GPClassifier, with the kernel inside a WeightedSum"
            )
        return replace(self, columns=grams[self.name])

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        if self.name is None:
            # With Z the rows of X are new, and their covariances with the training rows come first.
            K = X if Z is None else X[:, : self.n_train]
            return K, lambda G: np.zeros(0)
        numbers = (X if Z is None else Z)[:, self._place(0)].astype(int)
        if np.any(numbers < 0):
            raise ValueError(
                f"covariances between new rows need their own Gram matrix, which the view {self.name!r} does not have; "
                "ask for variances (full_cov=False)"
            )
        return X[:, self._place(2) + numbers], lambda G: np.zeros(0)

    def diag(self, X: np.ndarray) -> np.ndarray:
        if self.name is not None:
            return X[:, self._place(1)]
        if X.shape[1] == (self.n_train or 0) + 1:
            return X[:, -1]
        if self.variance is None:
            raise ValueError(
                "Precomputed: the training Gram matrix has no constant diagonal, so predictions need each new "
                f"row's own variance: give X of shape (m, {(self.n_train or 0) + 1}) with k(x, x) in the last "
                f"column; got {X.shape}"
            )
        return np.full(len(X), self.variance)

    def observed_rows(self, X: np.ndarray) -> np.ndarray:
        return super().observed_rows(X) if self.name is None else ~np.isnan(X[:, self._place(1)])

    def used_columns(self, n_features: int) -> np.ndarray:
        return np.full(n_features, self.name is None)

    def _place(self, which: int) -> int:
        """The column of a row's number, of its variance, or of its first covariance (see ``Columns``)."""
        assert self.columns is not None
        return self.columns.start + which


def check_gram(K: np.ndarray, name: str = "Precomputed") -> None:
    """Refuse a matrix that is not symmetric or not positive semi-definite."""
    scale = np.max(np.abs(K))
    asymmetry = np.max(np.abs(K - K.T))
    if asymmetry > 1e-8 * scale:
        raise ValueError(
            f"{name} expects a symmetric Gram matrix; |K - K'| is up to {asymmetry:.3g} "
            f"where the largest entry is {scale:.3g}"
        )
    smallest = np.linalg.eigvalsh(K)[0]
    if smallest < -1e-8 * scale * len(K):
        raise ValueError(
            f"{name} expects a positive semi-definite Gram matrix; "
            f"its smallest eigenvalue is {smallest:.6g} where the largest entry is {scale:.3g}"
        )


def constant_variance(K: np.ndarray) -> float | None:
    """The value on the diagonal, if it is everywhere the same."""
    diagonal = np.diag(K)
    return float(diagonal[0]) if np.ptp(diagonal) <= 1e-8 * np.max(np.abs(K)) else None

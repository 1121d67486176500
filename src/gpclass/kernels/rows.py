"""Rows of data as kernels take them: an array of features, or features with Gram matrices beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..numerics.arrays import Array, has_values, namespace, take, to_host


@dataclass(frozen=True, eq=False)
class GramRows:
    """What a Gram matrix says of n rows."""

    #: (n,) the number of each row among the training rows, -1 for a new row
    index: Array
    #: (n,) prior variance of each row, NaN where the source knows nothing of it
    variance: Array
    #: (n, n_train) covariances with the training rows
    cross: Array

    def map(self, function: Callable[[Array], Array]) -> GramRows:
        return GramRows(function(self.index), function(self.variance), function(self.cross))


@dataclass(frozen=True, eq=False)
class Rows:
    """Features (n, d) of n rows, and what Gram matrices say of the same rows, by name.

    ``rows[i]`` selects rows by a slice, indices or a boolean mask, as it does for an array.
    """

    features: Array
    grams: Mapping[str, GramRows]

    @property
    def shape(self) -> tuple[int, int]:
        """That of the features."""
        return self.features.shape

    def __len__(self) -> int:
        return self.features.shape[0]

    def __getitem__(self, which: Any) -> Rows:
        return select(self, which)

    def __array__(self, *settings: Any, **named: Any) -> Any:
        # Or NumPy would make an array of objects.
        raise TypeError("expected an array, got Rows, which have Gram matrices beside their features; see features(X)")

    def map(self, function: Callable[[Array], Array]) -> Rows:
        """The rows with a function applied to every array, such as one that moves it to another device."""
        return Rows(function(self.features), {name: gram.map(function) for name, gram in self.grams.items()})


def on_host(X: Any) -> Any:
    """The same rows with NumPy arrays."""
    return X.map(to_host) if isinstance(X, Rows) else to_host(X)


def features(X: Any) -> Array:
    """The features of rows, which may be an array already (or None)."""
    return X.features if isinstance(X, Rows) else X


def select(X: Any, which: Any) -> Any:
    """Those rows that a slice, indices or a boolean mask select."""
    return X.map(lambda array: take(array, which)) if isinstance(X, Rows) else take(X, which)


def with_features(X: Any, array: Array) -> Any:
    """Rows X with other features."""
    return replace(X, features=array) if isinstance(X, Rows) else array


def has_missing(X: Any) -> bool:
    """Whether there is any NaN in rows, or a row of which a Gram matrix knows nothing; or may be, where values are not
    there yet."""
    arrays = [features(X)]
    if isinstance(X, Rows):
        arrays += [gram.variance for gram in X.grams.values()]
    return any(not has_values(array) or bool(namespace(array).any(namespace(array).isnan(array))) for array in arrays)


def filled(X: Any) -> Any:
    """Rows with 0 for every missing value."""
    if not isinstance(X, Rows):
        xp = namespace(X)
        return xp.where(xp.isnan(X), xp.zeros_like(X), X)
    grams = {name: replace(gram, variance=filled(gram.variance)) for name, gram in X.grams.items()}
    return Rows(filled(X.features), grams)

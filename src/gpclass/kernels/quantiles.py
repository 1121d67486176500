"""A kernel of the normal scores of columns: monotone transformations of an input change nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
from scipy.special import ndtri

from ..numerics.arrays import Array, is_numpy, like, namespace, to_host
from .base import Kernel, Pullback, Wrapper
from .columns import Columns
from .rows import features, with_features

#: A column is known by at most so many of its values.
_MOST_VALUES = 200


@dataclass(frozen=True, eq=False, repr=False)
class Distribution:
    """The empirical distribution of each of d columns: some of its values in ascending order, and their normal scores,
    scaled to mean 0 and variance 1.

    The normal score is the quantile of a standard normal distribution at the share of rows below a value, half of those
    with the value itself included.
    """

    values: tuple[np.ndarray, ...]
    positions: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, X: np.ndarray) -> Distribution:
        columns = [_values_and_positions(column[np.isfinite(column)]) for column in X.T]
        values, positions = zip(*columns, strict=True)
        return cls(values, positions)

    def __call__(self, X: Array) -> Array:
        """The positions of the rows in each column; beyond the largest and smallest values they go on by the distance.

        Between values they are linear.
        """
        xp, columns = namespace(X), zip(self.values, self.positions, strict=True)
        return xp.stack([_position(X[:, j], *column) for j, column in enumerate(columns)], axis=1)

    def __repr__(self) -> str:
        check = crc32(np.concatenate([*self.values, *self.positions]).tobytes())
        return f"<{len(self.values)} columns, {check:08x}>"


def _position(x: Array, values: np.ndarray, positions: np.ndarray) -> Array:
    """Where x (n,) is on the line through the positions of the values."""
    xp = namespace(x)
    inside = xp.clip(x, float(values[0]), float(values[-1]))
    if is_numpy(x):
        return np.interp(x, values, positions) + (x - inside)
    slopes = np.append(np.diff(positions) / np.diff(values), 0.0)  # of the line that starts at each value
    known, starts, rises = (like(part, x) for part in (values, positions, slopes))
    above = xp.searchsorted(known, inside, side="right") - 1
    return xp.take(starts, above) + (inside - xp.take(known, above)) * xp.take(rises, above) + (x - inside)


def _values_and_positions(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, counts = np.unique(column, return_counts=True) if len(column) else (np.zeros(1), np.ones(1))
    positions = ndtri((np.cumsum(counts) - 0.5 * counts) / counts.sum())
    centre = positions @ counts / counts.sum()
    spread = np.sqrt((positions - centre) ** 2 @ counts / counts.sum())
    kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), _MOST_VALUES)).round().astype(int))
    return values[kept], ((positions - centre) / (spread if spread > 0.0 else 1.0))[kept]


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles(Wrapper):
    """A kernel on the normal scores of the inputs: their values are mapped, in order, to a normal distribution.

    For inputs with long tails, and counts: only the ranks among the training rows matter. The distribution of each
    column is learned at ``fit``. Beyond the training rows an input counts as it is, in the units
    of X, so that rows far away stay far away; standardised inputs have the same units as scores.
    """

    distribution: Distribution | None = None

    def bind(self, X: Any, n_latent: int = 1, columns: Any = None) -> Kernel:
        categorical = Columns.of(columns).categorical
        if categorical is not None and np.any(categorical):
            raise ValueError(
                f"Quantiles expects numbers, got {np.count_nonzero(categorical)} columns of categories; write "
                "View(Quantiles(...), dtype='number')"
            )
        bound = self
        if self.distribution is None:
            bound = replace(self, distribution=Distribution.of(to_host(features(X))))
        return replace(bound, kernel=self.kernel.bind(bound._scores(X), n_latent, columns))

    def _scores(self, X: Any) -> Any:
        if self.distribution is None:
            raise ValueError("Quantiles knows no distribution of the inputs yet: fit an estimator, or call bind(X)")
        own = features(X)
        if own.shape[1] != len(self.distribution.values):
            raise ValueError(f"Quantiles knows {len(self.distribution.values)} columns, got {own.shape[1]}")
        return with_features(X, self.distribution(own))

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        return self.kernel.vjp(self._scores(X), None if Z is None else self._scores(Z))

    def diag(self, X: Any) -> Array:
        return self.kernel.diag(self._scores(X))

    def observed_rows(self, X: Any) -> Array:
        return self.kernel.observed_rows(self._scores(X))

    def with_data_driven_start(self, X: Any) -> Kernel:
        return replace(self, kernel=self.kernel.with_data_driven_start(self._scores(X)))

    def variations(self, X: Any) -> np.ndarray:
        return self.kernel.variations(self._scores(X))

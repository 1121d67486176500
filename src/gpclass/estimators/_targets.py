"""Regression targets, centred and scaled for training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._labels import is_missing, refuse_masked


def check_targets(y: Any) -> Any:
    """y as an array of floats, refused where an entry is no number; what scikit-learn checks itself is left to it."""
    refuse_masked(y, "y")
    if y is None or np.asarray(y).dtype.kind not in "OUST":
        return y
    values = np.asarray(y, dtype=object)
    for row, value in enumerate(values.ravel().tolist()):
        if is_missing(value):
            raise ValueError(f"expected a number in every row of y, got {value!r} in row {row}")
        try:
            float(value)
        except (TypeError, ValueError):
            raise ValueError(f"expected a number in every row of y, got {value!r} in row {row}") from None
    return values.astype(float)


class Targets(NamedTuple):
    """The units of regression targets: z = (y - mean) / scale."""

    mean: float
    scale: float

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None = None) -> Targets:
        """Units in which y has mean 0 and variance 1."""
        mean = float(np.average(y, weights=weights))
        # Squares of the smallest numbers are zero: the scale is found in units of a power of two, which rounds nothing.
        _, exponent = np.frexp(np.abs(y).max())
        off = np.ldexp(y, -exponent) - np.ldexp(mean, -exponent)
        variance = np.average(off**2, weights=weights)
        spread = float(np.ldexp(np.sqrt(variance), exponent))
        return cls(mean, spread if spread > 1e-12 * abs(mean) else 1.0)

    def transform(self, y: np.ndarray) -> np.ndarray:
        return (np.asarray(y, dtype=float) - self.mean) / self.scale

    def inverse(self, z: np.ndarray) -> np.ndarray:
        return self.mean + self.scale * z

    @property
    def log_density(self) -> float:
        """What the units add to the log density of each target."""
        return -float(np.log(self.scale))

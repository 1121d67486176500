"""Coordinates in which a search for theta moves.

theta holds logarithms of positive parameters. A search may walk in others, where the same hill has another shape: the
optimum is the same, the way there is not. With x = exp(theta):

- "log": theta itself. A step multiplies x.
- "softplus": x = log(1 + e^u) (LPJ05 appendix B). A step multiplies small x and adds to large x.
- "sigmoid": x = low + (high - low) / (1 + e^-u) between the bounds of x (LPJ05 appendix B, with 0 and 1, for the
  scales of inputs). A step shrinks near either bound, which is never reached.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

COORDINATES = ("log", "softplus", "sigmoid")
#: A start on a bound is moved inside by so much of theta, since the sigmoid never reaches its ends. Where the whole
#: range is hardly wider, or endless, the search moves in theta.
_MARGIN = 0.01


def check_coordinates(kind: str) -> None:
    if kind not in COORDINATES:
        raise ValueError(f"coordinates must be one of {list(COORDINATES)}, got {kind!r}")


class Coordinates(NamedTuple):
    """u for theta; entries that can have either sign stay as they are.

    Parameters
    ----------
    kind : one of COORDINATES
    positive : (P,) bool, which entries of theta are logarithms
    bounds : (P, 2), of theta
    """

    kind: str
    positive: np.ndarray
    bounds: np.ndarray

    @property
    def _bent(self) -> np.ndarray:
        """Which entries have coordinates of their own."""
        if self.kind == "log":
            return np.zeros_like(self.positive)
        if self.kind == "softplus":
            return self.positive
        width = self.bounds[:, 1] - self.bounds[:, 0]
        return self.positive & (width > 4.0 * _MARGIN) & np.isfinite(width)

    def of(self, theta: np.ndarray) -> np.ndarray:
        """u at theta."""
        u, which = theta.copy(), self._bent
        if self.kind == "softplus":
            x = np.exp(theta[which])
            u[which] = x + np.log(-np.expm1(-x))
        elif self.kind == "sigmoid":
            low, high = self.bounds[which].T
            x = np.exp(np.clip(theta[which], low + _MARGIN, high - _MARGIN))
            u[which] = logit((x - np.exp(low)) / (np.exp(high) - np.exp(low)))
        return u

    def back(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """theta at u, and dtheta / du of each entry."""
        theta, slope, which = u.copy(), np.ones_like(u), self._bent
        if self.kind == "softplus":
            x = np.logaddexp(0.0, u[which])
            theta[which], slope[which] = np.log(x), expit(u[which]) / x
        elif self.kind == "sigmoid":
            low, high = np.exp(self.bounds[which]).T
            x = low + (high - low) * expit(u[which])
            theta[which] = np.log(x)
            slope[which] = (high - low) * expit(u[which]) * expit(-u[which]) / x
        return theta, slope

    @property
    def ranges(self) -> np.ndarray:
        """Bounds of u, (P, 2)."""
        low, high = self.bounds.T.copy()
        if self.kind == "softplus":
            low, high = self.of(low), self.of(high)
        elif self.kind == "sigmoid":
            low[self._bent], high[self._bent] = -np.inf, np.inf
        return np.column_stack([low, high])

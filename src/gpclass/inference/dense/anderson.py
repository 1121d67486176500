"""Anderson acceleration of a fixed-point iteration: the next point from the last few, by least squares."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ...numerics import linalg
from ...numerics.arrays import Array, namespace


class Anderson:
    """Proposes x for the fixed point of x -> x + residual(x); keeps a short history and nothing else.

    Parameters
    ----------
    depth : int
        How many earlier points take part.
    mixing : float
        Share of the remaining residual that is added.
    warm_up : int
        Plain steps before acceleration starts; far from the fixed point extrapolation misleads.
    """

    def __init__(self, depth: int = 8, mixing: float = 0.8, warm_up: int = 5) -> None:
        self.depth, self.mixing, self.warm_up = depth, mixing, warm_up
        self._points: list[Array] = []
        self._residuals: list[Array] = []
        self._calls = 0
        self._smallest = np.inf

    def step(self, x: Array, residual: Array, scaled: Callable[[Array], Array]) -> Array:
        """The next point; ``scaled`` puts the entries of a residual on one scale."""
        self._calls += 1
        self._points = [*self._points, x][-self.depth - 1 :]
        self._residuals = [*self._residuals, residual][-self.depth - 1 :]
        if self._calls <= self.warm_up or len(self._points) < 2:
            return x + self.mixing * residual
        xp = namespace(x)
        dx, dr = (
            xp.stack([b - a for a, b in pairwise(history)], axis=-1) for history in (self._points, self._residuals)
        )
        columns = [xp.reshape(scaled(dr[..., i]), (-1,)) for i in range(dr.shape[-1])]
        share = linalg.least_squares(xp.stack(columns, axis=1), xp.reshape(scaled(residual), (-1,)))
        return x - dx @ share + self.mixing * (residual - dr @ share)

    def watch(self, max_residual: float) -> None:
        """Told how far from a fixed point each point is: start afresh, more carefully, where acceleration failed."""
        self._smallest = min(self._smallest, max_residual)
        if max_residual > 20.0 * self._smallest and self._calls > self.warm_up:
            self._points, self._residuals, self._calls, self._smallest = [], [], 0, np.inf
            self.mixing = max(0.5 * self.mixing, 0.05)

"""Anderson acceleration of a fixed-point iteration: the next point from the last few, by least squares."""

from __future__ import annotations

import numpy as np


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
        self._points: list[np.ndarray] = []
        self._residuals: list[np.ndarray] = []
        self._calls = 0
        self._smallest = np.inf

    def step(self, x: np.ndarray, residual: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The next point; ``weights`` puts the entries of the residual on one scale."""
        self._calls += 1
        self._points = [*self._points, x][-self.depth - 1 :]
        self._residuals = [*self._residuals, residual][-self.depth - 1 :]
        if self._calls <= self.warm_up or len(self._points) < 2:
            return x + self.mixing * residual
        dx = np.stack([b - a for a, b in zip(self._points, self._points[1:], strict=False)], axis=-1)
        dr = np.stack([b - a for a, b in zip(self._residuals, self._residuals[1:], strict=False)], axis=-1)
        scaled = (dr * weights[..., None]).reshape(-1, dr.shape[-1])
        share = np.linalg.lstsq(scaled, (residual * weights).ravel(), rcond=1e-10)[0]
        return x - dx @ share + self.mixing * (residual - dr @ share)

    def watch(self, max_residual: float) -> None:
        """Told how far from settled each point is: start afresh, more carefully, where acceleration led astray."""
        self._smallest = min(self._smallest, max_residual)
        if max_residual > 20.0 * self._smallest and self._calls > self.warm_up:
            self._points, self._residuals, self._calls, self._smallest = [], [], 0, np.inf
            self.mixing = max(0.5 * self.mixing, 0.05)

"""Steps of Adam (Kingma and Ba 2015)."""

import numpy as np


class Adam:
    """Steps uphill for so many parameters, within bounds."""

    def __init__(self, size: int) -> None:
        self.mean, self.square, self.n = np.zeros(size), np.zeros(size), 0

    def step(self, theta: np.ndarray, gradient: np.ndarray, length: float, bounds: np.ndarray) -> np.ndarray:
        """Where theta goes; ``bounds`` are (p, 2), or (1, 2) for all."""
        self.n += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.99 * self.square + 0.01 * gradient**2
        mean, square = self.mean / (1.0 - 0.9**self.n), self.square / (1.0 - 0.99**self.n)
        return np.clip(theta + length * mean / (np.sqrt(square) + 1e-10), *bounds.T)

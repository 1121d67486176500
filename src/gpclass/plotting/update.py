"""What one row does to a belief."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._canvas import COLOURS, INK, axes_or_new


class UpdateDisplay:
    """What one row does to the belief about its latent value (LPJ05 figure 4): before, likelihood, after."""

    def __init__(self, f: np.ndarray, before: np.ndarray, likelihood: np.ndarray, after: np.ndarray) -> None:
        self.f, self.before, self.likelihood, self.after = f, before, likelihood, after

    @classmethod
    def from_likelihood(cls, likelihood: Any, y: Any, mean: float, variance: float, *, ax: Any = None) -> UpdateDisplay:
        """Of a likelihood with one latent function, an observation y, and the belief N(mean, variance)."""
        if not variance > 0:
            raise ValueError(f"variance must be positive, got {variance!r}")
        spread = np.sqrt(variance)
        f = np.linspace(min(mean - 4 * spread, -2.0), max(mean + 4 * spread, 2.0), 801)
        before = np.exp(-0.5 * ((f - mean) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
        height = np.exp(likelihood.log_prob(np.full(len(f), y), f[:, None]))
        after = before * height
        return cls(f, before, height, after / np.trapezoid(after, f)).plot(ax=ax)

    def plot(self, ax: Any = None) -> UpdateDisplay:
        ax = axes_or_new(ax)
        ax.plot(self.f, self.before, color=COLOURS[0], linestyle=(0, (8, 4)), label="before")
        ax.plot(
            self.f,
            self.likelihood / self.likelihood.max() * 0.9 * self.after.max(),
            color=COLOURS[4],
            linestyle=":",
            label="likelihood, scaled",
        )
        ax.plot(self.f, self.after, color=INK, label="after")
        ax.set(xlabel="latent value", ylabel="density")
        ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

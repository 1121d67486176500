"""Prior beliefs about theta, for MAP estimates instead of plain maximum evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Normal:
    """Independent normal distributions on the entries of theta: log-normal on positive parameters.

    ``mean`` is None for a prior centred on the starting values, or a number for all entries (WB98 use -3 with sd 3).
    """

    mean: float | None = None
    sd: float = 3.0

    def log_density(self, theta: np.ndarray, start: np.ndarray) -> tuple[float, np.ndarray]:
        """Value up to a constant, and gradient."""
        z = (theta - (start if self.mean is None else self.mean)) / self.sd
        return float(-0.5 * z @ z), -z / self.sd

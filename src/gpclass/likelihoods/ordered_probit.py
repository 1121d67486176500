"""Ordered categories: a latent value falls between cut points (LPJ05 section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..numerics.parameters import POSITIVE, REAL
from ..numerics.special import hazard, log_Phi, log_phi, log_Phi_difference
from .base import AverageInClosedForm


@dataclass(frozen=True, eq=False, repr=False)
class OrderedProbit(AverageInClosedForm):
    """P(y = j | f) = Phi((c_j - f) / sd) - Phi((c_{j-1} - f) / sd), with c_{-1} = -inf and c_last = inf.

    The cut points are first_cut, first_cut + widths[0], first_cut + widths[0] + widths[1], ...: widths stay positive,
    so cuts stay in order. J categories have J - 2 widths. Only ``variance`` is fixed unless freed.
    """

    widths: Any = (1.0,)
    first_cut: float = 0.0
    variance: float = 1.0
    fixed: bool | str | tuple[str, ...] = field(default=("variance",), kw_only=True)
    domains: ClassVar = {"widths": POSITIVE, "first_cut": REAL, "variance": POSITIVE}
    supports = frozenset({"derivatives", "tilted_gradient"})
    log_concave = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", np.atleast_1d(np.asarray(self.widths, dtype=float)))
        super().__post_init__()

    @classmethod
    def from_cut_points(cls, cut_points: Any, **settings: Any) -> OrderedProbit:
        """From the cut points themselves, in increasing order."""
        cuts = np.asarray(cut_points, dtype=float)
        if cuts.ndim != 1 or len(cuts) < 1 or np.any(np.diff(cuts) <= 0):
            raise ValueError(f"cut points must be a list of increasing numbers, got {cut_points!r}")
        return cls(np.diff(cuts), float(cuts[0]), **settings)

    @property
    def cut_points(self) -> np.ndarray:
        return self.first_cut + np.concatenate([[0.0], np.cumsum(self.widths)])

    def n_outcomes(self, n_latent: int) -> int:
        return len(self.widths) + 2

    def _ends(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        edges = np.concatenate([[-np.inf], self.cut_points, [np.inf]])
        y = np.asarray(y, dtype=int)
        if np.any(y < 0) or np.any(y >= len(edges) - 1):
            raise ValueError(f"expected categories 0 ... {len(edges) - 2}, got {np.unique(y).tolist()}")
        return edges[y][:, None], edges[y + 1][:, None]

    def _at_ends(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, ...]:
        """log Z, the density at the interval's two ends over Z, d2 log Z / dmean^2 in standard units, and the scale."""
        scale = np.sqrt(self.variance + var)
        low_end, high_end = self._ends(y)
        low, high = (low_end - mean) / scale, (high_end - mean) / scale
        log_z = log_Phi_difference(low, high)
        at_low, at_high = np.exp(log_phi(low) - log_z), np.exp(log_phi(high) - log_z)
        # The ends at infinity have no density: drop them before the product.
        moment = np.where(np.isinf(low), 0.0, low) * at_low - np.where(np.isinf(high), 0.0, high) * at_high
        second = moment - (at_low - at_high) ** 2
        # Where the far end is out of reach only the near one counts, and the hazard keeps its digits in the tail.
        mirrored = low + high > 0
        near, far = np.where(mirrored, -low, high), np.where(mirrored, -high, low)
        h = hazard(near)
        single = log_Phi(far) - log_Phi(near) < -30.0
        at_low = np.where(single, np.where(mirrored, h, 0.0), at_low)
        at_high = np.where(single, np.where(mirrored, 0.0, h), at_high)
        return log_z, at_low, at_high, np.where(single, -h * (near + h), second), scale

    def tilted(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_z, at_low, at_high, second, scale = self._at_ends(y, mean, var)
        return log_z[:, 0], (at_low - at_high) / scale, second / scale**2

    def tilted_gradient(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        _, first, second = self.tilted(y, mean, var)
        _, at_low, at_high, _, scale = self._at_ends(y, mean, var)
        y = np.asarray(y, dtype=int)
        # dlogZ/dcut: the upper end raises it, the lower end lowers it; width k moves all cuts above it.
        n_categories = len(self.widths) + 2
        raised = np.bincount(y, (at_high / scale)[:, 0], n_categories)
        lowered = np.bincount(y, (at_low / scale)[:, 0], n_categories)
        by_cut = raised[:-1] - lowered[1:]
        widths = self.widths * np.cumsum(by_cut[::-1])[::-1][1:]
        by_variance = self._by_variance(first, second)
        return self._collect({"widths": widths, "first_cut": by_cut.sum(), "variance": by_variance})

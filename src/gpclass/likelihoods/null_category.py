"""Two classes separated by a region without data, for rows with and without labels (LPJ05 section 4)."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..numerics.parameters import REAL, Domain
from ..numerics.special import hazard, log_Phi
from .base import AverageInClosedForm

#: The label of a row without one, as in scikit-learn.
UNLABELLED = -1
_SHARE, _SMALL = Domain(False, (1e-6, 1.0 - 1e-6)), Domain(True, (1e-12, 1e5))


@dataclass(frozen=True, eq=False, repr=False)
class NullCategory(AverageInClosedForm):
    """Labels 1 where g = f + bias + noise exceeds 1/2, 0 where it is below -1/2, and no data at all in between.

    A label is missing (-1) with probability ``gamma_plus`` in the upper class and ``gamma_minus`` in the lower, never
    in the null category between them. So the likelihood of a row is (LPJ05 section 4.1)

        label 1    (1 - gamma_plus) P(g > 1/2)
        label 0    (1 - gamma_minus) P(g < -1/2)
        no label   gamma_plus P(g > 1/2) + gamma_minus P(g < -1/2)

    (the paper leaves out the factors of labelled rows, without which the gammas could not be learned). A row without
    label keeps the boundary away from itself. Its likelihood is not log-concave: it may widen the posterior.
    ``variance`` is that of the noise, which softens the steps. All parameters are fixed unless freed.
    """

    gamma_plus: float = 0.5
    gamma_minus: float = 0.5
    bias: float = 0.0
    variance: float = 1e-6
    fixed: bool | str | tuple[str, ...] = field(default=("gamma_plus", "gamma_minus", "bias", "variance"), kw_only=True)
    domains: ClassVar = {"gamma_plus": _SHARE, "gamma_minus": _SHARE, "bias": REAL, "variance": _SMALL}
    supports = frozenset({"derivatives", "tilted_gradient"})
    log_concave = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("gamma_plus", "gamma_minus"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ValueError(f"NullCategory: {name} must be between 0 and 1, got {getattr(self, name)!r}")

    def labels(self, n_latent: int) -> np.ndarray:
        return np.array([UNLABELLED, 0, 1])

    def _sides(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, ...]:
        """log Z (n,), and for the lower and the upper side (n, 2): its share in Z, z with P = Phi(z), and dz/dmean."""
        y = np.asarray(y, dtype=int)
        if np.any((y < UNLABELLED) | (y > 1)):
            raise ValueError(f"expected labels 0, 1, or {UNLABELLED} for none, got {np.unique(y).tolist()}")
        slope = np.array([-1.0, 1.0]) / np.sqrt(self.variance + var)
        z = slope * (mean + self.bias) - 0.5 * np.abs(slope)
        gamma = np.array([self.gamma_minus, self.gamma_plus])
        missing = (y == UNLABELLED)[:, None]
        with np.errstate(divide="ignore"):  # the side that a label excludes
            log_part = np.where(missing, np.log(gamma), np.log((y[:, None] == [0, 1]) * (1.0 - gamma))) + log_Phi(z)
        log_z = np.logaddexp(log_part[:, 0], log_part[:, 1])
        return log_z, np.exp(log_part - log_z[:, None]), z, slope

    def tilted(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A mixture of two probits: derivatives of log Z are averages over the shares of the two sides."""
        log_z, share, z, slope = self._sides(y, mean, var)
        h = hazard(z)
        first = np.sum(share * slope * h, axis=1, keepdims=True)
        # d2 log Z = E[d2 log P + (d log P)^2] - (E d log P)^2, written so that nothing cancels in the tails
        within = np.sum(share * slope**2 * h * (z + h), axis=1, keepdims=True)
        between = np.sum(share * (slope * h - first) ** 2, axis=1, keepdims=True)
        return log_z, first, between - within

    def tilted_gradient(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=int)
        _, first, second = self.tilted(y, mean, var)
        share = self._sides(y, mean, var)[1]
        missing = y == UNLABELLED

        def by_gamma(side: int, gamma: float) -> float:
            return float(np.sum(share[missing, side]) / gamma - np.sum(y == side) / (1.0 - gamma))

        gammas = {"gamma_plus": by_gamma(1, self.gamma_plus), "gamma_minus": by_gamma(0, self.gamma_minus)}
        return self._collect(gammas | {"bias": first.sum(), "variance": self._by_variance(first, second)})

    def loo_log_prob(self, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
        """Of the observed labels; 0 for rows without one."""
        y = np.asarray(y, dtype=int)
        return np.where(y == UNLABELLED, 0.0, self.predict_log(mean, cov)[np.arange(len(y)), y])

    def predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """Of the two labels, given that the row is not in the null category, which has no data."""
        slope = np.array([-1.0, 1.0]) / np.sqrt(self.variance + var)
        log_part = log_Phi(slope * (mean + self.bias) - 0.5 * np.abs(slope))
        return log_part - np.logaddexp(log_part[:, :1], log_part[:, 1:])

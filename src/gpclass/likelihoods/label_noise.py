"""Labels that are wrong now and then: with a small probability the observed label is any other one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..parameters import POSITIVE
from .base import Likelihood
from .multinomial_probit import MultinomialProbit


@dataclass(frozen=True, eq=False, repr=False)
class LabelNoise(Likelihood):
    """P(y | f) = (1 - eps) p(y | f) + eps / (K - 1) (1 - p(y | f)) for a base likelihood p, the robust-max idea.

    One gross error then costs at most log(eps / (K - 1)), however sure the model is. The mixture is not log-concave, so
    it goes with expectation propagation. ``eps`` is fixed unless freed with ``fixed=()``, and then learned.
    """

    base: Likelihood = field(default_factory=MultinomialProbit)
    eps: float = 0.01
    fixed: bool | str | tuple[str, ...] = field(default=("eps",), kw_only=True)
    domains: ClassVar = {"eps": POSITIVE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.eps < 0.5:
            raise ValueError(f"LabelNoise: eps must lie between 0 and 0.5, got {self.eps!r}")

    def _bounds_of(self, name: str) -> tuple[float, float]:
        return self.bounds.get(name, (1e-6, 0.4))

    def n_latent(self, n_classes: int) -> int:
        return self.base.n_latent(n_classes)

    def n_outcomes(self, n_latent: int) -> int:
        return self.base.n_outcomes(n_latent)

    def _mix(self, log_p: np.ndarray, n_latent: int) -> tuple[np.ndarray, np.ndarray]:
        """log of the mixture, and the share of it that the base likelihood's own term has."""
        floor = self.eps / (self.n_outcomes(n_latent) - 1)
        slope = 1.0 - self.eps - floor
        log_mixed = np.logaddexp(np.log(slope) + log_p, np.log(floor))
        return log_mixed, np.exp(np.log(slope) + log_p - log_mixed)

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self._mix(self.base.log_prob(y, f), f.shape[1])[0]

    def tilted(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # Averages of a mixture are mixtures of averages: Z' = slope Z + floor, and the derivatives follow.
        log_z, first, second = self.base.tilted(y, mean, var)
        mixed, share = self._mix(log_z, mean.shape[1])
        share = share[:, None]
        return mixed, share * first, share * (second + first**2) - (share * first) ** 2

    def tilted_gradient(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        log_z = self.base.tilted(y, mean, var)[0]
        mixed, _ = self._mix(log_z, mean.shape[1])
        others = self.n_outcomes(mean.shape[1]) - 1
        # d Z' / d eps = -Z (1 + 1 / (K - 1)) + 1 / (K - 1)
        by_eps = np.sum((-np.exp(log_z) * (1.0 + 1.0 / others) + 1.0 / others) / np.exp(mixed))
        return self._collect({"eps": self.eps * by_eps})

    def predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        return self._mix(self.base.predict_log(mean, var), mean.shape[1])[0]

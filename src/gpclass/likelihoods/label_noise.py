"""Labels that are wrong now and then: with a small probability the observed label is any other one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..numerics.parameters import REAL
from .base import Likelihood

#: The share of a row that is surely mislabelled stays above this, so that its curvature has a root.
_SMALLEST_SHARE = 1e-50


@dataclass(frozen=True, eq=False, repr=False)
class NoisyLabels(Likelihood):
    """P(y | f) = (1 - eps) p(y | f) + eps / (K - 1) (1 - p(y | f)) with eps = ``label_noise``, the robust-max idea.

    One gross error then costs at most log(eps / (K - 1)), however sure the model is. Base of likelihoods that offer it;
    they define p by the methods with an underscore. With eps = 0 p is all there is, and to learn eps (leave
    ``label_noise`` out of ``fixed``) it must start above 0. The mixture is not log-concave.
    Averages of it are mixtures of averages, Z' = slope Z + floor, so every formula below comes from that one line; the
    factor ``share`` = slope Z / Z' is the probability that the label is right.
    """

    label_noise: float = field(default=0.0, kw_only=True)
    fixed: bool | str | tuple[str, ...] = field(default=("label_noise",), kw_only=True)
    domains: ClassVar[Mapping[str, str]] = {"label_noise": REAL}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.label_noise < 0.5:
            raise ValueError(
                f"{type(self).__name__}: label_noise must be at least 0 and below 0.5, got {self.label_noise!r}"
            )

    def _fixed_names(self) -> tuple[str, ...]:
        # Off is off: to learn it, start from a value.
        names = super()._fixed_names()
        return names if self.label_noise != 0.0 or "label_noise" in names else (*names, "label_noise")

    def _bounds_of(self, name: str) -> tuple[float, float]:
        return self.bounds.get(name, (1e-6, 0.4)) if name == "label_noise" else super()._bounds_of(name)

    @property
    def log_concave(self) -> bool:
        return self.label_noise == 0.0

    def without_label_noise(self) -> NoisyLabels:
        return self if self.log_concave else replace(self, label_noise=0.0)

    def with_label_noise(self, log_z: np.ndarray, n_latent: int) -> tuple[np.ndarray, np.ndarray]:
        return super().with_label_noise(log_z, n_latent) if self.log_concave else self._mix(log_z, n_latent)

    def _levels(self, n_latent: int) -> tuple[float, float]:
        """slope and floor."""
        floor = self.label_noise / (self.n_outcomes(n_latent) - 1)
        return 1.0 - self.label_noise - floor, floor

    def _mix(self, log_p: np.ndarray, n_latent: int) -> tuple[np.ndarray, np.ndarray]:
        """log Z' and share."""
        slope, floor = self._levels(n_latent)
        log_mixed = np.logaddexp(np.log(slope) + log_p, np.log(floor))
        return log_mixed, np.exp(np.log(slope) + log_p - log_mixed)

    def _by_noise(self, log_p: np.ndarray, n_latent: int) -> np.ndarray:
        """d log Z' / d eps."""
        mixed, _ = self._mix(log_p, n_latent)
        others = self.n_outcomes(n_latent) - 1
        return (-np.exp(log_p) * (1.0 + 1.0 / others) + 1.0 / others) / np.exp(mixed)

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        log_p = self._log_prob(y, f)
        return log_p if self.log_concave else self._mix(log_p, f.shape[1])[0]

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_p, first, second = self._derivatives(y, f)
        if self.log_concave:
            return log_p, first, second
        mixed, share = self._mix(log_p, f.shape[1])
        outer = first[:, :, None] * first[:, None, :]
        share = share[:, None, None]
        return mixed, share[:, 0] * first, share * (second + outer) - share**2 * outer

    def curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """p's own curvature, scaled by how likely the label is right: what EM for the mixture has, never negative."""
        d, pull = self._curvature(y, f)
        if self.log_concave:
            return d, pull
        log_p, first, _ = self._derivatives(y, f)
        share = self._mix(log_p, f.shape[1])[1][:, None]
        # d log share = (1 - share) d log p
        return np.maximum(
            share, _SMALLEST_SHARE
        ) * d, lambda cotangent: pull(cotangent) + cotangent.sum(axis=1, keepdims=True) * (1.0 - share) * first

    def noise_slopes(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives in eps: of log p (n,), of its gradient in f (n, C) and of log d (n, 1) of ``curvature``."""
        log_p, first, _ = self._derivatives(y, f)
        _, share = self._mix(log_p, f.shape[1])
        by_noise = self._by_noise(log_p, f.shape[1])
        slope, _ = self._levels(f.shape[1])
        # share = slope Z / Z', and d slope / d eps = (slope - 1) / eps.
        log_share = ((slope - 1.0) / (slope * self.label_noise) - by_noise)[:, None]
        return by_noise, share[:, None] * log_share * first, log_share

    def tilted(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_z, first, second = self._tilted(y, mean, var)
        if self.log_concave:
            return log_z, first, second
        mixed, share = self._mix(log_z, mean.shape[1])
        share = share[:, None]
        return mixed, share * first, share * (second + first**2) - (share * first) ** 2

    def tilted_gradient(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        log_z, first, second = self._tilted(y, mean, var)
        slopes = self._tilted_slopes(first, second)
        if not self.log_concave:
            _, share = self._mix(log_z, mean.shape[1])
            slopes = {name: share * slope for name, slope in slopes.items()}
            slopes["label_noise"] = self._by_noise(log_z, mean.shape[1])
        else:
            slopes["label_noise"] = np.zeros(len(y))
        return self._collect({name: slope.sum() for name, slope in slopes.items()})

    def predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        log_p = self._predict_log(mean, var)
        return log_p if self.log_concave else self._mix(log_p, mean.shape[1])[0]

    # ---- what a likelihood with clean labels defines ----------------------------------------------------

    def _log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _derivatives(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        raise NotImplementedError

    def _tilted(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _tilted_slopes(self, first: np.ndarray, second: np.ndarray) -> dict[str, Any]:
        """d log Z_n / d theta (n,) of the other parameters by name, from the derivatives in the means."""
        return {}

    def _predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        raise NotImplementedError

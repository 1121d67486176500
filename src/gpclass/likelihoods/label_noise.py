"""Labels that are wrong with a small probability: the observed label is then any other one."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..numerics.parameters import Domain
from .base import Likelihood

#: The share of a row that is surely mislabelled stays above this, so that the root of its curvature is positive.
_SMALLEST_SHARE = 1e-50

LABEL_NOISE = Domain(positive=False, bounds=(1e-6, 0.4))


@dataclass(frozen=True, eq=False, repr=False)
class NoisyLabels(Likelihood):
    """P(y | f) = (1 - eps) p(y | f) + eps / (K - 1) (1 - p(y | f)) with eps = ``label_noise``, the robust-max idea.

    One wrong label then costs at most log(eps / (K - 1)), however certain the model is. A base of likelihoods that
    offer it; they define p by the methods with an underscore. With eps = 0 the likelihood is p, and to learn eps (leave
    ``label_noise`` out of ``fixed``) it must start above 0. The mixture is not log-concave.
    Averages of it are mixtures of averages, Z' = slope Z + floor, so every formula below comes from that one line; the
    factor ``share`` = slope Z / Z' is the probability that the label is right.
    """

    label_noise: float = field(default=0.0, kw_only=True)
    fixed: bool | str | tuple[str, ...] = field(default=("label_noise",), kw_only=True)
    domains: ClassVar = {"label_noise": LABEL_NOISE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.label_noise < 0.5:
            name = type(self).__name__
            raise ValueError(f"{name}: label_noise must be at least 0 and below 0.5, got {self.label_noise!r}")

    def _fixed_names(self) -> tuple[str, ...]:
        # Label noise of 0 stays 0: to learn it, start from a positive value.
        names = super()._fixed_names()
        return names if self.label_noise != 0.0 or "label_noise" in names else (*names, "label_noise")

    @property
    def supports(self) -> frozenset[str]:
        own = {"derivatives", "curvature", "augment", "tilted_gradient"}
        return frozenset(own if self.log_concave else {*own, "noise_slopes"})

    @property
    def log_concave(self) -> bool:
        return self.label_noise == 0.0

    def without_label_noise(self) -> Self:
        return self if self.log_concave else replace(self, label_noise=0.0)

    def with_label_noise(self, log_z: np.ndarray, n_latent: int) -> tuple[np.ndarray, np.ndarray]:
        return self._mix(log_z, n_latent)

    def _levels(self, n_latent: int) -> tuple[float, float]:
        """slope and floor."""
        floor = self.label_noise / (self.n_outcomes(n_latent) - 1)
        return 1.0 - self.label_noise - floor, floor

    def _mix(self, log_p: np.ndarray, n_latent: int) -> tuple[np.ndarray, np.ndarray]:
        """log Z' and share."""
        slope, floor = self._levels(n_latent)
        log_mixed = np.logaddexp(np.log(slope) + log_p, np.log(floor) if floor else -np.inf)
        return log_mixed, np.exp(np.log(slope) + log_p - log_mixed)

    def _by_noise(self, log_p: np.ndarray, n_latent: int) -> np.ndarray:
        """d log Z' / d eps."""
        mixed, _ = self._mix(log_p, n_latent)
        others = self.n_outcomes(n_latent) - 1
        return (-np.exp(log_p) * (1.0 + 1.0 / others) + 1.0 / others) / np.exp(mixed)

    def log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self._mix(self._log_prob(y, f), f.shape[1])[0]

    def derivatives(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_p, first, second = self._derivatives(y, f)
        if self.log_concave:
            return log_p, first, second
        mixed, share = self._mix(log_p, f.shape[1])
        share = share[:, None, None]
        return mixed, share[:, 0] * first, share * (second + (1.0 - share) * first[:, :, None] * first[:, None, :])

    def curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """p's own curvature times the probability that the label is right, as in EM for the mixture; never negative."""
        d, pull = self._curvature(y, f)
        if self.log_concave:
            return d, pull
        log_p, first, _ = self._derivatives(y, f)
        share = self._mix(log_p, f.shape[1])[1][:, None]

        def pullback(cotangent: np.ndarray) -> np.ndarray:
            # d log share = (1 - share) d log p
            return pull(cotangent) + cotangent.sum(axis=1, keepdims=True) * (1.0 - share) * first

        return np.maximum(share, _SMALLEST_SHARE) * d, pullback

    def noise_slopes(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.log_concave:
            raise self._unsupported("noise_slopes without label noise")
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
        return mixed, share * first, share * (second + (1.0 - share) * first**2)

    def tilted_gradient(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        log_z, first, second = self._tilted(y, mean, var)
        _, share = self._mix(log_z, mean.shape[1])
        slopes = {name: np.sum(share * slope) for name, slope in self._tilted_slopes(first, second).items()}
        if not self.log_concave:
            slopes["label_noise"] = np.sum(self._by_noise(log_z, mean.shape[1]))
        return self._collect(slopes)

    def predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        return self._mix(self._predict_log(mean, var), mean.shape[1])[0]

    # ---- what a likelihood of the right label defines ---------------------------------------------------

    def _log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self._tilted(y, f, np.zeros_like(f))[0]

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

"""What turns the regression of a row on its neighbours into a predictive distribution.

For classes the targets are indicators minus the shares of the classes, so f + share estimates probabilities p, which
regression lets leave [0, 1]. With q = (p + (p^2 + 4 floor^2)^1/2) / 2, a smooth positive part of p,

    logits = (slope f + log_slope log q) / (1 + damping v)^1/2 + bias.

The logarithm is what makes the logits of p (0.8, 0.2) those of a chance of four to one, and not of s * 0.6; the linear
part separates classes that are all but certain. The variance v draws logits towards the bias where a row is far from
its neighbours. All parameters are learned with the kernel (``training.neighbors``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import log_softmax

#: How far the biases of classes are expected to be from 0.
_BIAS_SD = 1.0


class LinkScore(NamedTuple):
    """Log probabilities (b,) of observations, and their slopes in the means (b, C), the variances (b,), the link's
    theta (b, P) and the logarithm of the noise (b,)."""

    log_prob: np.ndarray
    by_mean: np.ndarray
    by_variance: np.ndarray
    by_theta: np.ndarray
    by_noise: np.ndarray


@dataclass(frozen=True)
class ClassLink:
    """Probabilities of K classes; ``shares`` (K,) are those in the training rows, ``bias`` (K,)."""

    shares: np.ndarray
    bias: np.ndarray
    slope: float = 3.0
    log_slope: float = 0.5
    floor: float = 0.02
    damping: float = 1.0

    names: ClassVar = ("slope", "log_slope", "floor", "damping")

    @classmethod
    def start(cls, shares: np.ndarray) -> Self:
        return cls(shares, np.zeros(len(shares)))

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the four positive parameters, then the biases."""
        return np.concatenate([np.log([getattr(self, name) for name in self.names]), self.bias])

    @property
    def theta_names(self) -> tuple[str, ...]:
        return (*(f"link.{name}" for name in self.names), *(f"link.bias[{k}]" for k in range(len(self.bias))))

    @property
    def theta_bounds(self) -> np.ndarray:
        """(P, 2)"""
        return np.array([(-4.0, 5.0), (-5.0, 3.0), (-9.0, 0.0), (-9.0, 6.0), *[(-5.0, 5.0)] * len(self.bias)])

    def with_theta(self, theta: np.ndarray) -> Self:
        positive = dict(zip(self.names, np.exp(theta[:4]).tolist(), strict=True))
        return replace(self, **positive, bias=theta[4:].copy())

    def log_prior(self) -> tuple[float, np.ndarray]:
        """A weak prior of the biases, and its slope in theta."""
        slope = np.concatenate([np.zeros(4), -self.bias / _BIAS_SD**2])
        return -0.5 * float(self.bias @ self.bias) / _BIAS_SD**2, slope

    def n_outcomes(self, n_latent: int) -> int:
        return len(self.shares)

    @property
    def predictive(self) -> Self:
        return self

    def predict_log(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Log probabilities (m, K) for latent means and variances (m, K); the variances of a row are all the same."""
        return log_softmax(self._logits(mean, variance[:, 0])[0], axis=1)

    def predict(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Probabilities (m, K)."""
        return np.exp(self.predict_log(mean, variance))

    def _logits(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, ...]:
        p = mean + self.shares
        root = np.sqrt(p**2 + 4.0 * self.floor**2)
        # Below zero p + root cancels; the other form of q does not.
        q = np.where(p > 0.0, 0.5 * (p + root), 2.0 * self.floor**2 / (root - np.minimum(p, 0.0)))
        log_q, damped = np.log(q), np.sqrt(1.0 + self.damping * variance)[:, None]
        raw = self.slope * mean + self.log_slope * log_q
        return raw / damped + self.bias, raw, root, q, log_q, damped

    def score(self, y: np.ndarray, mean: np.ndarray, variance: np.ndarray, noise: float) -> LinkScore:
        """Log probabilities of the classes y and their slopes."""
        logits, raw, root, q, log_q, damped = self._logits(mean, variance)
        log_p = log_softmax(logits, axis=1)
        rows = np.arange(len(y))
        g = -np.exp(log_p)
        g[rows, y] += 1.0  # d log p_y / d logits
        by_damping = -0.5 * np.sum(g * raw, axis=1) / damped[:, 0] ** 3
        by_theta = [
            np.sum(g * self.slope * mean / damped, axis=1),
            np.sum(g * self.log_slope * log_q / damped, axis=1),
            np.sum(g * self.log_slope * 2.0 * self.floor**2 / (q * root) / damped, axis=1),
            by_damping * self.damping * variance,
        ]
        return LinkScore(
            log_p[rows, y],
            g * (self.slope + self.log_slope / root) / damped,
            by_damping * self.damping,
            np.column_stack([*by_theta, g]),
            np.zeros(len(y)),
        )


@dataclass(frozen=True)
class GaussianLink:
    """Regression targets: normal with the mean of the regression and ``scale`` times its variance, noise included."""

    scale: float = 1.0

    @property
    def theta(self) -> np.ndarray:
        return np.log([self.scale])

    @property
    def theta_names(self) -> tuple[str, ...]:
        return ("link.scale",)

    @property
    def theta_bounds(self) -> np.ndarray:
        return np.array([(-20.0, 10.0)])

    def with_theta(self, theta: np.ndarray) -> Self:
        return replace(self, scale=float(np.exp(theta[0])))

    def log_prior(self) -> tuple[float, np.ndarray]:
        return 0.0, np.zeros(1)

    def score(self, y: np.ndarray, mean: np.ndarray, variance: np.ndarray, noise: float) -> LinkScore:
        """Log densities of the targets y and their slopes."""
        total = variance + noise
        off = y - mean[:, 0]
        squared = off**2 / (self.scale * total)
        by_total = 0.5 * (squared - 1.0) / total
        log_prob = -0.5 * (np.log(2.0 * np.pi * self.scale * total) + squared)
        by_mean = (off / (self.scale * total))[:, None]
        return LinkScore(log_prob, by_mean, by_total, 0.5 * (squared - 1.0)[:, None], by_total * noise)


Link = Any  # ClassLink or GaussianLink

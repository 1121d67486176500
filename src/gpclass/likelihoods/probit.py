"""Binary labels through the normal distribution function."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array, like, namespace
from ..numerics.parameters import POSITIVE, REAL
from ..numerics.special import log_ndtr_and_hazard, log_Phi
from .base import signs
from .label_noise import LABEL_NOISE, NoisyLabels


@dataclass(frozen=True, eq=False, repr=False)
class Probit(NoisyLabels):
    """P(y = 1 | f) = Phi((f + bias) / sqrt(variance)): the sign of f + bias + noise.

    All parameters are fixed unless freed: a kernel's amplitude and a Constant kernel can take the place of ``variance``
    and ``bias``. ``label_noise`` is the probability that a label is the other one (``NoisyLabels``).
    """

    bias: float = 0.0
    variance: float = 1.0
    fixed: bool | str | tuple[str, ...] = field(default=("bias", "variance", "label_noise"), kw_only=True)
    domains: ClassVar = {"bias": REAL, "variance": POSITIVE, "label_noise": LABEL_NOISE}

    @property
    def on_devices(self) -> frozenset[str]:
        return frozenset({"derivatives", "curvature", "tilted"} if self.log_concave else ())

    def _derivatives(self, y: np.ndarray, f: Array) -> tuple[Array, Array, Array]:
        log_prob, first, second = self._tilted(y, f, 0.0 * f)
        return log_prob, first, second[:, :, None]

    def _curvature(self, y: np.ndarray, f: Array) -> tuple[Array, Callable[[Array], Array]]:
        slope = like(signs(y), f) / float(np.sqrt(self.variance))
        z = slope * (f + self.bias)
        _, h = log_ndtr_and_hazard(z)
        # d = h (z + h) / variance, dh/dz = -h (z + h)
        d = h * (z + h) / self.variance
        d = namespace(d).where(d > 1e-300, d, 1e-300)
        log_slope = slope * ((1.0 - h * (z + h)) / (z + h) - (z + h))
        return d, lambda cotangent: cotangent * log_slope

    def augment(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """GR06 section 4.4.1."""
        return f + self.bias + self.variance * self.tilted(y, f, np.zeros_like(f))[1]

    def _tilted(self, y: np.ndarray, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        slope = like(signs(y), mean) / namespace(mean).sqrt(self.variance + var)
        z = slope * (mean + self.bias)
        log_z, h = log_ndtr_and_hazard(z)
        return log_z[:, 0], slope * h, -(slope**2) * h * (z + h)

    def _tilted_slopes(self, first: np.ndarray, second: np.ndarray) -> dict[str, np.ndarray]:
        return {"bias": first[:, 0], "variance": 0.5 * self.variance * (second + first**2)[:, 0]}

    def _predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        z = ((mean + self.bias) / np.sqrt(self.variance + var))[:, 0]
        return np.stack([log_Phi(-z), log_Phi(z)], axis=1)

"""Class labels as the largest of K noisy latent values (GR06 section 3)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..numerics import cone_quadrature
from ..numerics import nested_ep as orthant
from ..numerics import probit_moments as cone
from ..numerics.arrays import Array, is_numpy
from ..numerics.product_form import product_form
from .label_noise import NoisyLabels


@dataclass(frozen=True, eq=False, repr=False)
class MultinomialProbit(NoisyLabels):
    """y = argmax_k (f_k + noise_k) with independent noise_k ~ N(0, 1); all integrals by ``probit_moments``.

    ``label_noise`` is the probability that a label is any other than that (``NoisyLabels``).
    """

    def n_latent(self, n_classes: int) -> int:
        return n_classes

    def _log_prob(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return cone.log_z(y, f)

    @property
    def on_devices(self) -> frozenset[str]:
        return frozenset({"derivatives", "tilted"} if self.log_concave else ())

    def _derivatives(self, y: np.ndarray, f: Array) -> tuple[Array, Array, Array]:
        return cone.derivatives(y, f) if is_numpy(f) else cone_quadrature.derivatives(y, f)

    def _curvature(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        d, pull = product_form(-cone.tilted(y, f)[2])
        return d, lambda cotangent: cone.curvature_pullback(y, f, pull(cotangent))

    def augment(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return f + self.derivatives(y, f)[1]

    def _tilted(self, y: np.ndarray, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        return cone.tilted(y, mean, var) if is_numpy(mean) else cone_quadrature.tilted(y, mean, var)

    @property
    def supports(self) -> frozenset[str]:
        # With label noise the sites of nested EP have no matching moments.
        return super().supports | {"site"} if self.log_concave else super().supports

    def site(self, y: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not self.log_concave:
            raise self._unsupported("site with label noise")
        return orthant.site(y, mean, cov)

    def _predict_log(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        return orthant.log_proba(mean, var) if var.ndim == 3 else cone.log_proba(mean, var)

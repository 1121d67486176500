"""Kernels of the weighted inner product s(x, z) = sum_j weight_variance_j x_j z_j."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..numerics.arrays import Array, like, namespace, sum_product, to_host
from ..numerics.parameters import POSITIVE
from .base import Kernel, Pullback
from .columns import Columns
from .rows import features
from .stationary import expand_ard


@dataclass(frozen=True, eq=False, repr=False)
class DotProduct(Kernel):
    """Base: one prior variance for all weights, or (ARD) one for each input."""

    weight_variance: float | np.ndarray = 1.0
    ard: bool = False
    domains: ClassVar = {"weight_variance": POSITIVE}

    def _matrix(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        raise NotImplementedError

    def _variance(self, norms: Array) -> Array:
        """k(x, x) from s(x, x)."""
        raise NotImplementedError

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        return self._matrix(features(X), features(X if Z is None else Z))

    def diag(self, X: Any) -> Array:
        return self._variance(self._norms(features(X)))

    def _weighted(self, X: Array) -> Array:
        variance = self.weight_variance
        return X * (like(variance, X) if isinstance(variance, np.ndarray) else variance)

    def _inner(self, X: Array, Z: Array) -> Array:
        return self._weighted(X) @ Z.T

    def _norms(self, X: Array) -> Array:
        return sum_product(self._weighted(X), X, axis=1)

    def _weight_gradient(self, W: Array, X: Array, Z: Array) -> np.ndarray | float:
        """d sum(W * s) / d log weight_variance."""
        return self._by_weight(sum_product(X, W @ Z, axis=0))

    def _by_weight(self, per_input: Array) -> np.ndarray | float:
        """Derivatives in log weight_variance from those in the variance of each input."""
        own = self.weight_variance * to_host(per_input)
        return own if np.ndim(self.weight_variance) else own.sum()

    def bind(self, X: Any, n_latent: int = 1, columns: Any = None) -> Kernel:
        Columns.of(columns).refuse_categories(type(self).__name__)
        return expand_ard(self, "weight_variance", self.ard, X.shape[1])

    def relevance(self, n_features: int) -> np.ndarray:
        return np.broadcast_to(self.weight_variance, (n_features,)).astype(float)


@dataclass(frozen=True, eq=False, repr=False)
class Linear(DotProduct):
    """k(x, z) = s(x, z): Bayesian linear regression on the inputs."""

    def _matrix(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._inner(X, Z), lambda G: self._collect({"weight_variance": self._weight_gradient(G, X, Z)})

    def _variance(self, norms: Array) -> Array:
        return norms


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial(DotProduct):
    """k(x, z) = (s(x, z) + bias_variance)^degree."""

    bias_variance: float = 1.0
    degree: int = 2
    domains: ClassVar = {"weight_variance": POSITIVE, "bias_variance": POSITIVE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.degree) != self.degree or self.degree < 1:
            raise ValueError(f"Polynomial: degree must be a whole number >= 1, got {self.degree!r}")

    def _matrix(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        base = self._inner(X, Z) + self.bias_variance

        def pullback(G: Array) -> np.ndarray:
            W = G * (self.degree * base ** (self.degree - 1))
            bias = self.bias_variance * float(namespace(W).sum(W))
            return self._collect({"weight_variance": self._weight_gradient(W, X, Z), "bias_variance": bias})

        return base**self.degree, pullback

    def _variance(self, norms: Array) -> Array:
        return (norms + self.bias_variance) ** self.degree


@dataclass(frozen=True, eq=False, repr=False)
class MLP(DotProduct):
    """arcsin(a(x, z) / sqrt((a(x, x) + 1)(a(z, z) + 1))), a = s + bias_variance: an infinite layer of erf units."""

    bias_variance: float = 1.0
    domains: ClassVar = {"weight_variance": POSITIVE, "bias_variance": POSITIVE}

    def _matrix(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        xp = namespace(X, Z)
        norms_x = self._norms(X) + self.bias_variance + 1.0
        norms_z = self._norms(Z) + self.bias_variance + 1.0
        inverse_norm = 1.0 / xp.sqrt(norms_x[:, None] * norms_z[None, :])
        sine = (self._inner(X, Z) + self.bias_variance) * inverse_norm

        def pullback(G: Array) -> np.ndarray:
            # d arcsin(q) = dq / sqrt(1 - q^2), dq = da / norm - q/2 (dnorm_x/norm_x + dnorm_z/norm_z)
            # By Cauchy-Schwarz 1 - q^2 is at least this; equal for parallel rows, where 1 - q * q has no digits.
            least = (norms_x[:, None] + norms_z[None, :] - 1.0) * inverse_norm**2
            H = G / xp.sqrt(xp.maximum(1.0 - sine * sine, least))
            direct = H * inverse_norm
            through = H * sine
            by_x, by_z = xp.sum(through, axis=1) / norms_x, xp.sum(through, axis=0) / norms_z
            bias = float(xp.sum(direct)) - 0.5 * float(xp.sum(by_x) + xp.sum(by_z))
            norms = self._by_weight(by_x @ (X * X) + by_z @ (Z * Z))
            weight = self._weight_gradient(direct, X, Z) - 0.5 * norms
            return self._collect({"weight_variance": weight, "bias_variance": self.bias_variance * bias})

        return xp.asin(sine), pullback

    def _variance(self, norms: Array) -> Array:
        norms = norms + self.bias_variance
        return namespace(norms).asin(norms / (norms + 1.0))

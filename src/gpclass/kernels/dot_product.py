"""Kernels of the weighted inner product s(x, z) = sum_j weight_variance_j x_j z_j."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..numerics.parameters import POSITIVE
from .base import Kernel, Pullback
from .columns import Columns
from .stationary import expand_ard


@dataclass(frozen=True, eq=False, repr=False)
class DotProduct(Kernel):
    """Base: one prior variance for all weights, or (ARD) one for each input."""

    weight_variance: float | np.ndarray = 1.0
    ard: bool = False
    domains: ClassVar = {"weight_variance": POSITIVE}

    def _inner(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        return (X * self.weight_variance) @ (X if Z is None else Z).T

    def _norms(self, X: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", X * self.weight_variance, X)

    def _weight_gradient(self, W: np.ndarray, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray | float:
        """d sum(W * s) / d log weight_variance."""
        per_input = self.weight_variance * np.einsum("id,id->d", X, W @ (X if Z is None else Z))
        return per_input if np.ndim(self.weight_variance) else per_input.sum()

    def bind(self, X: np.ndarray, n_latent: int = 1, columns: Any = None) -> Kernel:
        Columns.of(columns).refuse_categories(type(self).__name__)
        return expand_ard(self, "weight_variance", self.ard, X.shape[1])

    def relevance(self, n_features: int) -> np.ndarray:
        return np.broadcast_to(self.weight_variance, (n_features,)).astype(float)


@dataclass(frozen=True, eq=False, repr=False)
class Linear(DotProduct):
    """k(x, z) = s(x, z): Bayesian linear regression on the inputs."""

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        def pullback(G: np.ndarray) -> np.ndarray:
            return self._collect({"weight_variance": self._weight_gradient(G, X, Z)})

        return self._inner(X, Z), pullback

    def diag(self, X: np.ndarray) -> np.ndarray:
        return self._norms(X)


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

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        base = self._inner(X, Z) + self.bias_variance

        def pullback(G: np.ndarray) -> np.ndarray:
            W = G * (self.degree * base ** (self.degree - 1))
            return self._collect(
                {
                    "weight_variance": self._weight_gradient(W, X, Z),
                    "bias_variance": self.bias_variance * W.sum(),
                }
            )

        return base**self.degree, pullback

    def diag(self, X: np.ndarray) -> np.ndarray:
        return (self._norms(X) + self.bias_variance) ** self.degree


@dataclass(frozen=True, eq=False, repr=False)
class MLP(DotProduct):
    """arcsin(a(x, z) / sqrt((a(x, x) + 1)(a(z, z) + 1))), a = s + bias_variance: an infinite layer of erf units."""

    bias_variance: float = 1.0
    domains: ClassVar = {"weight_variance": POSITIVE, "bias_variance": POSITIVE}

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        other = X if Z is None else Z
        norms_x = self._norms(X) + self.bias_variance + 1.0
        norms_z = self._norms(other) + self.bias_variance + 1.0
        inverse_norm = 1.0 / np.sqrt(np.outer(norms_x, norms_z))
        sine = (self._inner(X, Z) + self.bias_variance) * inverse_norm

        def pullback(G: np.ndarray) -> np.ndarray:
            # d arcsin(q) = dq / sqrt(1 - q^2), dq = da / norm - q/2 (dnorm_x/norm_x + dnorm_z/norm_z)
            # By Cauchy-Schwarz 1 - q^2 is at least this; equal for parallel rows, where 1 - q * q has no digits.
            least = (np.add.outer(norms_x, norms_z) - 1.0) * inverse_norm**2
            H = G / np.sqrt(np.maximum(1.0 - sine * sine, least))
            direct = H * inverse_norm
            through = H * sine
            by_x, by_z = through.sum(axis=1) / norms_x, through.sum(axis=0) / norms_z
            squares = self.weight_variance * (by_x @ (X * X) + by_z @ (other * other))
            if not np.ndim(self.weight_variance):
                squares = squares.sum()
            return self._collect(
                {
                    "weight_variance": self._weight_gradient(direct, X, Z) - 0.5 * squares,
                    "bias_variance": self.bias_variance * (direct.sum() - 0.5 * (by_x.sum() + by_z.sum())),
                }
            )

        return np.arcsin(sine), pullback

    def diag(self, X: np.ndarray) -> np.ndarray:
        norms = self._norms(X) + self.bias_variance
        return np.arcsin(norms / (norms + 1.0))

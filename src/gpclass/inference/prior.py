"""What an engine works on: the prior of the latent functions at the training rows, in one of three forms.

Each kind is made by ``of(problem, kernel)`` for a problem (``inference.problem``) and its kernel at some theta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..kernels import Kernel
from ..kernels.rows import features
from ..numerics.arrays import Array, like, to_host
from .inducing.features import BlockSums
from .posteriors import DrawsPosterior, GaussianPosterior, make_posterior

if TYPE_CHECKING:
    from .problem import Problem


def entries(dK: Array) -> np.ndarray:
    """The pullback where the entries of K are themselves the parameters."""
    return np.ravel(to_host(dK))


@dataclass(frozen=True)
class DensePrior:
    """Covariances K of all training rows: (n, n) when the latent functions share a kernel, else (C, n, n).

    ``pullback`` turns d objective / dK, an array like K, into the gradient in the kernel's theta, a NumPy vector. By
    default theta is K itself.
    """

    K: Array
    n_latent: int
    kernel: Kernel | None = None
    X: Any = None
    pullback: Callable[[Array], np.ndarray] = entries

    describes: ClassVar[str] = "works on the covariances of all rows"

    @classmethod
    def of(cls, problem: Problem, kernel: Kernel) -> DensePrior:
        return cls.at(kernel, problem.X, problem.n_latent)

    @classmethod
    def at(cls, kernel: Kernel, X: Any, n_latent: int = 1) -> DensePrior:
        """The prior of a kernel at rows X."""
        K, pullback = kernel.vjp(X)
        return cls(K, n_latent, kernel, X, pullback)

    @property
    def n_rows(self) -> int:
        return self.K.shape[-1]

    @staticmethod
    def estimator(engine: Any) -> str:
        """Where an engine for such a prior is used."""
        name = type(engine).__name__
        return f"{'GPRegressor' if name == 'Exact' else 'GPClassifier'}(inference={name}())"

    def gradient(self, dK: Array, dlikelihood: np.ndarray) -> np.ndarray:
        """The gradient in theta, the kernel's parameters before the likelihood's."""
        return np.concatenate([self.pullback(dK), dlikelihood])

    def posterior(self, terms: Any) -> GaussianPosterior | DrawsPosterior:
        """The posterior with these terms at the training rows."""
        return make_posterior(self.kernel, self.X, terms)


@dataclass(frozen=True)
class UnevaluatedPrior:
    """Rows whose covariances are computed when they are needed, into one n x n matrix."""

    kernel: Kernel
    X: Any
    n_latent: int

    describes: ClassVar[str] = "works on the covariances of many rows"

    @classmethod
    def of(cls, problem: Problem, kernel: Kernel) -> UnevaluatedPrior:
        return cls(kernel, problem.X, problem.n_latent)

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @staticmethod
    def estimator(engine: Any) -> str:
        """Where an engine for such a prior is used."""
        return "GPClassifier or GPRegressor, which take it for many rows"

    def beside_rows(self, values: np.ndarray) -> Array:
        """An array of the host where the rows are."""
        return like(values, features(self.X))

    def posterior(self, terms: Any) -> GaussianPosterior | DrawsPosterior:
        """The posterior with these terms at the training rows."""
        return make_posterior(self.kernel, self.X, terms)


@dataclass(frozen=True)
class ActivePrior:
    """Rows whose covariances are computed a few columns at a time; rows that are ``excluded`` (n,) stay inactive."""

    kernel: Kernel
    X: Any
    n_latent: int
    excluded: np.ndarray | None = None

    describes: ClassVar[str] = "keeps an active set of rows"

    @classmethod
    def of(cls, problem: Problem, kernel: Kernel) -> ActivePrior:
        return cls(kernel, problem.X, problem.n_latent)

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @staticmethod
    def estimator(engine: Any) -> str:
        """Where an engine for such a prior is used."""
        return "IVMClassifier or IVMRegressor, which have its settings as parameters"


@dataclass(frozen=True)
class InducingPrior:
    """Rows read in blocks, and their covariances with S inducing points."""

    features: BlockSums
    n_latent: int

    describes: ClassVar[str] = "works through inducing points"

    @classmethod
    def of(cls, problem: Problem, kernel: Kernel) -> InducingPrior:
        return cls(problem.features(kernel), problem.n_latent)

    @property
    def n_rows(self) -> int:
        return len(self.features)

    @staticmethod
    def estimator(engine: Any) -> str:
        """Where an engine for such a prior is used."""
        return f"SparseGPClassifier(inference={type(engine).__name__}())"

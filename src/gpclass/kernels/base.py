"""The kernel contract, and the ways to combine kernels.

A kernel is a frozen value. ``k(X)`` and ``k(X, Z)`` give covariance matrices, ``k.diag(X)`` the prior
variances, and ``k.vjp(X)`` a matrix with its *pullback*: ``pullback(G)`` is d sum(G * K) / d theta in O(n^2 d)
time and O(n^2) memory. No n x n x p tensor is ever built.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel

from ..numerics.parameters import POSITIVE, Parameterised
from .columns import Columns

Pullback = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False, repr=False)
class Kernel(Parameterised):
    """Base of all kernels; subclasses give ``vjp`` and ``diag``."""

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        """Covariances between the rows of X and of Z (of X itself when Z is None)."""
        return self.vjp(X, Z)[0]

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        """(K, pullback) with pullback(G) = d sum(G * K) / d theta."""
        raise NotImplementedError

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Prior variances k(x, x) of the rows of X."""
        raise NotImplementedError

    def diag_pullback(self, X: np.ndarray, g: np.ndarray) -> np.ndarray:
        """d sum(g * diag(X)) / d theta, through small matrices of which only the diagonals count."""
        total = np.zeros(self.theta.size)
        for start in range(0, len(X), 32):
            rows = slice(start, start + 32)
            total += self.vjp(X[rows])[1](np.diag(g[rows]))
        return total

    def bind(self, X: np.ndarray, n_latent: int = 1, columns: Any = None) -> Kernel:
        """A copy with every shape settled for these training rows: ARD vectors, columns, classes.

        ``columns`` is what is known of the columns: their names, or a ``Columns``.
        """
        children = [child.bind(X, n_latent, columns) for child in self.children]
        return self._with_children(children) if children else self

    def relevance(self, n_features: int) -> np.ndarray:
        """How fast the covariance falls along each input: inverse squared scale, 0 for unused inputs."""
        total = np.zeros(n_features)
        for child in self.children:
            total = total + child.relevance(n_features)
        return total

    def observed_rows(self, X: np.ndarray) -> np.ndarray:
        """Which rows have all that this kernel looks at: no NaN there."""
        if self.children:
            return np.all([child.observed_rows(X) for child in self.children], axis=0)
        return ~np.isnan(X).any(axis=1)

    def used_columns(self, n_features: int) -> np.ndarray:
        """Which columns (n_features,) a bound kernel looks at."""
        if self.children:
            return np.any([child.used_columns(n_features) for child in self.children], axis=0)
        return np.ones(n_features, bool)

    def categorical_columns(self, columns: Columns, n_features: int) -> np.ndarray:
        """Which columns (n_features,) are codes of categories to this kernel, and not numbers."""
        found = np.zeros(n_features, bool)
        for child in self.children:
            found |= child.categorical_columns(columns, n_features)
        return found

    def with_data_driven_start(self, X: np.ndarray) -> Kernel:
        """A copy to start learning from; see ``WeightedSum``."""
        return self

    @property
    def takes_missing(self) -> bool:
        """Whether rows with NaN have a covariance."""
        return bool(self.children) and all(child.takes_missing for child in self.children)

    @property
    def gram_names(self) -> tuple[str, ...]:
        """Names of the Gram matrices that stand next to X."""
        return tuple(name for child in self.children for name in child.gram_names)

    @property
    def pairwise(self) -> bool:
        """Whether X holds covariances (a Gram matrix) rather than features."""
        return any(child.pairwise for child in self.children)

    @property
    def children(self) -> tuple[Kernel, ...]:
        return ()

    @property
    def label(self) -> str:
        """Short name used as prefix when kernels are combined."""
        return type(self).__name__.lower()

    def __add__(self, other: Any) -> Kernel:
        other = _as_kernel(other)
        return NotImplemented if other is None else Sum((*_flat(Sum, self), *_flat(Sum, other)))

    def __radd__(self, other: Any) -> Kernel:
        other = _as_kernel(other)
        return NotImplemented if other is None else other + self

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Real):
            return self._times(float(other))
        other = _as_kernel(other)
        if other is None:
            return NotImplemented
        return Product((*_flat(Product, self), *_flat(Product, other)))

    __rmul__ = __mul__

    def _times(self, factor: float) -> Kernel:
        """factor * self; a kernel with an amplitude of its own takes the factor into it."""
        if "variance" in self.domains:
            return self.with_params(variance=factor * self.params["variance"])
        return Scaled(self, factor)


def _as_kernel(value: Any) -> Kernel | None:
    """A summand: a kernel of ours or of scikit-learn, or a number for a constant."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, SklearnKernel):
        from .sklearn_bridge import from_sklearn

        return from_sklearn(value)
    return Constant(float(value)) if isinstance(value, Real) else None


def _flat(kind: type, kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.children if type(kernel) is kind else (kernel,)


def refuse_per_class(owner: str, kernels: Sequence[Kernel]) -> None:
    """Only whole kernels can differ between classes."""
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"{owner} combines gpclass kernels, got {kernel!r}; see gpclass.kernels.from_sklearn")
        if isinstance(kernel, PerClass):
            raise ValueError(f"PerClass must be outermost: write PerClass({owner}(...)) and not {owner}(PerClass(...))")


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Kernel):
    """k(x, z) = variance: a bias shared by all rows."""

    variance: float = 1.0
    domains: ClassVar = {"variance": POSITIVE}

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        K = np.full((len(X), len(X if Z is None else Z)), self.variance)
        return K, lambda G: self._collect({"variance": self.variance * G.sum()})

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.variance)

    def observed_rows(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X), bool)

    def used_columns(self, n_features: int) -> np.ndarray:
        return np.zeros(n_features, bool)


@dataclass(frozen=True, eq=False, repr=False)
class White(Kernel):
    """k(x, x') = variance for a row with itself, 0 otherwise: independent noise on every row."""

    variance: float = 1.0
    domains: ClassVar = {"variance": POSITIVE}

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        if Z is not None:
            return np.zeros((len(X), len(Z))), lambda G: self._collect({"variance": 0.0})
        K = np.diag(np.full(len(X), self.variance))
        return K, lambda G: self._collect({"variance": self.variance * np.trace(G)})

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.variance)

    def observed_rows(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X), bool)

    def used_columns(self, n_features: int) -> np.ndarray:
        return np.zeros(n_features, bool)


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(Kernel):
    """variance * kernel; written ``2.0 * RBF()``."""

    kernel: Kernel
    variance: float = 1.0
    domains: ClassVar = {"variance": POSITIVE}

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_per_class("Scaled", [self.kernel])

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        base, pull = self.kernel.vjp(X, Z)

        def pullback(G: np.ndarray) -> np.ndarray:
            own = self.variance * np.vdot(G, base)
            return self._collect({"variance": own}, [self.variance * pull(G)])

        return self.variance * base, pullback

    def diag(self, X: np.ndarray) -> np.ndarray:
        return self.variance * self.kernel.diag(X)

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def _with_children(self, children: Sequence[Kernel]) -> Scaled:
        return replace(self, kernel=children[0])

    def _child_labels(self) -> list[str]:
        # Scaled(White()) has two variances: the inner one needs a prefix.
        return [self.kernel.label if "variance" in self.kernel.parameters else ""]

    @property
    def label(self) -> str:
        return self.kernel.label


@dataclass(frozen=True, eq=False, repr=False)
class _Combination(Kernel):
    """Kernels side by side; parameter names carry each kernel's label, numbered where it repeats."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kernels", tuple(self.kernels))
        if not self.kernels:
            raise ValueError(f"{type(self).__name__} needs at least one kernel, got none")
        refuse_per_class(type(self).__name__, self.kernels)
        if len({kernel.pairwise for kernel in self.kernels}) > 1:
            raise ValueError(
                f"{type(self).__name__} mixes Precomputed, whose X is a Gram matrix, with kernels on features; "
                "compute the whole covariance and pass it to one Precomputed kernel"
            )

    @property
    def children(self) -> tuple[Kernel, ...]:
        return self.kernels

    def _with_children(self, children: Sequence[Kernel]) -> Any:
        return replace(self, kernels=tuple(children))

    def _child_labels(self) -> list[str]:
        labels = [kernel.label for kernel in self.kernels]
        return [
            label if labels.count(label) == 1 else f"{label}_{labels[: i + 1].count(label)}"
            for i, label in enumerate(labels)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Sum(_Combination):
    """k_1 + k_2 + ...; written ``RBF() + Linear()``."""

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        matrices, pulls = zip(*(kernel.vjp(X, Z) for kernel in self.kernels), strict=True)
        return reduce(np.add, matrices), lambda G: self._collect({}, [pull(G) for pull in pulls])

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.sum([kernel.diag(X) for kernel in self.kernels], axis=0)


@dataclass(frozen=True, eq=False, repr=False)
class Product(_Combination):
    """k_1 * k_2 * ... elementwise; written ``RBF() * Linear()``."""

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        matrices, pulls = zip(*(kernel.vjp(X, Z) for kernel in self.kernels), strict=True)

        def pullback(G: np.ndarray) -> np.ndarray:
            # Products of the others, not K / K_i: a factor may be zero.
            pieces = []
            for i, pull in enumerate(pulls):
                others = [matrix for j, matrix in enumerate(matrices) if j != i]
                pieces.append(pull(reduce(np.multiply, others, G)))
            return self._collect({}, pieces)

        return reduce(np.multiply, matrices), pullback

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.prod([kernel.diag(X) for kernel in self.kernels], axis=0)


@dataclass(frozen=True, eq=False, repr=False)
class PerClass(Kernel):
    """Separate parameters for every class (GR06's general case, WB98).

    ``PerClass(RBF())`` becomes one RBF per latent function when it is bound to data; its matrices are
    stacked (C, n, n). A tuple of kernels gives each class its own start.
    """

    kernel: Kernel | tuple[Kernel, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kernel, Kernel):
            object.__setattr__(self, "kernel", tuple(self.kernel))
        refuse_per_class("PerClass", self.children)

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.kernel,) if isinstance(self.kernel, Kernel) else self.kernel

    def _with_children(self, children: Sequence[Kernel]) -> PerClass:
        return replace(self, kernel=children[0] if isinstance(self.kernel, Kernel) else tuple(children))

    def _child_labels(self) -> list[str]:
        return [""] if isinstance(self.kernel, Kernel) else [str(i) for i in range(len(self.kernel))]

    def bind(self, X: np.ndarray, n_latent: int = 1, columns: Any = None) -> Kernel:
        kernels = (self.kernel,) * n_latent if isinstance(self.kernel, Kernel) else self.kernel
        if len(kernels) != n_latent:
            raise ValueError(f"PerClass holds {len(kernels)} kernels, but the model has {n_latent} latent functions")
        return replace(self, kernel=tuple(k.bind(X, n_latent, columns) for k in kernels))

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        matrices, pulls = zip(*(kernel.vjp(X, Z) for kernel in self.children), strict=True)

        def pullback(G: np.ndarray) -> np.ndarray:
            return self._collect({}, [pull(g) for pull, g in zip(pulls, G, strict=True)])

        return np.stack(matrices), pullback

    def with_data_driven_start(self, X: np.ndarray) -> Kernel:
        return self._with_children([kernel.with_data_driven_start(X) for kernel in self.children])

    def diag(self, X: np.ndarray) -> np.ndarray:
        """(C, n)"""
        return np.stack([kernel.diag(X) for kernel in self.children])

    def relevance(self, n_features: int) -> np.ndarray:
        """(C, n_features)"""
        return np.stack([kernel.relevance(n_features) for kernel in self.children])

"""The base class of kernels, and the ways to combine kernels.

A kernel is a frozen value. ``k(X)`` and ``k(X, Z)`` give covariance matrices, ``k.diag(X)`` the prior
variances, and ``k.vjp(X)`` a matrix with its *pullback*: ``pullback(G)`` is d sum(G * K) / d theta in O(n^2 d)
time and O(n^2) memory. No n x n x p tensor is ever built.

X and Z are arrays (n, d) of NumPy or of any other namespace of the array API standard, or ``Rows``, which have Gram
matrices beside the features. Matrices are of the same kind as X; theta and its gradients are NumPy vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real
from operator import add, and_, mul, or_
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel

from ..numerics.arrays import Array, full, identity, namespace, sum_product
from ..numerics.parameters import POSITIVE, Parameterised
from .columns import Columns
from .rows import features, select

Pullback = Callable[[Array], np.ndarray]


@dataclass(frozen=True, eq=False, repr=False)
class Kernel(Parameterised):
    """Base of all kernels. A subclass declares its parameters in ``domains`` and gives ``vjp`` and ``diag``.

    All other methods have a default: a kernel without children takes all columns for numbers and refuses missing
    values; a kernel with children (``children``, ``_with_children``) asks them.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> import numpy as np
    >>> from gpclass.kernels import Kernel
    >>> from gpclass.numerics.parameters import POSITIVE
    >>> @dataclass(frozen=True, eq=False, repr=False)
    ... class Cosine(Kernel):
    ...     period: float = 1.0
    ...     domains: ClassVar = {"period": POSITIVE}
    ...
    ...     def vjp(self, X, Z=None):
    ...         phase = 2.0 * np.pi * (X - (X if Z is None else Z).T) / self.period
    ...         return np.cos(phase), lambda G: self._collect({"period": np.sum(G * phase * np.sin(phase))})
    ...
    ...     def diag(self, X):
    ...         return np.ones(len(X))
    >>> kernel = 2.0 * Cosine(4.0)
    >>> kernel(np.array([[0.0], [2.0]]))
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """Covariances between the rows of X and of Z (of X itself when Z is None)."""
        return self.vjp(X, Z)[0]

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        """(K, pullback) with pullback(G) = d sum(G * K) / d theta."""
        raise NotImplementedError

    def diag(self, X: Any) -> Array:
        """Prior variances k(x, x) of the rows of X."""
        raise NotImplementedError

    def diag_pullback(self, X: Any, g: Array) -> np.ndarray:
        """d sum(g * diag(X)) / d theta, through small matrices of which only the diagonals count."""
        total = np.zeros(self.theta.size)
        for start in range(0, X.shape[0], 32):
            rows = slice(start, min(start + 32, X.shape[0]))
            own = g[..., rows, None]
            total += self.vjp(select(X, rows))[1](own * identity(own.shape[-2], g))
        return total

    def rows_pullback(self, X: Array, Z: Array | None, G: Array) -> tuple[Array, Array | None]:
        """d sum(G * k(X, Z)) / dX and / dZ, for rows that are themselves learned (``TorchKernel``)."""
        raise TypeError(
            f"{type(self).__name__} has no slopes in its rows; RBF, Matern (nu 1.5 or 2.5) and RationalQuadratic have "
            "them, also times a number and added"
        )

    # ---- what children answer for, unless a kernel says otherwise ------------------------------------------

    @property
    def children(self) -> tuple[Kernel, ...]:
        return ()

    def _child_vjps(self, X: Any, Z: Any) -> Any:
        """The matrices of all children, and their pullbacks."""
        return zip(*(child.vjp(rows_for(child, X), rows_for(child, Z)) for child in self.children), strict=True)

    def _child_diags(self, X: Any) -> list[Array]:
        return [child.diag(rows_for(child, X)) for child in self.children]

    def bind(self, X: Any, n_latent: int = 1, columns: Any = None) -> Kernel:
        """A copy with every shape settled for these training rows, on the host: ARD vectors, columns, classes.

        ``columns`` is what is known of the columns: their names, or a ``Columns``.
        """
        return self._with_children([child.bind(X, n_latent, columns) for child in self.children])

    def with_data_driven_start(self, X: Any) -> Kernel:
        """A copy to start learning from, given rows on the host; see ``WeightedSum``."""
        return self._with_children([child.with_data_driven_start(X) for child in self.children])

    def relevance(self, n_features: int) -> np.ndarray:
        """How fast the covariance falls along each input: inverse squared scale, 0 for unused inputs."""
        return sum((child.relevance(n_features) for child in self.children), np.zeros(n_features))

    def observed_rows(self, X: Any) -> Array:
        """Which rows have a value in every column that this kernel uses: no NaN there."""
        if self.children:
            return reduce(and_, [child.observed_rows(X) for child in self.children])
        xp = namespace(features(X))
        return ~xp.any(xp.isnan(features(X)), axis=1)

    def used_columns(self, n_features: int) -> np.ndarray:
        """Which columns (n_features,) a bound kernel uses."""
        if self.children:
            return reduce(or_, [child.used_columns(n_features) for child in self.children])
        return np.ones(n_features, bool)

    def categorical_columns(self, columns: Columns, n_features: int) -> np.ndarray:
        """Which columns (n_features,) are codes of categories to this kernel, and not numbers."""
        own = [child.categorical_columns(columns, n_features) for child in self.children]
        return reduce(or_, own, np.zeros(n_features, bool))

    @property
    def takes_missing(self) -> bool:
        """Whether rows with NaN have a covariance."""
        return bool(self.children) and all(child.takes_missing for child in self.children)

    @property
    def has_code(self) -> bool:
        """Whether the kernel holds code, which files of models do not."""
        return any(child.has_code for child in self.children)

    @property
    def gram_names(self) -> tuple[str, ...]:
        """Names of the Gram matrices that this kernel takes beside X."""
        return tuple(name for child in self.children for name in child.gram_names)

    @property
    def pairwise(self) -> bool:
        """Whether X holds covariances (a Gram matrix) rather than features."""
        return any(child.pairwise for child in self.children)

    @property
    def view_names(self) -> tuple[str, ...]:
        """Names of the views of every ``WeightedSum`` in this kernel."""
        return tuple(name for child in self.children for name in child.view_names)

    def variations(self, X: Any) -> np.ndarray:
        """For each of ``view_names`` the prior variance of its function about its mean over the rows that have it."""
        return np.concatenate([np.zeros(0), *(child.variations(X) for child in self.children)])

    # ---- names and operators -------------------------------------------------------------------------------

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
        return NotImplemented if other is None else Product((*_flat(Product, self), *_flat(Product, other)))

    __rmul__ = __mul__

    def _times(self, factor: float) -> Kernel:
        """factor * self; a kernel with an amplitude of its own takes the factor into it."""
        if "variance" in self.domains:
            return self.with_params(variance=factor * self.params["variance"])
        return Scaled(self, factor)


def rows_for(kernel: Kernel, X: Any) -> Any:
    """Rows X as a kernel needs them: Gram matrices only for those that use one."""
    return X if kernel.gram_names else features(X)


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
class Featureless(Kernel):
    """Base of kernels that use no column."""

    variance: float = 1.0
    domains: ClassVar = {"variance": POSITIVE}

    def diag(self, X: Any) -> Array:
        return full((X.shape[0],), self.variance, features(X))

    def observed_rows(self, X: Any) -> Array:
        return full((X.shape[0],), 1.0, features(X)) > 0.0

    def used_columns(self, n_features: int) -> np.ndarray:
        return np.zeros(n_features, bool)

    @property
    def takes_missing(self) -> bool:
        return True


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Featureless):
    """k(x, z) = variance: a bias shared by all rows."""

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        K = full((X.shape[0], (X if Z is None else Z).shape[0]), self.variance, features(X))
        return K, lambda G: self._collect({"variance": self.variance * float(namespace(G).sum(G))})


@dataclass(frozen=True, eq=False, repr=False)
class White(Featureless):
    """k(x, x') = variance for a row with itself, 0 otherwise: independent noise on every row."""

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        if Z is not None:
            K = full((X.shape[0], Z.shape[0]), 0.0, features(X))
            return K, lambda G: self._collect({"variance": 0.0})
        variance = self.diag(X)
        K = variance[:, None] * identity(X.shape[0], variance)
        return K, lambda G: self._collect({"variance": self.variance * float(namespace(G).linalg.trace(G))})


@dataclass(frozen=True, eq=False, repr=False)
class Wrapper(Kernel):
    """Base of kernels made from one other."""

    kernel: Kernel

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_per_class(type(self).__name__, [self.kernel])

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def _with_children(self, children: Sequence[Kernel]) -> Self:
        return self._unchecked(kernel=children[0])

    @property
    def label(self) -> str:
        return self.kernel.label


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(Wrapper):
    """variance * kernel; written ``2.0 * RBF()``."""

    variance: float = 1.0
    domains: ClassVar = {"variance": POSITIVE}

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        (base,), (pull,) = self._child_vjps(X, Z)

        def pullback(G: Array) -> np.ndarray:
            return self.variance * self._collect({"variance": sum_product(G, base)}, [pull(G)])

        return self.variance * base, pullback

    def rows_pullback(self, X: Array, Z: Array | None, G: Array) -> tuple[Array, Array | None]:
        return self.kernel.rows_pullback(X, Z, self.variance * G)

    def diag(self, X: Any) -> Array:
        return self.variance * self._child_diags(X)[0]

    def variations(self, X: Any) -> np.ndarray:
        return self.variance * super().variations(X)

    def _child_labels(self) -> list[str]:
        # Scaled(White()) has two variances: the inner one needs a prefix.
        return [self.kernel.label if "variance" in self.kernel.parameters else ""]


@dataclass(frozen=True, eq=False, repr=False)
class Combination(Kernel):
    """Base of kernels made from several; parameter names have each kernel's label, numbered where it repeats."""

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

    def _with_children(self, children: Sequence[Kernel]) -> Self:
        return self._unchecked(kernels=tuple(children))

    def _child_labels(self) -> list[str]:
        labels = [kernel.label for kernel in self.kernels]
        numbered = [f"{label}_{labels[: i + 1].count(label)}" for i, label in enumerate(labels)]
        return [label if labels.count(label) == 1 else name for label, name in zip(labels, numbered, strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Combination):
    """k_1 + k_2 + ...; written ``RBF() + Linear()``."""

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        matrices, pulls = self._child_vjps(X, Z)
        return reduce(add, matrices), lambda G: self._collect({}, [pull(G) for pull in pulls])

    def rows_pullback(self, X: Array, Z: Array | None, G: Array) -> tuple[Array, Array | None]:
        parts = [child.rows_pullback(X, Z, G) for child in self.children]
        return reduce(add, [part[0] for part in parts]), None if Z is None else reduce(add, [part[1] for part in parts])

    def diag(self, X: Any) -> Array:
        return reduce(add, self._child_diags(X))


@dataclass(frozen=True, eq=False, repr=False)
class Product(Combination):
    """k_1 * k_2 * ... elementwise; written ``RBF() * Linear()``."""

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        matrices, pulls = self._child_vjps(X, Z)

        def pullback(G: Array) -> np.ndarray:
            # Products of the others, not K / K_i: a factor may be zero.
            pieces = []
            for i, pull in enumerate(pulls):
                others = [matrix for j, matrix in enumerate(matrices) if j != i]
                pieces.append(pull(reduce(mul, others, G)))
            return self._collect({}, pieces)

        return reduce(mul, matrices), pullback

    def diag(self, X: Any) -> Array:
        return reduce(mul, self._child_diags(X))


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
        return self._unchecked(kernel=children[0] if isinstance(self.kernel, Kernel) else tuple(children))

    def _child_labels(self) -> list[str]:
        return [""] if isinstance(self.kernel, Kernel) else [str(i) for i in range(len(self.kernel))]

    def bind(self, X: Any, n_latent: int = 1, columns: Any = None) -> Kernel:
        kernels = (self.kernel,) * n_latent if isinstance(self.kernel, Kernel) else self.kernel
        if len(kernels) != n_latent:
            raise ValueError(f"PerClass holds {len(kernels)} kernels, but the model has {n_latent} latent functions")
        return replace(self, kernel=tuple(k.bind(X, n_latent, columns) for k in kernels))

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        matrices, pulls = self._child_vjps(X, Z)
        K = namespace(*matrices).stack(matrices)
        return K, lambda G: self._collect({}, [pull(G[c, ...]) for c, pull in enumerate(pulls)])

    def diag(self, X: Any) -> Array:
        """(C, n)"""
        own = self._child_diags(X)
        return namespace(*own).stack(own)

    def relevance(self, n_features: int) -> np.ndarray:
        """(C, n_features)"""
        return np.stack([kernel.relevance(n_features) for kernel in self.children])

    @property
    def view_names(self) -> tuple[str, ...]:
        """None: the views have other shares in every class."""
        return ()

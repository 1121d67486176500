"""Kernels of the scaled distance r^2 = sum_j (x_j - z_j)^2 / length_scale_j^2."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.externals import array_api_compat as compat

from ..numerics.arrays import Array, full, identity, is_numpy, like, namespace, sum_product, to_host
from ..numerics.compiled import jit, jit_sums, over_rows
from ..numerics.linalg import add_to_diagonal, one_thread
from ..numerics.parameters import POSITIVE
from .base import Kernel, Pullback
from .columns import Columns
from .rows import features


def expand_ard(kernel: Kernel, name: str, ard: bool, n_features: int) -> Kernel:
    """Settle a parameter that may hold one value for each input."""
    value, owner = getattr(kernel, name), type(kernel).__name__
    if np.ndim(value) == 0:
        return kernel.with_params({name: np.full(n_features, value)}) if ard else kernel
    if len(value) != n_features:
        raise ValueError(f"{owner}: {name} has {len(value)} values, but the data have {n_features} columns")
    return kernel


#: Numbers of close rows that are gathered at a time on a device.
_GATHERED = 2**24
#: Distances to so few rows are faster by their differences than by a matrix product.
_FEW = 4


def _threads_for(n_features: int) -> AbstractContextManager:
    """Products with few columns are bound by memory: more BLAS threads only slow them down."""
    return one_thread if n_features < 64 else nullcontext()


def squared_distances(A: np.ndarray, B: np.ndarray | None) -> np.ndarray:
    """|a_i - b_j|^2 by one matrix product, with close pairs computed again from their difference.

    The product form loses digits where the distance is small against the norms; those entries are few.
    """
    same = B is None
    B = A if B is None else B
    from_centre, near = _centred(A, B)
    norms_a = np.einsum("ij,ij->i", from_centre, from_centre)
    norms_b = norms_a if same else np.einsum("ij,ij->i", near, near)
    # |a|^2 + |b|^2 - 2 a'b as one product of widened matrices: one pass over the n x n result instead of three.
    left = np.column_stack([-2.0 * from_centre, norms_a, np.ones(len(A))])
    right = np.column_stack([near, np.ones(len(B)), norms_b])
    with _threads_for(A.shape[1]):
        squared = left @ right.T
    over_rows(_mend_close_pairs, len(A), float(len(B)), squared, A, B, norms_a, same)
    return squared


def _centred(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both sets of rows relative to the median of the second, those of the model: the result for one row must depend
    neither on the other rows of the first set nor on a few that lie far away."""
    near = B - (centre := _median(B[:: 1 + len(B) // 256]))
    return near if A is B else A - centre, near


def _median(some: np.ndarray) -> np.ndarray:
    return np.partition(some, len(some) // 2, axis=0)[len(some) // 2]


def _device_centre(B: Array) -> Array:
    """What ``_centred`` subtracts, for an array of a device."""
    return like(_median(to_host(B[:: 1 + B.shape[0] // 256])), B)


@jit_sums
def _few_distances(start, stop, X, Z, inverse_scale, squared):
    """Distances to a few rows from the differences themselves: one pass over X, and no copy of it."""
    for i in range(start, stop):
        for j in range(len(Z)):
            total = 0.0
            for d in range(X.shape[1]):
                step = (X[i, d] - Z[j, d]) * inverse_scale[d]
                total += step * step
            squared[i, j] = total


@jit
def _mend_close_pairs(start, stop, squared, A, B, norms, same):
    """Recompute from the difference every distance that has lost more than four digits to cancellation."""
    for i in range(start, stop):
        threshold = 1e-4 * norms[i]
        for j in range(B.shape[0]):
            if squared[i, j] <= threshold:
                total = 0.0
                if not (same and i == j):
                    for d in range(A.shape[1]):
                        total += (A[i, d] - B[j, d]) ** 2
                squared[i, j] = total


def device_distances(A: Array, B: Array | None) -> Array:
    """|a_i - b_j|^2 as ``squared_distances`` has it, for arrays that take values at index arrays (torch, CuPy)."""
    xp, same = namespace(A), B is None
    B = A if B is None else B
    centre = _device_centre(B)
    A, B = A - centre, B - centre
    norms_a, norms_b = xp.sum(A * A, axis=1), xp.sum(B * B, axis=1)
    squared = A @ B.T
    squared *= -2.0
    squared += norms_a[:, None]
    squared += norms_b
    if same:
        add_to_diagonal(squared, -xp.linalg.diagonal(squared))
    rows, columns = xp.nonzero(squared < 1e-4 * norms_a[:, None])
    size = max(1, _GATHERED // A.shape[1])
    for start in range(0, rows.shape[0], size):
        i, j = rows[start : start + size], columns[start : start + size]
        squared[i, j] = xp.sum((A[i] - B[j]) ** 2, axis=1)
    return squared


def device_scale_gradient(W: Array, A: Array, B: Array | None) -> Array:
    """sum_ij W_ij (a_id - b_jd)^2 for every column d by products; with B = A, W has a diagonal of zeros."""
    xp = namespace(W)
    centre = _device_centre(A if B is None else B)
    A, B = A - centre, (A if B is None else B) - centre
    return xp.sum(W, axis=1) @ (A * A) + xp.sum(W, axis=0) @ (B * B) - 2.0 * xp.sum(A * (W @ B), axis=0)


def _scale_gradient(G: np.ndarray, slope: np.ndarray, A: np.ndarray, B: np.ndarray | None) -> np.ndarray:
    """sum_ij G_ij slope_ij (a_id - b_jd)^2 for every column d, without the n x n x d differences.

    Squares are expanded, so each block of rows costs one product; blocks stay in the cache.
    """
    same = B is None
    A, B = _centred(A, A if B is None else B)
    widened = np.column_stack([B, np.ones(len(B))])
    total = np.zeros(A.shape[1])
    column_sums = np.zeros(len(B))
    size = max(128, 2**16 // len(B))
    for start in range(0, len(A), size):
        rows = slice(start, min(start + size, len(A)))
        W = G[rows] * slope[rows]
        if same:
            # The distance of a row to itself is 0; without it the sums below have no large terms that cancel.
            W[np.arange(len(W)), np.arange(rows.start, rows.stop)] = 0.0
        product = W @ widened
        column_sums += W.sum(axis=0)
        total += product[:, -1] @ (A[rows] ** 2) - 2.0 * np.einsum("id,id->d", A[rows], product[:, :-1])
    return total + column_sums @ (B * B)


@dataclass(frozen=True, eq=False, repr=False)
class Stationary(Kernel):
    """k(x, z) = g(r^2), with one length-scale or (ARD) one for each input.

    Subclasses give ``_profile(r^2) -> (g, -2 g')``, both as matrices; that is all a new stationary kernel needs.
    """

    length_scale: float | np.ndarray = 1.0
    ard: bool = False
    domains: ClassVar = {"length_scale": POSITIVE}

    def _profile(self, squared: Array) -> tuple[Array, Array]:
        raise NotImplementedError

    def _shape_gradient(self, G: Array, squared: Array) -> dict[str, float]:
        """d / d log of the parameters other than the length-scale."""
        return {}

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        X, Z = features(X), features(Z)
        squared = self._distances(X, Z)
        K, slope = self._profile(squared)

        def pullback(G: Array) -> np.ndarray:
            # dK/dlog l_d = -2 g'(r^2) (x_d - z_d)^2 / l_d^2
            ard = np.ndim(self.length_scale) > 0
            own = self._scale_gradients(G, slope, X, Z) if ard else sum_product(G, slope, squared)
            return self._collect({"length_scale": own, **self._shape_gradient(G, squared)})

        return K, pullback

    def rows_pullback(self, X: Array, Z: Array | None, G: Array) -> tuple[Array, Array | None]:
        # dk = -slope (x - z)' (dx - dz) / l^2
        plain = type(self).vjp is Stationary.vjp and type(self)._column_distance is Stationary._column_distance
        if not (plain and self._is_smooth):
            return super().rows_pullback(X, Z, G)
        xp, other = namespace(X), X if Z is None else Z
        W = G * self._profile(self._distances(X, Z))[1]
        squared = like(np.square(np.broadcast_to(self.length_scale, X.shape[1:])), X)
        by_X = (W @ other - xp.sum(W, axis=1)[:, None] * X) / squared
        by_other = (xp.matrix_transpose(W) @ X - xp.sum(W, axis=0)[:, None] * other) / squared
        return (by_X + by_other, None) if Z is None else (by_X, by_other)

    @property
    def _is_smooth(self) -> bool:
        """Whether k has slopes in its rows where two are equal."""
        return True

    def _scale_gradients(self, G: Array, slope: Array, X: Array, Z: Array | None) -> np.ndarray:
        """sum_ij G_ij slope_ij r_ijd^2 for every column d."""
        if self._by_products(X):
            W = G * slope
            if Z is None:
                add_to_diagonal(W, -namespace(W).linalg.diagonal(W))
            scale = like(np.asarray(self.length_scale), X)
            return to_host(device_scale_gradient(W, X / scale, None if Z is None else Z / scale))
        if not is_numpy(X):
            W = G * slope
            parts = [float(namespace(W).sum(W * part)) for part in self._column_distances(X, Z)]
            return np.array(parts) / np.square(self.length_scale)
        with _threads_for(X.shape[1]):
            return _scale_gradient(G, slope, X / self.length_scale, None if Z is None else Z / self.length_scale)

    def _distances(self, X: Array, Z: Array | None) -> Array:
        """r^2 between rows."""
        if self._by_products(X):
            scale = like(np.broadcast_to(self.length_scale, X.shape[1:]), X)
            return device_distances(X / scale, None if Z is None else Z / scale)
        if not is_numpy(X):
            scales = np.broadcast_to(self.length_scale, X.shape[1:]).tolist()
            return sum(part / scale**2 for part, scale in zip(self._column_distances(X, Z), scales, strict=True))
        if Z is None:
            return squared_distances(X / self.length_scale, None)
        if len(Z) > _FEW:
            return squared_distances(X / self.length_scale, Z / self.length_scale)
        squared = np.empty((len(X), len(Z)))
        inverse_scale = np.broadcast_to(1.0 / np.asarray(self.length_scale), X.shape[1:]).astype(float)
        over_rows(_few_distances, len(X), 0.5 * Z.size, X, Z, inverse_scale, squared)
        return squared

    def _by_products(self, X: Array) -> bool:
        """Whether distances on a device come from products of matrices, and not column by column."""
        plain = type(self)._column_distance is Stationary._column_distance
        return plain and (compat.is_torch_array(X) or compat.is_cupy_array(X))

    def _column_distances(self, X: Array, Z: Array | None) -> Iterator[Array]:
        """Squared distances (n, m) in each column, from the differences themselves: exact, and for any namespace."""
        other = X if Z is None else Z
        # The distance of a row to itself is 0.
        apart = 1.0 - identity(X.shape[0], X) if Z is None else 1.0
        for d in range(X.shape[1]):
            yield apart * self._column_distance(X[:, d][:, None], other[:, d][None, :])

    def _column_distance(self, x: Array, z: Array) -> Array:
        return (x - z) ** 2

    def diag(self, X: Any) -> Array:
        return full((X.shape[0],), 1.0, features(X))

    def bind(self, X: Any, n_latent: int = 1, columns: Any = None) -> Kernel:
        self._check_columns(Columns.of(columns))
        return expand_ard(self, "length_scale", self.ard, X.shape[1])

    def _check_columns(self, columns: Columns) -> None:
        columns.refuse_categories(type(self).__name__)

    def relevance(self, n_features: int) -> np.ndarray:
        return np.broadcast_to(1.0 / np.square(self.length_scale), (n_features,)).copy()


@dataclass(frozen=True, eq=False, repr=False)
class RBF(Stationary):
    """exp(-r^2 / 2), the squared exponential. GR06 write it with phi_d = 1 / (2 length_scale_d^2)."""

    def _profile(self, squared: Array) -> tuple[Array, Array]:
        if not is_numpy(squared):
            K = namespace(squared).exp(-0.5 * squared)
            return K, K
        K = np.empty_like(squared)

        def fill(start: int, stop: int) -> None:
            np.multiply(squared[start:stop], -0.5, out=K[start:stop])
            np.exp(K[start:stop], out=K[start:stop])

        over_rows(fill, len(K), 3.0 * K.shape[1])
        return K, K


@dataclass(frozen=True, eq=False, repr=False)
class Matern(Stationary):
    """Matern kernel with nu = 0.5 (Ornstein-Uhlenbeck), 1.5 or 2.5."""

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"Matern: nu must be 0.5, 1.5 or 2.5 (RBF is the limit), got {self.nu!r}")

    @property
    def _is_smooth(self) -> bool:
        return self.nu > 0.5

    def _profile(self, squared: Array) -> tuple[Array, Array]:
        xp = namespace(squared)
        r = xp.sqrt(2.0 * self.nu * squared)
        decay = xp.exp(-r)
        if self.nu == 0.5:
            # The slope 1/r is infinite at r = 0, where it multiplies a zero difference; their product is at most r.
            if is_numpy(r):
                return decay, np.divide(decay, r, out=np.zeros_like(r), where=r > 1e-8)
            return decay, xp.where(r > 1e-8, decay / xp.maximum(r, xp.full_like(r, 1e-8)), xp.zeros_like(r))
        if self.nu == 1.5:
            return (1.0 + r) * decay, 3.0 * decay
        return (1.0 + r + r * r / 3.0) * decay, 5.0 / 3.0 * (1.0 + r) * decay


@dataclass(frozen=True, eq=False, repr=False)
class RationalQuadratic(Stationary):
    """(1 + r^2 / (2 alpha))^-alpha: a scale mixture of RBF kernels."""

    alpha: float = 1.0
    domains: ClassVar = {"length_scale": POSITIVE, "alpha": POSITIVE}

    def _profile(self, squared: Array) -> tuple[Array, Array]:
        xp = namespace(squared)
        log_base = xp.log1p(squared / (2.0 * self.alpha))
        return xp.exp(-self.alpha * log_base), xp.exp(-(self.alpha + 1.0) * log_base)

    def _shape_gradient(self, G: Array, squared: Array) -> dict[str, float]:
        xp = namespace(squared)
        ratio = squared / (2.0 * self.alpha)
        log_base = xp.log1p(ratio)
        derivative = xp.exp(-self.alpha * log_base) * (ratio / (1.0 + ratio) - log_base)
        return {"alpha": self.alpha * float(sum_product(G, derivative))}

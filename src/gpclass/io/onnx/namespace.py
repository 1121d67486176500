"""The functions of the array API standard that kernels and posteriors call, for ``RecordedArray``.

ONNX Runtime computes neither the error function nor the arc sine in double precision; ``special`` makes them from
operators that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .graph import ROWS, ExportError, Graph, RecordedArray, broadcast_shapes, elementwise

exp = elementwise("Exp", np.exp)
log = elementwise("Log", np.log)
sqrt = elementwise("Sqrt", np.sqrt)
sin = elementwise("Sin", np.sin)
cos = elementwise("Cos", np.cos)
tanh = elementwise("Tanh", np.tanh)
abs = elementwise("Abs", np.abs)
ceil = elementwise("Ceil", np.ceil)
floor = elementwise("Floor", np.floor)
maximum = elementwise("Max", np.maximum)
minimum = elementwise("Min", np.minimum)
isnan = elementwise("IsNaN", np.isnan, bool)


def log1p(x: RecordedArray) -> RecordedArray:
    """log(1 + x): an absolute error of 1e-16, which is all that covariances need."""
    return log(1.0 + x)


def asin(x: RecordedArray) -> RecordedArray:
    from .special import arc_sine

    return arc_sine(x)


def where(condition: RecordedArray, x: Any, y: Any) -> RecordedArray:
    graph = condition.graph
    kind = next((v.dtype for v in (x, y) if isinstance(v, RecordedArray)), np.dtype(float))
    arrays = [condition, graph.array(x, kind), graph.array(y, kind)]
    shape = broadcast_shapes(*(array.shape for array in arrays))
    return graph.apply("Where", np.where, arrays, shape, kind)


def clip(x: RecordedArray, low: Any, high: Any) -> RecordedArray:
    return minimum(maximum(x, low), high)


# ---- sums and extremes -----------------------------------------------------------------------------------


def _reduction(op: str, function: Callable[..., Any]) -> Callable[..., RecordedArray]:
    def reduce(x: RecordedArray, axis: int | None = None, keepdims: bool = False) -> RecordedArray:
        axes = tuple(range(x.ndim)) if axis is None else (axis % x.ndim,)
        kept = [(1,) if a in axes else (size,) for a, size in enumerate(x.shape)]
        shape = tuple(s[0] for a, s in enumerate(kept) if keepdims or a not in axes)

        def compute(value: np.ndarray) -> np.ndarray:
            return function(value, axis=axes, keepdims=keepdims)

        return x.graph.apply(op, compute, [x], shape, x.dtype, np.array(axes), keepdims=int(keepdims))

    return reduce


sum = _reduction("ReduceSum", np.sum)
max = _reduction("ReduceMax", np.max)
min = _reduction("ReduceMin", np.min)
prod = _reduction("ReduceProd", np.prod)


def any(x: RecordedArray, axis: int | None = None) -> RecordedArray:
    return sum(astype(x, np.float64), axis=axis) > 0.0


def argmax(x: RecordedArray, axis: int) -> RecordedArray:
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    return x.graph.emit("ArgMax", [x], shape, np.int64, axis=axis, keepdims=0)


# ---- shapes ----------------------------------------------------------------------------------------------


def permute_dims(x: RecordedArray, axes: tuple[int, ...]) -> RecordedArray:
    return x.transposed(tuple(axes))


def matrix_transpose(x: RecordedArray) -> RecordedArray:
    return x.transposed((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def matmul(x: RecordedArray, y: RecordedArray) -> RecordedArray:
    return x @ y


def concat(arrays: Sequence[RecordedArray], axis: int = 0) -> RecordedArray:
    first = arrays[0]
    axis = axis % first.ndim
    shape = list(first.shape)
    shape[axis] = int(np.sum([array.shape[axis] for array in arrays]))

    def compute(*values: np.ndarray) -> np.ndarray:
        return np.concatenate(values, axis)

    return first.graph.apply("Concat", compute, arrays, tuple(shape), first.dtype, axis=axis)


def stack(arrays: Sequence[RecordedArray], axis: int = 0) -> RecordedArray:
    place: tuple[Any, ...] = (*(slice(None),) * axis, None)
    return concat([array[place] for array in arrays], axis)


def take(x: RecordedArray, indices: RecordedArray, axis: int = 0) -> RecordedArray:
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])

    def compute(values: np.ndarray, places: np.ndarray) -> np.ndarray:
        return np.take(values, places, axis)

    return x.graph.apply("Gather", compute, [x, indices], shape, x.dtype, axis=axis)


def searchsorted(x1: RecordedArray, x2: RecordedArray, *, side: str = "left") -> RecordedArray:
    """How many of the ascending x1 (m,) are below each of x2 (n,), or at most that."""
    below = x1[None, :] <= x2[:, None] if side == "right" else x1[None, :] < x2[:, None]
    return astype(sum(astype(below, np.float64), axis=1), np.int64)


# ---- making arrays ---------------------------------------------------------------------------------------


def asarray(value: Any, dtype: Any = None, device: Graph | None = None, copy: bool | None = None) -> RecordedArray:
    if isinstance(value, RecordedArray):
        return value if dtype is None else astype(value, dtype)
    assert device is not None
    return device.constant(np.asarray(value, dtype))


def full(shape: tuple[int, ...], value: float, *, dtype: Any = None, device: Graph | None = None) -> RecordedArray:
    assert device is not None
    if ROWS not in shape:
        return device.constant(np.full(shape, value, dtype))
    sizes = concat([device.n_rows() if size == ROWS else device.constant(np.array([size])) for size in shape])
    return device.emit("Expand", [device.constant(np.asarray(value, dtype)), sizes], shape, dtype)


def full_like(x: RecordedArray, value: float) -> RecordedArray:
    return full(x.shape, value, dtype=x.dtype, device=x.graph)


def zeros_like(x: RecordedArray) -> RecordedArray:
    return full_like(x, 0.0)


def eye(n: int, *, dtype: Any = None, device: Graph | None = None) -> RecordedArray:
    assert device is not None
    return device.constant(np.eye(n, dtype=dtype))


def astype(x: RecordedArray, dtype: Any, copy: bool = False) -> RecordedArray:
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x
    return x.graph.apply("Cast", lambda value: value.astype(dtype), [x], x.shape, dtype, to=dtype.name)


class linalg:  # noqa: N801
    """Systems of equations whose matrix is known: they become products with its inverse."""

    @staticmethod
    def solve(A: RecordedArray, B: RecordedArray) -> RecordedArray:
        if A.value is None:
            raise ExportError("expected equations whose matrix is known, got one that depends on the rows")
        upper = not np.any(np.tril(A.value, -1))
        # A factor and its transpose share one constant.
        lower = A.value.T if upper else A.value
        inverse = A.graph.constant(solve_triangular(lower, np.eye(len(lower)), lower=True))
        return (A.graph.emit("Transpose", [inverse], A.shape, A.dtype, perm=(1, 0)) if upper else inverse) @ B

"""Array namespaces: the same code for NumPy, CuPy and torch, and the way of an array to the host and back.

Functions take the namespace from their arguments (the array API standard). NumPy's own module stands for NumPy arrays,
so that nothing is wrapped on the CPU.
"""

from collections.abc import Callable
from functools import reduce
from operator import mul
from typing import Any, TypeAlias

import numpy as np
from sklearn.externals import array_api_compat as compat

#: An array of any namespace; the standard gives no type for it.
Array: TypeAlias = Any


def is_numpy(x: Any) -> bool:
    """Whether x is a NumPy array or scalar."""
    return isinstance(x, (np.ndarray, np.generic))


def namespace(*arrays: Array) -> Any:
    """The module with the functions for these arrays."""
    return np if all(map(is_numpy, arrays)) else compat.array_namespace(*arrays)


def device(x: Array) -> Any:
    """The device that holds x."""
    return "cpu" if is_numpy(x) else compat.device(x)


def has_values(x: Array) -> bool:
    """Whether the values of x are there; a graph of operators is recorded (``io.onnx``) without them."""
    return is_numpy(x) or getattr(x, "value", x) is not None


def to_host(x: Array) -> np.ndarray:
    """x as a NumPy array."""
    if is_numpy(x):
        return x
    if compat.is_torch_array(x):
        return x.detach().cpu().numpy()
    if compat.is_cupy_array(x):
        return x.get()
    xp = namespace(x)
    return np.asarray(x.to_device(xp.Device("CPU_DEVICE")) if compat.is_array_api_strict_namespace(xp) else x)


def like(x: Array, reference: Array) -> Array:
    """x in the namespace and on the device of ``reference``, and with its dtype where x has to move."""
    if is_numpy(reference):
        return to_host(x)
    xp = namespace(reference)
    if not is_numpy(x) and namespace(x) is xp and device(x) == device(reference):
        return x
    # A copy of its own: torch would share the memory, and warns where that is read-only.
    return xp.asarray(np.array(to_host(x), order="C"), dtype=reference.dtype, device=device(reference))


def on_host(function: Callable[..., Any], *arrays: Array) -> Any:
    """function(*arrays), computed with NumPy.

    Arrays of another namespace are copied to the host and the results, which may be a tuple, are copied back. A result
    that is a function, such as a pullback, is wrapped in the same way.
    """
    reference = next((x for x in arrays if not is_numpy(x)), None)
    if reference is None:
        return function(*arrays)
    return _back(function(*map(to_host, arrays)), reference)


def _back(result: Any, reference: Array) -> Any:
    if isinstance(result, tuple):
        return tuple(_back(part, reference) for part in result)
    return (lambda *arrays: on_host(result, *arrays)) if callable(result) else like(result, reference)


def cast(x: Array, dtype: Any) -> Array:
    """x in the precision of a NumPy dtype, itself where it has that already."""
    if is_numpy(x):
        return np.asarray(x, dtype)
    xp = namespace(x)
    return xp.astype(x, getattr(xp, np.dtype(dtype).name), copy=False)


def cast_as(x: Array, reference: Array) -> Array:
    """x in the precision of another array of its namespace."""
    return np.asarray(x, reference.dtype) if is_numpy(x) else namespace(x).astype(x, reference.dtype, copy=False)


def full(shape: tuple[int, ...], value: float, reference: Array) -> Array:
    """An array with one value throughout, beside ``reference``; of double precision in NumPy."""
    if is_numpy(reference):
        return np.full(shape, value, dtype=float)
    return namespace(reference).full(shape, value, dtype=reference.dtype, device=device(reference))


def identity(n: int, reference: Array) -> Array:
    """The identity matrix, beside ``reference`` and with its dtype."""
    return namespace(reference).eye(n, dtype=reference.dtype, device=device(reference))


def take(A: Array, which: Any, axis: int = 0) -> Array:
    """The rows (or columns) of A that a slice, indices or a boolean mask on the host select."""
    if is_numpy(A):
        return A[:, which] if axis else A[which]
    xp = namespace(A)
    places = np.arange(A.shape[axis])[which]
    return xp.take(A, xp.asarray(places, device=device(A)), axis=axis)


def sum_product(*factors: Array, axis: int | None = None) -> Any:
    """Sum of the elementwise product of matrices: over all entries as a number, or along one axis as a vector."""
    if is_numpy(factors[0]):
        if axis is None and len(factors) == 2:
            return np.vdot(*factors)
        return np.einsum(",".join(["ij"] * len(factors)) + "->" + {None: "", 0: "j", 1: "i"}[axis], *factors)
    total = namespace(*factors).sum(reduce(mul, factors), axis=axis)
    return float(total) if axis is None else total

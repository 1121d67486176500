"""LAPACK and BLAS in place and without the interpreter lock, so that threads can factorise side by side.

SciPy's Python wrappers hold the lock while they work. The routines behind them are published for Cython
(``scipy.linalg.cython_lapack``), and a foreign function called through ctypes gives the lock up. All matrices are in
LAPACK's (Fortran) order.
"""

import ctypes
from ctypes import POINTER, byref, c_char, c_double, c_int
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cython_blas, cython_lapack

_char, _int, _double = POINTER(c_char), POINTER(c_int), POINTER(c_double)


def _routine(module: Any, name: str, *arguments: Any) -> Any:
    """The routine that a Cython module of SciPy publishes under this name."""
    capsule = module.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *arguments)(address)


_dpotrf = _routine(cython_lapack, "dpotrf", _char, _int, _double, _int, _int)
_dpotri = _routine(cython_lapack, "dpotri", _char, _int, _double, _int, _int)
_dtrtri = _routine(cython_lapack, "dtrtri", _char, _char, _int, _double, _int, _int)
_dtrsm = _routine(cython_blas, "dtrsm", _char, _char, _char, _char, _int, _int, _double, _double, _int, _double, _int)


def _pointer(A: np.ndarray) -> Any:
    if not (A.flags.f_contiguous and A.dtype == np.float64):
        raise ValueError(f"expected doubles in Fortran order, got {A.dtype} with strides {A.strides}")
    return A.ctypes.data_as(_double)


def _flag(letter: bytes) -> Any:
    return byref(c_char(letter))


def _in_place(routine: Any, A: np.ndarray, *flags: bytes) -> int:
    """Run a routine on a square matrix; what it reports."""
    n, info = c_int(len(A)), c_int()
    routine(*map(_flag, flags), byref(n), _pointer(A), byref(n), byref(info))
    return info.value


def factorise(A: np.ndarray) -> bool:
    """The lower triangle of A becomes its Cholesky factor; False if A is not positive definite."""
    return _in_place(_dpotrf, A, b"L") == 0


def invert_factored(L: np.ndarray) -> None:
    """The lower triangle of L becomes that of (L L')^-1."""
    _refuse_singular(_in_place(_dpotri, L, b"L"))


def invert_triangle(L: np.ndarray) -> None:
    """The lower triangle of L becomes that of L^-1."""
    _refuse_singular(_in_place(_dtrtri, L, b"L", b"N"))


def _refuse_singular(info: int) -> None:
    if info:
        raise LinAlgError(f"expected a regular factor, got a zero at position {info} of its diagonal")


def solve_triangle(L: np.ndarray, B: np.ndarray, transposed: bool = False) -> None:
    """B becomes L^-1 B, or L^-T B where ``transposed``."""
    n, columns, one = c_int(len(L)), c_int(B.shape[1]), c_double(1.0)
    flags = map(_flag, (b"L", b"L", b"T" if transposed else b"N", b"N"))
    _dtrsm(*flags, byref(n), byref(columns), byref(one), _pointer(L), byref(n), _pointer(B), byref(n))

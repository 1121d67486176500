"""Compiled scalars and the way to run a compiled loop over rows on all cores.

Kernels are compiled with ``nogil`` and shared out by plain threads over row ranges. That is as fast as Numba's own
parallel loops for work of this kind, compiles several times faster, and stays safe when a caller uses threads or
forks.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from math import exp
from threading import current_thread
from typing import Any

import numba
import numpy as np
from scipy.special import erfcx

from .compiling import announce

announce()

jit = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
#: For long sums: without leave to reorder them the compiler cannot use vector instructions.
jit_sums = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})

INV_SQRT_2PI = 1.0 / np.sqrt(2.0 * np.pi)
#: beyond this many standard deviations Phi(x) is 1 and phi(x) is 0 in double precision, for our purposes
FAR = 38.0


def mills_coefficients(degree: int = 20) -> tuple[float, ...]:
    """A polynomial for (1 + a) exp(a^2/2) Phi(-a) in t = (a - 5.3) / (a + 5.3), a >= 0: its coefficients fall."""
    t = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    a = 5.3 * (1.0 + t) / (1.0 - t)
    values = (1.0 + a) * 0.5 * erfcx(a / np.sqrt(2.0))
    return tuple(np.polynomial.chebyshev.cheb2poly(np.polynomial.chebyshev.chebfit(t, values, degree)).tolist())


_MILLS = mills_coefficients()


@jit
def mills(a):
    """exp(a^2/2) Phi(-a) for a >= 0, to 1e-15 relative.

    One division for the variable and the factor of the polynomial, whose terms are summed in groups (Estrin's scheme):
    a chain of twenty dependent steps would take three times as long.
    """
    c = _MILLS
    one, shifted = 1.0 + a, a + 5.3
    inverse = 1.0 / (one * shifted)
    t = (a - 5.3) * one * inverse
    t2 = t * t
    t4 = t2 * t2
    t8 = t4 * t4
    p0 = (c[0] + c[1] * t) + (c[2] + c[3] * t) * t2
    p1 = (c[4] + c[5] * t) + (c[6] + c[7] * t) * t2
    p2 = (c[8] + c[9] * t) + (c[10] + c[11] * t) * t2
    p3 = (c[12] + c[13] * t) + (c[14] + c[15] * t) * t2
    p4 = (c[16] + c[17] * t) + (c[18] + c[19] * t) * t2
    return ((p0 + p1 * t4) + ((p2 + p3 * t4) + (p4 + c[20] * t4) * t8) * t8) * shifted * inverse


@jit
def normal_parts(x):
    """(mantissa, exponent, phi/Phi) with Phi(x) = mantissa * exp(exponent)."""
    if x <= 0.0:
        m = mills(-x)
        return m, -0.5 * x * x, INV_SQRT_2PI / m
    if x >= FAR:
        return 1.0, 0.0, 0.0
    e = exp(-0.5 * x * x)
    p = 1.0 - e * mills(x)
    return p, 0.0, INV_SQRT_2PI * e / p


def n_threads() -> int:
    """Threads to use: all cores, or what NUMBA_NUM_THREADS allows (process pools set it for their workers)."""
    config: Any = numba.config  # its names are set at run time
    return config.NUMBA_NUM_THREADS


def over_rows(kernel: Callable[..., None], n_rows: int, cost: float, *args: Any) -> None:
    """Run ``kernel(start, stop, *args)`` over all rows, in threads when the work (about ``cost`` ns a row) pays."""
    threads = n_threads()
    if threads == 1 or n_rows * cost < _WORTH_THREADS or current_thread().name.startswith(_WORKER):
        kernel(0, n_rows, *args)
        return
    # More pieces than threads, because rows differ in cost.
    pieces = min(n_rows, 3 * threads)
    edges = np.linspace(0, n_rows, pieces + 1).astype(int)
    jobs: list[Future] = []
    try:
        for a, b in pairwise(edges):
            jobs.append(thread_pool(os.getpid(), _WORKER).submit(kernel, a, b, *args))
        for job in jobs:
            job.result()
    finally:
        wait(jobs)  # whatever happened, nobody writes any more when this returns


#: Nanoseconds of work below which handing it to other threads costs more CPU time than it saves.
_WORTH_THREADS = 1e6
#: Name of our threads: work within them is not shared out again, or all could end up waiting for each other.
_WORKER = "gpclass-rows"


@cache
def thread_pool(process: int, name: str) -> ThreadPoolExecutor:
    """Threads that stay: starting them anew takes longer than many a loop. A forked process needs its own."""
    return ThreadPoolExecutor(n_threads(), thread_name_prefix=name)


def as_places(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Labels as whole numbers from 0 to below ``n_classes``: compiled loops index by them without looking."""
    places = np.ascontiguousarray(labels, dtype=np.int64)
    if len(places) and (places.min() < 0 or places.max() >= n_classes):
        raise ValueError(f"expected labels from 0 to {n_classes - 1}, got labels from {places.min()} to {places.max()}")
    return places

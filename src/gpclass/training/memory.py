"""Refusals of fits that cannot fit into memory, before any work is done."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from ..inference.active.ivm import IVM
from ..inference.problem import Problem
from ..kernels.rows import features
from ..numerics.devices import HOST, Place
from .trained import Settings


def check_memory(n_rows: int, n_matrices: int, instead: tuple[str, ...], place: Place = HOST) -> None:
    """Refuse n x n matrices that do not fit in a place; ``instead`` names estimators without them."""
    needed = 8 * n_rows**2 * n_matrices
    available = place.free_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"an exact fit on {n_rows} rows needs about {needed / 2**30:.1f} GiB for {n_matrices} matrices of "
            f"{n_rows} x {n_rows}, and {place} has {available / 2**30:.1f} GiB free; {_other_ways(instead)}"
        )


def _other_ways(instead: tuple[str, ...]) -> str:
    need = "need" if len(instead) > 1 else "needs"
    return f"use {' or '.join(instead)}, which {need} no such matrices, or fit on fewer rows"


P = ParamSpec("P")
R = TypeVar("R")


def refusing_too_much(
    train: Callable[Concatenate[Problem, Settings, P], R],
) -> Callable[Concatenate[Problem, Settings, P], R]:
    """The same training, in which memory that a device does not have is a MemoryError that says what would work."""

    @wraps(train)
    def careful(problem: Problem, settings: Settings, *args: P.args, **named: P.kwargs) -> R:
        place = Place.of(features(problem.X))
        with place.refusing_too_much(f"{problem.n_rows} rows", _other_ways(settings.instead)):
            return train(problem, settings, *args, **named)

    return careful


def check_active_memory(rows: list[int], ivm: IVM, n_groups: int) -> None:
    """Refuse n x S arrays that do not fit, one for each of some numbers of rows."""
    needed = sum(n * ivm.size(n) for n in rows) * n_groups * np.dtype(ivm.dtype).itemsize
    available = HOST.free_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{ivm.size(sum(rows))} active rows of {sum(rows)} need {needed / 2**30:.1f} GiB for {n_groups} matrices "
            f"of that shape, and this machine has {available / 2**30:.1f} GiB free; choose a smaller n_active, "
            "dtype='float32', or update='vb', for which all classes share one matrix"
        )

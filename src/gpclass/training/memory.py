"""Refusals of fits that cannot fit into memory, before any work is done."""

import os
from pathlib import Path

import numpy as np

from ..inference.active.ivm import IVM


def available_memory() -> int | None:
    """Bytes available without swapping, or None where the system does not say."""
    limits = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
        group = Path("/sys/fs/cgroup/memory.max")
        if group.exists() and (text := group.read_text().strip()).isdigit():
            limits.append(int(text))
    except OSError:
        pass
    if not limits:
        try:
            limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (ValueError, OSError, AttributeError):
            return None
    return min(limits)


def check_memory(n_rows: int, n_matrices: int, instead: tuple[str, ...]) -> None:
    """Refuse n x n matrices that do not fit; ``instead`` names estimators without them."""
    needed = 8 * n_rows**2 * n_matrices
    available = available_memory()
    if available is not None and needed > available:
        need = "need" if len(instead) > 1 else "needs"
        raise MemoryError(
            f"an exact fit on {n_rows} rows needs about {needed / 2**30:.1f} GiB for {n_matrices} matrices of "
            f"{n_rows} x {n_rows}, and this machine has {available / 2**30:.1f} GiB free; use {' or '.join(instead)}, "
            f"which {need} no such matrices, or fit on fewer rows"
        )


def check_active_memory(rows: list[int], ivm: IVM, n_groups: int) -> None:
    """Refuse n x S arrays that do not fit, one for each of some numbers of rows."""
    needed = sum(n * ivm.size(n) for n in rows) * n_groups * np.dtype(ivm.dtype).itemsize
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{ivm.size(sum(rows))} active rows of {sum(rows)} need {needed / 2**30:.1f} GiB for {n_groups} matrices "
            f"of that shape, and this machine has {available / 2**30:.1f} GiB free; choose a smaller n_active, "
            "dtype='float32', or update='vb', for which all classes share one matrix"
        )

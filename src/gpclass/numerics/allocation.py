"""Memory that stays with the process between evaluations.

The C library of Linux hands free memory back to the system as soon as there is more of it than twice the largest block
that was ever freed (the dynamic thresholds of mallopt(3)). A fit of a few hundred rows frees and allocates matrices of
some hundred kB at every evaluation, and the system clears each page of them again: a third of the time. Blocks of up to
32 MB are taken from the heap instead, of which up to 64 MB stay. This holds whatever the environment says: Dask's
workers start with ``MALLOC_TRIM_THRESHOLD_=65536``, and sums over blocks would take a third longer.
"""

import ctypes
from contextlib import suppress

#: Names of mallopt(3), and what is set: bytes.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEPT, _LARGEST_ON_HEAP = 64 * 2**20, 32 * 2**20


def keep_memory() -> None:
    """Have the C library keep what is freed, from now on; without effect where it has no such setting."""
    with suppress(AttributeError, OSError, TypeError):  # another C library, or Windows
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST_ON_HEAP)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)

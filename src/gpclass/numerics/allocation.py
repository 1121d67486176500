"""Memory that stays with the process between evaluations.

The C library of Linux hands free memory back to the system as soon as there is more of it than twice the largest block
that was ever freed (the dynamic thresholds of mallopt(3)). A fit of a few hundred rows frees and allocates matrices of
some hundred kB at every evaluation, and the system clears each page of them again: a third of the time. One free block
near the largest size that counts, never touched, has up to 64 MB kept.
"""

import numpy as np

#: Bytes; blocks above 32 MB leave the thresholds as they are.
_LARGEST_COUNTED = 31 * 2**20


def keep_memory() -> None:
    """Have the C library keep what is freed, from now on; without effect where it does so anyway."""
    np.empty(_LARGEST_COUNTED, np.uint8)

"""Arrays of other namespaces than NumPy's, for tests: array_api_strict on a device of its own, and torch."""

import os

import numpy as np
import pytest

#: Both are optional.
NAMESPACES = ("array_api_strict", "torch")

#: scikit-learn passes arrays of other namespaces on where SciPy does too, which is settled when SciPy is imported.
needs_dispatch = pytest.mark.skipif("SCIPY_ARRAY_API" not in os.environ, reason="SCIPY_ARRAY_API is not set")


def moved(x, name):
    """A NumPy array in another namespace; skips the test where that is not installed."""
    xp = pytest.importorskip(name)
    own = np.array(x)
    return xp.asarray(own, device=xp.Device("device1")) if name == "array_api_strict" else xp.from_numpy(own)

"""Settings of engines: names that mean the same everywhere are checked alike."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np


def _between(value: Any, low: float, high: float) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and low < float(value) <= high


#: What a setting of this name must be, and whether a value is.
_EXPECTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "tol": ("a positive number", lambda value: _between(value, 0.0, np.finfo(float).max)),
    "damping": ("above 0 and at most 1", lambda value: _between(value, 0.0, 1.0)),
    "dtype": ("'float64' or 'float32'", lambda value: isinstance(value, str) and value in ("float64", "float32")),
}


def check_settings(engine: Any, **least: int) -> None:
    """Refuse counts that are no whole number of at least so many, and what is no tol, damping or dtype."""
    check_counts(engine, **least)
    for name in _EXPECTED:
        if hasattr(engine, name):
            check_setting(name, getattr(engine, name), f"{type(engine).__name__}: ")


def check_setting(name: str, value: Any, owner: str = "") -> None:
    """Refuse a value that is no tol, damping or dtype."""
    expected, holds = _EXPECTED[name]
    if not holds(value):
        raise ValueError(f"{owner}{name} must be {expected}, got {value!r}")


def check_counts(settings: Any, **least: int) -> None:
    """Refuse settings that are no whole number of at least so many."""
    for name, smallest in least.items():
        value = getattr(settings, name)
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not (whole and value >= smallest):
            raise ValueError(
                f"{type(settings).__name__}: {name} must be a whole number of at least {smallest}, got {value!r}"
            )

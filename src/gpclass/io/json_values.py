"""Conversion of values for JSON."""

from math import isfinite
from typing import Any


def plain(value: Any) -> Any:
    """NumPy values as plain Python values; NaN and infinity, which JSON does not have, become None."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value

"""Values as JSON knows them."""

from __future__ import annotations

from math import isfinite
from typing import Any


def plain(value: Any) -> Any:
    """NumPy's values as those of JSON, which knows no NaN and no infinity: those become None."""
    if isinstance(value, dict):
        return {str(name): plain(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value

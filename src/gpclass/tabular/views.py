"""Sources of information about the rows of a table, and the kernel that weighs them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from .columns import Schema
from .reading import TableError, listed


def view_columns(views: Mapping[str, Collection[str]], schema: Schema) -> dict[str, list[str]]:
    """The columns of each source by name; patterns such as "fou_*" stand for several, and a name for itself: x[1] is
    no pattern where there is such a column."""
    names = {own.name for own in schema.columns}

    def is_like(name: str, pattern: str) -> bool:
        return name == pattern if pattern in names else fnmatchcase(name, pattern)

    found = {}
    for name, patterns in views.items():
        columns = [own for own in schema.used if any(is_like(own.name, pattern) for pattern in patterns)]
        if not columns:
            raise TableError(f"view {name!r}: expected columns named like {listed(list(patterns))}, got none")
        if len({own.kind for own in columns}) > 1:
            raise TableError(f"view {name!r}: expected columns of numbers or of categories, got both; make two views")
        found[name] = [own.name for own in columns]
    return found


def view_kernel(views: Mapping[str, list[str]], schema: Schema) -> Any:
    """A weighted sum over sources, each with the kernel that its columns need."""
    from ..kernels import RBF, Categorical, View, WeightedSum

    kinds = {own.name: own.kind for own in schema.used}
    kernels = {}
    for name, columns in views.items():
        size = float(np.sqrt(len(columns)))
        kernels[name] = View(RBF(size) if kinds[columns[0]] == "number" else Categorical(size), columns)
    try:
        return 100.0 * WeightedSum(kernels)
    except ValueError as error:
        raise TableError(str(error)) from None

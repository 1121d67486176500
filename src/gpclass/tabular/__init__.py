"""Models of tables: from a file to a fitted, scored, explained and saved model. What the command line is made of."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .columns import Column, Schema
    from .comparing import compare_on_table
    from .explaining import explain
    from .model import TableModel
    from .reading import Table, TableError, from_frame, read_table

#: Where each name lives. A wrong name of a column should not wait for everything that a fit needs.
_HOMES = {
    "Column": "columns",
    "Schema": "columns",
    "Table": "reading",
    "TableError": "reading",
    "TableModel": "model",
    "compare_on_table": "comparing",
    "explain": "explaining",
    "from_frame": "reading",
    "read_table": "reading",
}

__all__ = [
    "Column",
    "Schema",
    "Table",
    "TableError",
    "TableModel",
    "compare_on_table",
    "explain",
    "from_frame",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

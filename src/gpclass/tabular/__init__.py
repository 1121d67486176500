"""Models of tables: from a file to a fitted, scored, explained and saved model; the basis of the command line."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .columns import Column, Schema
    from .comparison import compare_on_table
    from .deciding import Decisions
    from .drift import check_drift
    from .explanation import explain
    from .model import TableModel
    from .querying import TableQuery, query_table
    from .row_explanation import explain_row
    from .tables import Table, TableError, from_frame, read_table

#: Modules are imported on first use, so that errors about a file do not wait for the imports of a fit.
_MODULES = {
    **dict.fromkeys(["Column", "Schema"], "columns"),
    **dict.fromkeys(["Table", "TableError", "from_frame", "read_table"], "tables"),
    **dict.fromkeys(["TableQuery", "query_table"], "querying"),
    **{"TableModel": "model", "compare_on_table": "comparison", "Decisions": "deciding", "explain": "explanation"},
    **{"check_drift": "drift", "explain_row": "row_explanation"},
}

__all__ = ["Column", "Decisions", "Schema", "Table", "TableError", "TableModel", "TableQuery", "check_drift"]
__all__ += ["compare_on_table", "explain", "explain_row", "from_frame", "query_table", "read_table"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Models of tables: from a file to a fitted, scored, explained and saved model. What the command line is made of."""

from .columns import Column, Schema
from .comparing import compare_on_table
from .explaining import explain
from .model import TableModel
from .reading import Table, TableError, from_frame, read_table

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

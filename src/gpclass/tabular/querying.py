"""Which rows of a table to label next."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..evaluation.query import query
from . import targets
from .evaluation import unknown_categories_ignored
from .model import TableModel
from .tables import Table, TableError, from_frame


class TableQuery(NamedTuple):
    """Positions (n,) in the table of the rows to label, the most informative first, their scores (n,), and notes."""

    rows: np.ndarray
    scores: np.ndarray
    notes: list[str]


def query_table(model: TableModel, table: Any, n: int = 10, strategy: str = "margin") -> TableQuery:
    """``gpclass.query`` for a model of a table; rows that have a label in the target column are no candidates."""
    check_is_fitted(model)
    if model.task_ == "regression":
        raise TableError(f"expected a model of labels to choose rows for, got a regression of {model.target!r}")
    table = table if isinstance(table, Table) else from_frame(table)
    candidates = _without_label(model, table)
    frame, notes = model.frame(table.subset(candidates))
    n_labelled = len(table) - len(candidates)
    if n_labelled:
        rows = "1 row has a label" if n_labelled == 1 else f"{n_labelled} rows have labels"
        notes.append(f"{table.path}: {rows} in column {model.target!r}, left out")
    with unknown_categories_ignored():
        indices, scores = query(model.estimator_, frame, n, strategy, return_scores=True)
    return TableQuery(np.array(candidates)[indices], scores, [*table.notes, *notes])


def _without_label(model: TableModel, table: Table) -> list[int]:
    if model.target not in table.columns:
        return list(range(len(table)))
    cells = targets.mark_missing(table, model.target, model.labels, model.unlabelled).columns[model.target]
    candidates = [i for i, cell in enumerate(cells) if cell is None]
    if not candidates:
        raise TableError(f"expected rows without a label in column {model.target!r} of {table.path}, and all have one")
    return candidates

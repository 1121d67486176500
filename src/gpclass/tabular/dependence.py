"""Partial dependence of predictions on single columns, with its spread over rows; as scikit-learn defines it."""

from typing import Any, NamedTuple

import numpy as np

from .evaluation import evenly_spaced
from .explanation import predictions
from .model import TableModel

#: Rows that are averaged, values of a column, and its quantiles between which they lie.
_ROWS, _RESOLUTION, _PERCENTILES = 60, 24, (0.05, 0.95)
#: Categories, the most frequent ones.
_CATEGORIES = 8


class Dependence(NamedTuple):
    """Predictions (rows, values, outputs) for rows with each of the ``values`` in one column: individual conditional
    expectations, whose mean over rows is the partial dependence. Outputs are classes, or one for regression."""

    column: str
    values: list[Any]
    individual: np.ndarray
    #: deciles of a column of numbers or dates
    deciles: np.ndarray | None = None

    @property
    def average(self) -> np.ndarray:
        """(values, outputs)"""
        return self.individual.mean(axis=0)

    def quantile(self, q: float) -> np.ndarray:
        """Of the individual predictions, (values, outputs)."""
        return np.quantile(self.individual, q, axis=0)


def dependence(model: TableModel, column: str) -> Dependence:
    """The partial dependence on one column that is no text, over kept rows of the training table."""
    import pandas as pd

    kept, _ = model.schema_.frame(model.sample_)
    known = kept[column].dropna().to_numpy()
    deciles = None
    kind = next(own for own in model.schema_.used if own.name == column)
    if kind.ordered:
        numbers = known.astype(np.int64) if kind.kind == "date" else known
        values = grid(numbers).astype(known.dtype)
        deciles = np.quantile(numbers, np.linspace(0.1, 0.9, 9)).astype(known.dtype)
    else:
        values = np.array([category for category, _ in kind.counts[:_CATEGORIES]], dtype=known.dtype)
    rows = kept.iloc[evenly_spaced(len(kept), _ROWS)]
    repeated = pd.concat([rows] * len(values), ignore_index=True)
    repeated[column] = np.repeat(values, len(rows))
    found = predictions(model, repeated).reshape(len(values), len(rows), -1)
    return Dependence(column, list(values) if kind.kind == "date" else values.tolist(), found.swapaxes(0, 1), deciles)


def grid(known: np.ndarray) -> np.ndarray:
    """All values of a column where they are few, else equally spaced ones between two of its quantiles."""
    distinct = np.unique(known)
    if len(distinct) < _RESOLUTION:
        return distinct
    low, high = np.quantile(known, _PERCENTILES)
    return np.linspace(low, high, _RESOLUTION)

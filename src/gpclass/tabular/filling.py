"""Gaps in columns of numbers: filled by the median, with a column that says where they were."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

#: What is added to the name of a column for the one that says where its gaps are.
GAP = " (missing)"


class FillGaps(TransformerMixin, BaseEstimator):
    """For data frames of pandas. Columns of categories stay as they are: a gap there is a category of its own.

    Parameters
    ----------
    views : dictionary of name to columns, default=None
        Sources of information: a row without any of a source's columns is one that the source knows nothing about, and
        stays so, unless no source would be left. There are then no columns that say where gaps were.

    Attributes
    ----------
    medians_ : dictionary of the columns of numbers
    indicators_ : names of the columns that say where the gaps of others are: of those that had gaps in training, and
        rows without one, since whether there is a value may say something
    """

    def __init__(self, views: Any = None) -> None:
        self.views = views

    def fit(self, X: Any, y: Any = None) -> FillGaps:
        self.medians_: dict[str, float] = {}
        self.indicators_: dict[str, str] = {}
        for name in X.columns:
            if X[name].dtype.kind not in "biuf":
                continue
            values = np.asarray(X[name], dtype=float)
            gaps = np.isnan(values)
            self.medians_[name] = 0.0 if gaps.all() else float(np.nanmedian(values))
            if gaps.any() and not gaps.all() and self.views is None:
                free = f"{name}{GAP}"
                while free in X.columns:
                    free += GAP
                self.indicators_[name] = free
        return self

    def transform(self, X: Any) -> Any:
        filled = {name: X[name].fillna(self.medians_[name]) if name in self.medians_ else X[name] for name in X.columns}
        gaps = {free: X[name].isna().astype(float) for name, free in self.indicators_.items()}
        whole = type(X)({**filled, **gaps})
        if self.views is None:
            return whole
        absent = {name: X[list(columns)].isna().all(axis=1) for name, columns in self.views.items()}
        nothing = np.logical_and.reduce([np.asarray(rows) for rows in absent.values()])
        for name, columns in self.views.items():
            for column in columns:
                if column in self.medians_:
                    whole.loc[np.asarray(absent[name]) & ~nothing, column] = np.nan
        return whole

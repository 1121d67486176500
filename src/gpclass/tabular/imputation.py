"""Imputation of missing numeric values by the median, with indicator columns."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

#: Suffix of the name of an indicator column.
MISSING_SUFFIX = " (missing)"


class TableImputer(TransformerMixin, BaseEstimator):
    """Median imputation of pandas data frames. In categorical columns a missing value is a category of its own, and
    they are returned unchanged.

    Parameters
    ----------
    views : dictionary of name to columns, default=None
        Sources of information: a row without any value of a source keeps its missing values there, unless it has no
        values at all. There are then no indicator columns.

    Attributes
    ----------
    medians_ : dictionary of the numeric columns
    indicators_ : names of the indicator columns, by the columns that had missing and other values in training
    """

    def __init__(self, views: Any = None) -> None:
        self.views = views

    def fit(self, X: Any, y: Any = None) -> Self:
        numeric = X.select_dtypes(["number", "bool"]).astype(float)
        missing = numeric.isna()
        self.medians_: dict[str, float] = numeric.median().fillna(0.0).to_dict()
        self.indicators_: dict[str, str] = {}
        for name in numeric.columns[missing.any() & ~missing.all()] if self.views is None else ():
            indicator = f"{name}{MISSING_SUFFIX}"
            while indicator in X.columns:
                indicator += MISSING_SUFFIX
            self.indicators_[name] = indicator
        return self

    def transform(self, X: Any) -> Any:
        filled = X.fillna(self.medians_)
        for name, indicator in self.indicators_.items():
            filled[indicator] = X[name].isna().astype(float)
        if self.views is None:
            return filled
        absent = {name: X[list(columns)].isna().all(axis=1) for name, columns in self.views.items()}
        has_values = ~np.logical_and.reduce(list(absent.values()))
        for name, columns in self.views.items():
            numeric = [column for column in columns if column in self.medians_]
            filled.loc[absent[name] & has_values, numeric] = np.nan
        return filled

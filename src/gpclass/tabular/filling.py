"""Gaps in columns of numbers: filled by the median, with a column that says where they were."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

#: What is added to the name of a column for the one that says where its gaps are.
GAP = " (missing)"


class FillGaps(TransformerMixin, BaseEstimator):
    """For data frames of pandas. Columns of categories stay as they are: a gap there is a category of its own.

    Attributes
    ----------
    medians_ : dictionary of the columns of numbers
    gappy_ : those that had gaps in training, and rows without one: whether there is a value may say something
    """

    def fit(self, X: Any, y: Any = None) -> FillGaps:
        self.medians_: dict[str, float] = {}
        self.gappy_: list[str] = []
        for name in X.columns:
            if X[name].dtype.kind not in "biuf":
                continue
            values = np.asarray(X[name], dtype=float)
            gaps = np.isnan(values)
            self.medians_[name] = 0.0 if gaps.all() else float(np.nanmedian(values))
            if gaps.any() and not gaps.all():
                self.gappy_.append(name)
        return self

    def transform(self, X: Any) -> Any:
        filled = {name: X[name].fillna(self.medians_[name]) if name in self.medians_ else X[name] for name in X.columns}
        gaps = {f"{name}{GAP}": X[name].isna().astype(float) for name in self.gappy_}
        return type(X)({**filled, **gaps})

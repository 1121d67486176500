"""What stands before an estimator: missing values inside views are filled, and other libraries get our features."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from ..estimators._inputs import Inputs


class ViewImputer(TransformerMixin, BaseEstimator):
    """Median imputation of pandas data frames with views, whose kernels leave out a view that a row does not have.

    A row without any value of a view keeps its missing values there, unless it has no values at all. In categorical
    columns a missing value is a category of its own, and they are returned unchanged, as is a frame without views.

    Parameters
    ----------
    views : dictionary of name to columns

    Attributes
    ----------
    medians_ : dictionary of the columns of views that hold numbers or dates
    """

    def __init__(self, views: Mapping[str, list[str]]) -> None:
        self.views = views

    def fit(self, X: Any, y: Any = None) -> Self:
        names = list(dict.fromkeys(name for columns in self.views.values() for name in columns))
        ordered = X[names].select_dtypes(["number", "datetime"])
        self.medians_: dict[str, Any] = {name: ordered[name].median() for name in ordered}
        return self

    def transform(self, X: Any) -> Any:
        if not self.views:
            return X
        absent = {name: X[columns].isna().all(axis=1) for name, columns in self.views.items()}
        has_values = ~np.logical_and.reduce(list(absent.values()))
        filled = X.fillna(self.medians_)
        for name, columns in self.views.items():
            own = [column for column in columns if column in self.medians_]
            filled.loc[absent[name] & has_values, own] = np.nan
        return filled


class FeatureTransformer(TransformerMixin, BaseEstimator):
    """The features that our estimators make of a pandas data frame, for estimators of other libraries: missing values
    filled, with indicators, dates as numbers, and codes of categories as columns of dtype "category"."""

    kernel = None

    def fit(self, X: Any, y: Any = None) -> Self:
        self._inputs, _, _ = Inputs.fit(self, X)
        self.n_features_in_, self.feature_names_in_ = self._inputs.n_columns, self._inputs.names
        return self

    def transform(self, X: Any) -> Any:
        import pandas as pd

        inputs = self._inputs
        features = pd.DataFrame(inputs.check(self, X)[0], columns=inputs.feature_names)
        codes = [features.columns[j] for j in inputs.frame.places(inputs.encoders)]
        return features.astype(dict.fromkeys(codes, "category"))

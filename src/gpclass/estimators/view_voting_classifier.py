"""ViewVotingClassifier: one classifier for each view, and a rule that combines what they say."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted, validate_data

from ._base import checked_n_jobs
from ._classifying import log_odds
from ._documentation import Documented
from ._frames import is_frame
from ._labels import check_labels, refuse_masked
from ._wrapping import MetaEstimator
from .gp_classifier import GPClassifier

RULES = ("sum", "product")


class ViewVotingClassifier(Documented, ClassifierMixin, MetaEstimator):
    """Independent classifiers, one for each view, combined by the sum or the product rule (Kittler et al., 1998).

    The classifiers are fitted independently. ``GPClassifier`` with a ``WeightedSum`` kernel learns from all views
    jointly (G06); voting is its baseline.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, default=None
        Classifier to clone and fit to each view; None is ``GPClassifier()``.
    views : dictionary of name to columns
        Columns as ``sklearn.compose.ColumnTransformer`` takes them: indices, a slice, a mask, names, or a
        ``make_column_selector``.
    voting : "sum" or "product", default="sum"
        The mean of the views' probabilities, or their product, scaled to sum to 1.
    n_jobs : int or None, default=None
        Number of processes; views are fitted in parallel.

    Attributes
    ----------
    estimators_ : dictionary of name to the pipeline fitted to that view
    classes_, n_features_in_ : as in scikit-learn

    Examples
    --------
    >>> from gpclass import ViewVotingClassifier
    >>> from gpclass.datasets import make_views
    >>> X, y, views = make_views(150, random_state=0)
    >>> model = ViewVotingClassifier(views=views, voting="product").fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _default = GPClassifier

    def __init__(
        self, estimator: Any = None, views: Any = None, *, voting: str = "sum", n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.views = views
        self.voting = voting
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._default() if self.estimator is None else self.estimator
        tags.input_tags.allow_nan = not isinstance(inner, type) and get_tags(inner).input_tags.allow_nan
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ViewVotingClassifier:
        """Fit one classifier to each view of the rows X with labels y; ``sample_weight`` goes to each of them."""
        self._check_voting()
        if not (isinstance(self.views, dict) and self.views):
            raise ValueError(f"views must be a dictionary of name to columns, not empty; got {self.views!r}")
        estimator = GPClassifier() if self.estimator is None else self.estimator
        if isinstance(estimator, type) or not is_classifier(estimator):
            raise TypeError(f"estimator must be a classifier object, got {estimator!r}")
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(f"estimator must have predict_proba, which {type(estimator).__name__} has not")
        if y is None:
            raise ValueError("ViewVotingClassifier requires y to be passed, but the target y is None")
        y = check_labels(y)
        assert_all_finite(np.asarray(y), input_name="y")
        check_classification_targets(y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        probe = copy.copy(self)  # nothing is written on the estimator before all views are fitted
        X = _checked(probe, X, first=True)
        y = column_or_1d(y, warn=True)
        fitted = Parallel(n_jobs=checked_n_jobs(self.n_jobs))(
            delayed(_fit_view)(name, columns, clone(estimator), X, y, weights) for name, columns in self.views.items()
        )
        estimators = dict(zip(self.views, fitted, strict=True))
        self.__dict__ = {**vars(probe), "estimators_": estimators, "classes_": fitted[0].classes_}
        return self

    def _check_voting(self) -> None:
        if self.voting not in RULES:
            raise ValueError(f"voting must be one of {list(RULES)}, got {self.voting!r}")

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log probabilities (m, n_classes) by the rule; columns as in ``classes_``."""
        check_is_fitted(self)
        self._check_voting()
        X = _checked(self, X, first=False)
        said = np.stack([_log_proba(model, X) for model in self.estimators_.values()])
        if self.voting == "sum":
            return logsumexp(said, axis=0) - np.log(len(said))
        # Views that rule out each other's classes altogether would leave none.
        product = np.maximum(said, np.log(np.finfo(float).tiny)).sum(axis=0)
        return product - logsumexp(product, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (m, n_classes) by the rule; columns as in ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds: of the second class (m,) for two classes, or of each class against all others (m, n_classes)."""
        return log_odds(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row."""
        most_probable = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[most_probable]


def _checked(estimator: Any, X: Any, first: bool) -> Any:
    """Frames are left to the classifiers, which may take text; all else is an array of numbers."""
    refuse_masked(X, "X")
    if not is_frame(X):
        missing = "allow-nan" if get_tags(estimator).input_tags.allow_nan else True
        return validate_data(estimator, X, reset=first, ensure_all_finite=missing)
    _check_feature_names(estimator, X, reset=first)
    _check_n_features(estimator, X, reset=first)
    return X


def _fit_view(name: Any, columns: Any, estimator: Any, X: Any, y: Any, weights: dict[str, Any]) -> Pipeline:
    """The classifier of one view, with the choice of its columns before it."""
    columns = [columns] if isinstance(columns, (str, int, np.integer)) else columns
    if isinstance(columns, slice) and not any(isinstance(end, str) for end in (columns.start, columns.stop)):
        columns = list(range(*columns.indices(X.shape[1])))
    choice = ColumnTransformer([("view", "passthrough", columns)], verbose_feature_names_out=False)
    if hasattr(X, "columns"):  # categories and names outlive the choice
        choice.set_output(transform="polars" if type(X).__module__.startswith("polars") else "pandas")
    try:
        chosen = choice.fit_transform(X)
    except (IndexError, ValueError) as error:
        raise ValueError(f"view {name!r}: {error}") from error
    if chosen.shape[1] == 0:
        raise ValueError(f"view {name!r}: expected at least one column, got none by {columns!r}")
    return Pipeline([("view", choice), ("classify", estimator.fit(chosen, y, **weights))])


def _log_proba(model: Pipeline, X: Any) -> np.ndarray:
    with np.errstate(divide="ignore"):
        if hasattr(model, "predict_log_proba"):
            return model.predict_log_proba(X)
        return np.log(model.predict_proba(X))

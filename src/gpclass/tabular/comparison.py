"""Cross-validated comparison with scikit-learn's models on a table."""

import time
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from ..evaluation.leaderboard import ClassTarget, Leaderboard, NumberTarget, rank
from ..training.monitor import SILENT, Monitor
from .columns import Names, Schema, view_columns, view_kernel
from .evaluation import first_lines
from .imputation import FeatureTransformer, ViewImputer
from .model import EXACT_ROWS, MAX_EXACT_ROWS
from .tables import Table, TableError, listed
from .targets import drop_missing, find_task, mark_missing, read_target, unify_spelling


def compare_on_table(
    table: Table,
    target: str,
    *,
    folds: int = 5,
    order: Collection[Any] | None = None,
    regress: bool = False,
    views: Mapping[str, Collection[str]] | None = None,
    others: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    drop: Names = (),
    keep: Names = (),
    category: Names = (),
    monitor: Monitor = SILENT,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Leaderboard, list[str]]:
    """Held-out scores of gpclass and of other models, all on the same folds, with imputation within them; and notes.

    ``others`` are estimators of scikit-learn by name: a pipeline is given the columns of the table as a data frame, any
    other estimator numbers that are imputed, scaled and one-hot encoded. ``order``, ``regress`` and ``views`` are those
    of ``TableModel``, ``time_limit``, ``monitor`` and ``clock`` those of ``evaluation.leaderboard.rank``.
    """
    notes = list(table.notes)
    task = find_task(order, regress, None)
    table = drop_missing(mark_missing(table, target, order or ()), target, notes)
    if task != "regression":
        table = unify_spelling(table, target, order or ())
    y = read_target(table, target, task, order)
    classes = np.unique(y)
    if order is not None:
        order = classes = np.array([label for label in order if label in classes])
    schema = Schema.learn(table, without=[target], drop=drop, keep=keep, category=category)
    notes += schema.notes(drop)
    X, _ = schema.frame(table)
    of_views = view_columns(views, schema) if views else {}
    kernel = None
    if of_views:
        if len(y) > MAX_EXACT_ROWS:
            raise TableError(f"expected at most {MAX_EXACT_ROWS} rows with --views, got {len(y)}")
        used = {name for columns in of_views.values() for name in columns}
        X, kernel = X[[name for name in X.columns if name in used]], view_kernel(of_views, schema)
    models = candidates(len(table), task, order)
    if of_views:
        models = {"gpclass, views": make_pipeline(ViewImputer(of_views), _exact(task, order, kernel)), **models}
    if taken := sorted(set(models) & set(others or {})):
        raise TableError(f"expected names of your models other than {listed(sorted(models))}, got {taken[0]!r}")
    models |= {name: prepared(model) for name, model in (others or {}).items()}
    splits = _splits(y, folds, regression=task == "regression")
    scored = NumberTarget() if task == "regression" else ClassTarget(classes, ordered=task == "ordinal")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = rank(
            models, X, y, scored, list(splits.split(X, y)), time_limit=time_limit, monitor=monitor, clock=clock
        )
    return result, notes + first_lines(caught)


def _splits(y: np.ndarray, folds: int, regression: bool) -> KFold | StratifiedKFold:
    if regression:
        if len(y) < 2 * folds:
            raise TableError(f"expected at least {2 * folds} rows for {folds} folds, got {len(y)}")
        return KFold(folds, shuffle=True, random_state=0)
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < folds:
        rare = str(labels[counts.argmin()])
        raise TableError(
            f"expected at least {folds} rows of every label for {folds} folds, got {counts.min()} of {rare!r}; "
            f"{'use fewer folds (--folds), or ' if counts.min() > 1 else ''}leave those rows out"
        )
    return StratifiedKFold(folds, shuffle=True, random_state=0)


def candidates(n_rows: int, task: str = "classification", order: Any = None) -> dict[str, Any]:
    """Models of gpclass for this task and number of rows, and others."""
    ours = _ours(n_rows, task, order)
    others: dict[str, Any]
    if task == "regression":
        svr = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
        others = {
            "Bayesian ridge": BayesianRidge(),
            "random forest": RandomForestRegressor(300, random_state=0, n_jobs=-1),
            "gradient boosting": HistGradientBoostingRegressor(random_state=0),
            "SVR": svr,
        }
    else:
        others = {
            "logistic regression": LogisticRegression(max_iter=5000),
            "random forest": RandomForestClassifier(300, random_state=0, n_jobs=-1),
            "gradient boosting": HistGradientBoostingClassifier(random_state=0),
            "SVC + temperature": CalibratedClassifierCV(SVC(), method="temperature", ensemble=False),
        }
    return ours | {name: prepared(model) for name, model in others.items()}


def _ours(n_rows: int, task: str, order: Any) -> dict[str, Any]:
    import gpclass as gp

    many = n_rows > EXACT_ROWS
    if task == "regression":
        return {"gpclass": gp.NearestNeighborGPRegressor(random_state=0) if many else gp.GPRegressor(random_state=0)}
    ours: dict[str, Any] = {"gpclass": gp.GPClassifier(), "gpclass, one kernel": gp.GPClassifier("matern")}
    if many:
        ours = {
            "gpclass, nearest": gp.NearestNeighborGPClassifier(random_state=0),
            "gpclass, sparse": gp.SparseGPClassifier(random_state=0),
        }
    if task != "ordinal":
        return ours
    ordinal = gp.GPOrdinalClassifier(order=list(order), inference="ivm" if many else "ep", random_state=0)
    return {"gpclass, ordinal": ordinal, **ours}


def _exact(task: str, order: Any, kernel: Any) -> Any:
    """A model with a kernel, for as many rows as have a matrix of covariances."""
    import gpclass as gp

    if task == "regression":
        return gp.GPRegressor(kernel, random_state=0)
    if task == "ordinal":
        return gp.GPOrdinalClassifier(kernel, order=list(order), inference="ep", random_state=0)
    return gp.GPClassifier(kernel, random_state=0)


def prepared(model: Any) -> Any:
    """A pipeline as it is; any other estimator after imputation, scaling and one-hot encoding."""
    if isinstance(model, Pipeline):
        return model
    encoder = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(FeatureTransformer(), encoder, model)

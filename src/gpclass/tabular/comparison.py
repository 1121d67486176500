"""Cross-validated comparison with scikit-learn classifiers on a table."""

import warnings
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from ..evaluation.comparison import Comparison, compare
from ..training.monitor import SILENT, Monitor
from .columns import Names, Schema
from .evaluation import first_lines
from .imputation import FeatureTransformer
from .model import EXACT_ROWS
from .tables import Table, TableError
from .targets import drop_missing, mark_missing, read_target, unify_spelling


def compare_on_table(
    table: Table,
    target: str,
    *,
    folds: int = 5,
    drop: Names = (),
    keep: Names = (),
    category: Names = (),
    monitor: Monitor = SILENT,
) -> tuple[Comparison, list[str]]:
    """Held-out scores of gpclass and of four other classifiers, with imputation within the folds; and notes."""
    notes = list(table.notes)
    table = unify_spelling(drop_missing(mark_missing(table, target), target, notes), target)
    y = read_target(table, target, "classification")
    schema = Schema.learn(table, without=[target], drop=drop, keep=keep, category=category)
    notes += schema.notes(drop)
    X, _ = schema.frame(table)
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < folds:
        rare = str(labels[counts.argmin()])
        raise TableError(
            f"expected at least {folds} rows of every label for {folds} folds, got {counts.min()} of {rare!r}; "
            f"{'use fewer folds (--folds), or ' if counts.min() > 1 else ''}leave those rows out"
        )
    splits = StratifiedKFold(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = compare(candidates(len(table)), X, y, cv=splits, monitor=monitor)
    return result, notes + first_lines(caught)


def candidates(n_rows: int) -> dict[str, Any]:
    """Classifiers of gpclass for this number of rows, and others."""
    from .. import GPClassifier, NearestNeighborGPClassifier, SparseGPClassifier

    ours: dict[str, Any] = {"gpclass": GPClassifier(), "gpclass, EP": GPClassifier(inference="ep")}
    if n_rows > EXACT_ROWS:
        ours = {
            "gpclass, nearest": NearestNeighborGPClassifier(random_state=0),
            "gpclass, sparse": SparseGPClassifier(random_state=0),
        }
    others = {
        "logistic regression": LogisticRegression(max_iter=5000),
        "random forest": RandomForestClassifier(300, random_state=0, n_jobs=-1),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0),
        "SVC + temperature": CalibratedClassifierCV(SVC(), method="temperature", ensemble=False),
    }
    encoder = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
    )
    return ours | {name: make_pipeline(FeatureTransformer(), encoder, model) for name, model in others.items()}

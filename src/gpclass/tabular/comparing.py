"""Our engines beside the usual classifiers, on the same folds of a table."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from ..evaluation.comparison import Comparison, compare
from ..training.monitor import Task, listening
from .columns import Schema
from .filling import FillGaps
from .model import EXACT_ROWS
from .reading import Table, TableError
from .targets import mark_gaps, one_spelling, read_target, with_target


def compare_on_table(
    table: Table,
    target: str,
    *,
    folds: int = 5,
    drop: Collection[str] = (),
    keep: Collection[str] = (),
    category: Collection[str] = (),
    progress: Task | None = None,
) -> tuple[Comparison, list[str]]:
    """Held-out scores of gpclass and of four usual classifiers, each with its gaps filled within the folds."""
    notes = list(table.notes)
    table = one_spelling(with_target(mark_gaps(table, target), target, notes), target)
    y = read_target(table, target, "labels")
    schema = Schema.learn(table, without=[target], drop=drop, keep=keep, category=category)
    notes += [
        f"column {own.name!r} is left out: {own.why}" for own in schema.columns if not own.used and own.name not in drop
    ]
    X, _ = schema.frame(table)
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < folds:
        few = labels[counts.argmin()]
        raise TableError(
            f"expected at least {folds} rows of every label for {folds} folds, got {counts.min()} of {str(few)!r}; "
            f"{'take fewer folds (--folds), or ' if counts.min() > 1 else ''}leave those rows out"
        )
    splits = StratifiedKFold(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings(record=True) as said, listening(progress):
        warnings.simplefilter("always")
        result = compare(candidates(len(table)), X, y, cv=splits)
    return result, notes + list(dict.fromkeys(str(warning.message).splitlines()[0] for warning in said))


def candidates(n_rows: int) -> dict[str, Pipeline]:
    """Our engines for so many rows, and the others."""
    from .. import GPClassifier, IVMClassifier, SparseGPClassifier

    ours: dict[str, Any] = (
        {"gpclass": GPClassifier(), "gpclass, EP": GPClassifier(inference="ep")}
        if n_rows <= EXACT_ROWS
        else {"gpclass, sparse": SparseGPClassifier(random_state=0), "gpclass, IVM": IVMClassifier(random_state=0)}
    )
    others = {
        "logistic regression": LogisticRegression(max_iter=5000),
        "random forest": RandomForestClassifier(300, random_state=0, n_jobs=-1),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0),
        "SVC + temperature": CalibratedClassifierCV(SVC(), method="temperature", ensemble=False),
    }
    return {name: make_pipeline(FillGaps(), model) for name, model in ours.items()} | {
        name: make_pipeline(FillGaps(), _as_numbers(), model) for name, model in others.items()
    }


def _as_numbers() -> Any:
    """Numbers standardised, categories as one column each, for models that know numbers only."""
    return make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
    )

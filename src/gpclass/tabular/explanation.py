"""Explanation of a model of a table: influence and relevance of the columns, weights of views."""

from itertools import product
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..kernels import WeightedSum
from ..plotting import log_relevance
from .evaluation import evenly_spaced, unknown_categories_ignored
from .model import TableModel

#: Rows predicted for each permutation (half of them with many columns), and predictions in total, which determine the
#: number of permutations.
_ROWS, _MANY_COLUMNS, _BUDGET = 200, 100, 20000


def explain(model: TableModel, random_state: int = 0) -> dict[str, Any]:
    """Columns, most influential first, with view weights and informative rows where the model has them.

    The influence of a column is the change of predictions when its values are permuted: relative entropy in nats for
    classification, standard deviations of the target for regression. Unlike a length-scale, it measures the effect of
    the column on predictions.
    """
    check_is_fitted(model)
    influence, error = _influences(model, random_state)
    relevance = _relevances(model)
    names = [column.name for column in model.schema_.used]
    columns: list[dict[str, Any]] = [
        {"column": name, "influence": float(mean), "influence_se": float(se), **relevance.get(name, {})}
        for name, mean, se in zip(names, influence, error, strict=True)
    ]
    columns.sort(key=lambda row: -row["influence"])
    return {
        "columns": columns,
        "views": _views(model),
        "informative_rows": model.informative_,
        "surprising_rows": model.surprising_,
    }


def influence_unit(model: TableModel) -> str:
    return "standard deviations of the target" if model.task_ == "regression" else "nats"


def _influences(model: TableModel, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    raw, _ = model.schema_.frame(model.sample_)
    n_columns = raw.shape[1]
    raw = raw.iloc[evenly_spaced(len(raw), _ROWS if n_columns <= _MANY_COLUMNS else _ROWS // 2)].reset_index(drop=True)
    rng = np.random.default_rng(random_state)
    n, repeats = len(raw), int(np.clip(_BUDGET // (len(raw) * n_columns), 2, 10))
    before = predictions(model, raw)
    change = np.empty((repeats, n_columns))
    jobs = list(product(range(repeats), range(n_columns)))
    batch_size = max(1, _BUDGET // n)
    for start in range(0, len(jobs), batch_size):
        batch = jobs[start : start + batch_size]
        permuted = [raw.assign(**{raw.columns[j]: raw.iloc[rng.permutation(n), j].to_numpy()}) for _, j in batch]
        # One frame for all: separate predictions would spend their time on frames.
        after = predictions(model, pd.concat(permuted, ignore_index=True))
        for (r, j), changed in zip(batch, np.split(after, len(batch)), strict=True):
            change[r, j] = _distance(model, before, changed)
    return change.mean(axis=0), change.std(axis=0, ddof=1) / np.sqrt(repeats)


def predictions(model: TableModel, raw: Any) -> np.ndarray:
    """Probabilities (m, K), or expected values (m,), of rows with missing values."""
    frame = model.imputer_.transform(raw)
    with unknown_categories_ignored():
        return model.estimator_.predict(frame) if model.task_ == "regression" else model.estimator_.predict_proba(frame)


def _distance(model: TableModel, before: np.ndarray, after: np.ndarray) -> float:
    if model.task_ == "regression":
        return float(np.mean(np.abs(after - before)) / model.estimator_.target_scale_)
    before, after = np.maximum(before, 1e-12), np.maximum(after, 1e-12)
    return float(np.mean(np.sum(before * np.log(before / after), axis=1)))


def _relevances(model: TableModel) -> dict[str, dict[str, float]]:
    """Relevance of each column and standard error of its logarithm, where the kernel has a length-scale for each."""
    names = [str(name) for name in model.estimator_.feature_names_in_]
    values = np.atleast_2d(model.estimator_.relevance_).mean(axis=0)
    finite = np.flatnonzero(np.isfinite(values)).tolist()
    # One length-scale shared by all numeric columns, and perhaps one by all categories, is not a relevance of columns.
    if len({f"{values[j]:.9g}" for j in finite}) <= min(2, len(finite) - 1):
        return {}
    try:
        _, error = log_relevance(model.estimator_)
    except (AttributeError, ValueError):
        error = np.full(len(values), np.nan)
    found = {names[j]: {"relevance": float(values[j]), "log_relevance_se": float(error[j])} for j in finite}
    return {name: {key: value for key, value in row.items() if np.isfinite(value)} for name, row in found.items()}


def _views(model: TableModel) -> list[dict[str, Any]]:
    if not isinstance(model.estimator_.kernel_, WeightedSum):
        return []
    weights = model.estimator_.view_weights_
    return [
        {"view": name, "share": float(mean), "share_sd": float(sd) if np.isfinite(sd) else None}
        for name, mean, sd in zip(weights.names, weights.mean, weights.sd, strict=True)
    ]

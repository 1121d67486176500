"""What a model of a table goes by: how far each column moves its predictions, relevances, weights of views."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..kernels import WeightedSum
from ..plotting import log_relevance
from .filling import GAP
from .judging import without_strangers
from .model import TableModel
from .rows import spread

#: Rows predicted for each shuffle (half of them where there are many columns), and rows to predict altogether, which
#: fixes how often columns are shuffled.
_ROWS, _MANY_COLUMNS, _BUDGET = 200, 100, 20000


def explain(model: TableModel, random_state: int = 0) -> dict[str, Any]:
    """Columns, most influential first, with view weights and rows where the model has them.

    The influence of a column is how far predictions move when its cells are shuffled between rows: in nats of relative
    entropy for labels, in standard deviations of the target for numbers. It is what the model does with the column, and
    not only how short a length-scale is.
    """
    check_is_fitted(model)
    influence, error = _influences(model, random_state)
    relevance = _relevances(model)
    columns: list[dict[str, Any]] = [
        {
            "column": column.name,
            "influence": float(influence[j]),
            "influence_se": float(error[j]),
            **relevance.get(column.name, {}),
        }
        for j, column in enumerate(model.schema_.used)
    ]
    columns.sort(key=lambda own: -own["influence"])
    return {
        "columns": columns,
        "views": _views(model),
        "informative_rows": model.informative_,
        "surprising_rows": model.surprising_,
    }


def _influences(model: TableModel, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    raw, _ = model.schema_.frame(model.sample_)
    n_columns = raw.shape[1]
    raw = raw.iloc[spread(len(raw), _ROWS if n_columns <= _MANY_COLUMNS else _ROWS // 2)].reset_index(drop=True)
    rng = np.random.default_rng(random_state)
    n, repeats = len(raw), int(np.clip(_BUDGET // (len(raw) * n_columns), 2, 10))
    before = _predictions(model, raw)
    moved = np.empty((repeats, n_columns))
    jobs = [(r, j) for r in range(repeats) for j in range(n_columns)]
    at_once = max(1, _BUDGET // n)
    for start in range(0, len(jobs), at_once):
        some = jobs[start : start + at_once]
        # One frame, in whose k-th part one column is shuffled: a prediction for each would spend its time on frames.
        stacked = {name: np.tile(raw[name].to_numpy(), len(some)) for name in raw.columns}
        for k, (_, j) in enumerate(some):
            name = raw.columns[j]
            stacked[name][k * n : (k + 1) * n] = raw[name].to_numpy()[rng.permutation(n)]
        after = _predictions(model, pd.DataFrame(stacked))
        for k, (r, j) in enumerate(some):
            moved[r, j] = _distance(model, before, after[k * n : (k + 1) * n])
    return moved.mean(axis=0), moved.std(axis=0, ddof=1) / np.sqrt(repeats)


def _predictions(model: TableModel, raw: Any) -> np.ndarray:
    frame = model.filler_.transform(raw)
    with without_strangers():
        return model.estimator_.predict(frame) if model.task_ == "numbers" else model.estimator_.predict_proba(frame)


def _distance(model: TableModel, before: np.ndarray, after: np.ndarray) -> float:
    if model.task_ == "numbers":
        return float(np.mean(np.abs(after - before)) / model.estimator_.target_scale_)
    before, after = np.maximum(before, 1e-12), np.maximum(after, 1e-12)
    return float(np.mean(np.sum(before * np.log(before / after), axis=1)))


def _relevances(model: TableModel) -> dict[str, dict[str, float]]:
    """Relevance of each column, where the kernel has a length-scale for each; log w has a standard error too."""
    names = [str(name) for name in model.estimator_.feature_names_in_]
    values = np.atleast_2d(model.estimator_.relevance_).mean(axis=0)
    told = [j for j, name in enumerate(names) if not name.endswith(GAP) and np.isfinite(values[j])]
    # A length-scale in common, of numbers and perhaps of categories, says nothing of single columns.
    if len({f"{values[j]:.9g}" for j in told}) <= min(2, len(told) - 1):
        return {}
    try:
        _, error = log_relevance(model.estimator_)
    except (AttributeError, ValueError):
        error = np.full(len(values), np.nan)
    found = {}
    for j in told:
        known = {"log_relevance_se": float(error[j])} if np.isfinite(error[j]) else {}
        found[names[j]] = {"relevance": float(values[j]), **known}
    return found


def _views(model: TableModel) -> list[dict[str, Any]]:
    if not isinstance(model.estimator_.kernel_, WeightedSum):
        return []
    weights = model.estimator_.view_weights_
    return [
        {"view": name, "share": float(mean), "share_sd": float(sd) if np.isfinite(sd) else None}
        for name, mean, sd in zip(weights.names, weights.mean, weights.sd, strict=True)
    ]

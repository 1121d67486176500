"""What a model of a table goes by: how far each column moves its predictions, relevances, weights of views."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..kernels import WeightedSum
from ..plotting import log_relevance
from .filling import GAP
from .model import TableModel, without_strangers

#: Rows predicted for each shuffle, and numbers to predict altogether, which fixes how often columns are shuffled.
_ROWS, _BUDGET = 200, 20000


def explain(model: TableModel, random_state: int = 0) -> dict[str, Any]:
    """Columns, most influential first, with view weights and rows where the model has them.

    The influence of a column is how far predictions move when its cells are shuffled between rows: in nats of relative
    entropy for labels, in standard deviations of the target for numbers. It is what the model does with the column, and
    not only how short a length-scale is.
    """
    check_is_fitted(model)
    influence, spread = _influences(model, random_state)
    relevance = _relevances(model)
    columns: list[dict[str, Any]] = [
        {
            "column": column.name,
            "influence": float(influence[j]),
            "influence_se": float(spread[j]),
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
    raw, _ = model.schema_.frame(model.sample_)
    chosen = np.unique(np.linspace(0, len(raw) - 1, min(len(raw), _ROWS)).round().astype(int))
    rng = np.random.default_rng(random_state)
    raw = raw.iloc[chosen].reset_index(drop=True)
    names = list(raw.columns)
    repeats = int(np.clip(_BUDGET // (len(raw) * len(names)), 2, 10))
    with without_strangers():
        before = _predictions(model, raw)
        moved = np.empty((repeats, len(names)))
        for j, name in enumerate(names):
            for r in range(repeats):
                shuffled = raw.copy()
                shuffled[name] = raw[name].to_numpy()[rng.permutation(len(raw))]
                moved[r, j] = _distance(model, before, _predictions(model, shuffled))
    return moved.mean(axis=0), moved.std(axis=0, ddof=1) / np.sqrt(repeats)


def _predictions(model: TableModel, raw: Any) -> np.ndarray:
    frame = raw if model.filler_ is None else model.filler_.transform(raw)
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
        _, spread = log_relevance(model.estimator_)
    except (AttributeError, ValueError):
        spread = np.full(len(values), np.nan)
    found = {}
    for j in told:
        error = {"log_relevance_se": float(spread[j])} if np.isfinite(spread[j]) else {}
        found[names[j]] = {"relevance": float(values[j]), **error}
    return found


def _views(model: TableModel) -> list[dict[str, Any]]:
    if not isinstance(model.estimator_.kernel_, WeightedSum):
        return []
    weights = model.estimator_.view_weights_
    return [
        {"view": name, "share": float(mean), "share_sd": float(sd) if np.isfinite(sd) else None}
        for name, mean, sd in zip(weights.names, weights.mean, weights.sd, strict=True)
    ]

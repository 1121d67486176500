"""Lazy predictions of the rows of a Dask collection."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .collections import Chunks, is_frame, row_chunks
from .neighbors import is_chunked, prediction_tasks, width_of

#: Attributes of a fit that predictions do without.
_NOT_NEEDED = ("_objective", "hyper_", "loo_proba_", "_loo_codes", "_trained", "info_")


def lazy(model: Any, method: str, X: Any) -> Any:
    """A Dask array of what ``method`` gives for the rows of X: (m,), or (m, n_classes)."""
    width = width_of(model, method)
    dtype = model.classes_.dtype if method == "predict" and is_classifier(model) else np.float64
    if is_chunked(model):
        return _from_chunks(prediction_tasks(model, method), X, width, dtype)
    return _lazy(model, _call, X, width, dtype, method)


def _from_chunks(predict: Callable[[Any], Any], X: Any, width: int | None, dtype: Any) -> Any:
    """A Dask array of tasks that each predict a chunk."""
    import dask.array as da

    tasks = [predict(part) for part in row_chunks(X)]
    sizes = X.chunks[0] if not is_frame(X) else (np.nan,) * len(tasks)
    more = () if width is None else (width,)
    return da.concatenate(
        [da.from_delayed(task, (n, *more), dtype) for task, n in zip(tasks, sizes, strict=True)],
        allow_unknown_chunksizes=True,
    )


def lazy_latent(model: Any, X: Any, n_latent: int) -> tuple[Any, Any]:
    """Means and variances (m, C), which are computed together."""
    both = _lazy(model, _moments, X, 2 * n_latent, np.float64)
    return both[:, :n_latent], both[:, n_latent:]


def accuracy(model: Any, X: Any, y: Any) -> float:
    """The share of rows whose predicted label is right."""
    from dask import delayed

    chunks = Chunks.of(X, y)
    predict, compare = _predictor(model, "predict"), delayed(_n_right, pure=False)
    found = chunks.compute([compare(predict(X), y) for X, y in zip(chunks.X, chunks.y, strict=True)])
    n_rows = sum(n for _, n in found)
    if not n_rows:
        raise ValueError("expected rows, got empty chunks alone")
    return sum(right for right, _ in found) / n_rows


def _predictor(model: Any, method: str) -> Callable[[Any], Any]:
    """A function from the task that gives a chunk of rows to the task that predicts them."""
    from dask import delayed

    if is_chunked(model):
        return prediction_tasks(model, method)
    shared, task = delayed(without_training_state(model), pure=True, traverse=False), delayed(_call, pure=False)
    empty = (0,) if method == "predict" else (0, len(model.classes_))
    return lambda X: task(X, shared, empty, None, method)


def without_training_state(model: Any) -> Any:
    """The model without what predictions do not need."""
    found = copy.copy(model).set_callbacks()
    for name in _NOT_NEEDED:
        vars(found).pop(name, None)
    return found


def _lazy(model: Any, function: Any, X: Any, width: int | None, dtype: Any, *args: Any) -> Any:
    from dask import delayed

    shared = delayed(without_training_state(model), pure=True, traverse=False)
    meta = np.empty((0,) if width is None else (0, width), dtype)
    if is_frame(X):
        return X.map_partitions(function, shared, meta.shape, meta.dtype, *args, meta=meta)
    if getattr(X, "ndim", 0) != 2:
        raise ValueError(f"expected a Dask array X with two dimensions, got {getattr(X, 'ndim', 0)}")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    how = {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
    return X.map_blocks(function, shared, meta.shape, meta.dtype, *args, dtype=meta.dtype, meta=meta, **how)


def _call(X: Any, model: Any, empty: tuple[int, ...], dtype: Any, method: str) -> np.ndarray:
    return np.asarray(getattr(model, method)(X), dtype) if len(X) else np.empty(empty, dtype)


def _moments(X: Any, model: Any, empty: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.concatenate(model.latent(X), axis=1) if len(X) else np.empty(empty, dtype)


def _n_right(predicted: np.ndarray, y: Any) -> tuple[int, int]:
    return int(np.sum(predicted == np.asarray(y))), len(predicted)

"""``export_onnx(model, path)``: a fitted model as a file of standard ONNX operators."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import reduce
from importlib.metadata import version
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ...estimators._base import GPEstimator
from ...estimators.multitask_ivm_classifier import MultiTaskIVMClassifier
from ...estimators.multitask_ivm_regressor import MultiTaskIVMRegressor
from ...estimators.nearest_neighbor_gp_classifier import NearestNeighborGPClassifier
from ...estimators.nearest_neighbor_gp_regressor import NearestNeighborGPRegressor
from ...estimators.view_voting_classifier import ViewVotingClassifier
from ...estimators.virtual_vector_classifier import VirtualVectorClassifier
from ..files import write_whole
from . import inputs
from . import namespace as xp
from .graph import ExportError, Graph, RecordedArray
from .posteriors import calibrated, class_probabilities, moments, target_moments
from .writing import model_bytes, onnx_modules

#: Types that inputs of numbers may have.
DTYPES = ("float64", "float32")


def export_onnx(model: Any, path: str | os.PathLike[str], *, dtype: str = "float64") -> Path:
    """Write a fitted model as an ONNX file, for predictions without Python.

    The file has standard operators of the default domain only, and computes in double precision. Its input is ``X``
    (N, n_features); a model of a data frame with categories, or of a table, has one input (N, 1) for each column
    instead, by its name: numbers, NaN where one is missing; dates as days since 1970; or text, empty where it is
    missing. Outputs of a classifier are ``label`` (N,) and ``probabilities`` (N, n_classes), with columns as in
    ``classes_``; of a regressor ``mean`` and ``sd``, (N,).

    Parameters
    ----------
    model : a fitted classifier or regressor of gpclass, or ``TableModel``
    path : where to, and what is returned; by custom the name ends in ``.onnx``
    dtype : "float64" or "float32", default="float64"
        The type of the numbers in the inputs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpclass import GPClassifier, export_onnx
    >>> from gpclass.kernels import RBF
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GPClassifier(100.0 * RBF(3.0), hyper="fixed").fit(X, y)
    >>> path = export_onnx(model, "iris.onnx")  # doctest: +SKIP
    """
    onnx_modules()
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {list(DTYPES)}, got {dtype!r}")
    graph = Graph()
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        outputs = _outputs(model, graph, np.dtype(dtype))
    about = {"gpclass": version("gpclass"), "estimator": type(model).__name__}
    path = Path(path)
    write_whole(path, model_bytes(graph, outputs, about))
    return path


def _outputs(model: Any, graph: Graph, dtype: Any) -> dict[str, RecordedArray]:
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise TypeError(f"expected a fitted model of gpclass, got {model!r}")
    check_is_fitted(model)
    estimator, rows = _estimator_and_rows(model, graph, dtype)
    if is_classifier(estimator):
        proba = _proba(estimator, rows)
        proba = proba / xp.sum(proba, axis=1, keepdims=True)
        label = xp.take(graph.constant(_classes(estimator)), xp.argmax(proba, axis=1))
        return {"label": label, "probabilities": proba}
    mean, variance = _target_moments(estimator, rows)
    targets = estimator._targets
    return {"mean": targets.inverse(mean), "sd": xp.sqrt(variance) * targets.scale}


def _estimator_and_rows(model: Any, graph: Graph, dtype: Any) -> tuple[Any, RecordedArray]:
    """The estimator of a model, and its features (n, n_features), which are not in the kernel's units yet."""
    table = hasattr(model, "imputer_")
    estimator = model.estimator_ if table else model
    _refuse_estimator(estimator)
    known: Any = getattr(estimator, "_inputs", None)
    if table:
        rows = inputs.features(inputs.table_columns(graph, model, dtype), known)
    elif known is not None and known.frame.names:
        rows = inputs.features(inputs.frame_columns(graph, known, dtype), known)
    else:
        rows = inputs.matrix(graph, estimator.n_features_in_, dtype)
    return estimator, rows if known is None else _with_features(known, rows)


def _with_features(known: Any, rows: RecordedArray) -> RecordedArray:
    return rows if known.feature_map is None else known.feature_map.transform(rows, {})


def _refuse_estimator(estimator: Any) -> None:
    """Refuse by name what cannot be exported."""
    name = type(estimator).__name__
    if isinstance(estimator, (NearestNeighborGPClassifier, NearestNeighborGPRegressor)):
        raise ExportError(
            f"expected a model with a posterior of its own, got {name}, which solves equations for every row; "
            "SparseGPClassifier (--engine sparse), IVMClassifier and IVMRegressor (--engine ivm) are for many rows too"
        )
    known = (GPEstimator, ViewVotingClassifier, VirtualVectorClassifier)
    if not isinstance(estimator, known):
        raise ExportError(f"expected an estimator of gpclass or a TableModel, got {name}")


def _classes(estimator: Any) -> np.ndarray:
    """The classes as text or numbers."""
    values = estimator.classes_.tolist()
    if all(isinstance(value, str) for value in values) or all(
        isinstance(value, (bool, int, float)) for value in values
    ):
        return np.array(values)
    raise ExportError(f"expected classes of text or numbers, got {type(values[0]).__name__}")


# ---- estimators ------------------------------------------------------------------------------------------


def _proba(estimator: Any, rows: RecordedArray) -> RecordedArray:
    """Probabilities (n, n_classes) of features; not normalised yet."""
    if isinstance(estimator, VirtualVectorClassifier):
        return _proba(estimator.estimator_, _with_features(estimator.estimator_._inputs, rows))
    if isinstance(estimator, ViewVotingClassifier):
        return _voted(estimator, rows)
    likelihood, calibration = estimator.likelihood_, estimator.calibration_
    scaled = estimator._inputs.scaled(rows)
    if isinstance(estimator, MultiTaskIVMClassifier):
        mean, cov = _by_task(estimator, lambda posterior: moments(posterior, scaled), rows.graph)
        return calibrated(likelihood, calibration, mean, cov)
    return class_probabilities(estimator.posterior_, likelihood, calibration, scaled)


def _target_moments(estimator: Any, rows: RecordedArray) -> tuple[RecordedArray, ...]:
    """Mean and variance (n,) of new targets for features, in the units of training."""
    scaled, likelihood = estimator._inputs.scaled(rows), estimator.likelihood_
    if isinstance(estimator, MultiTaskIVMRegressor):
        return _by_task(estimator, lambda posterior: target_moments(posterior, likelihood, scaled), rows.graph)
    return target_moments(estimator.posterior_, likelihood, scaled)


def _by_task(estimator: Any, found: Callable[[Any], tuple[RecordedArray, ...]], graph: Graph) -> tuple[Any, ...]:
    """What the posterior of each row's task says; NaN for a task that is not known."""
    names = estimator.tasks_
    if len(names) == 1:
        return found(estimator.posteriors_[0])
    text = names.dtype.kind in "OU"
    task = graph.input("task", np.str_ if text else names.dtype, None)
    total: tuple[Any, ...] = ()
    for name, posterior in zip(names.tolist(), estimator.posteriors_, strict=True):
        own, parts = task.equal(str(name) if text else name), found(posterior)
        others = total or (np.nan,) * len(parts)
        total = tuple(
            xp.where(own[(slice(None), *(None,) * (part.ndim - 1))], part, other)
            for part, other in zip(parts, others, strict=True)
        )
    return total


def _voted(estimator: ViewVotingClassifier, rows: RecordedArray) -> RecordedArray:
    """The mean of the views' probabilities, or their product."""
    said = []
    for pipeline in estimator.estimators_.values():
        choice, model = pipeline[0], pipeline[-1]
        _refuse_estimator(model)
        places = np.array(choice.transformers_[0][2])
        if places.dtype.kind not in "iub" or getattr(model, "_inputs", None) is None or model._inputs.encoders:
            raise ExportError("expected views of columns by number, without categories, got others")
        own = xp.take(rows, rows.graph.constant(np.arange(rows.shape[1])[places]), axis=1)
        proba = _proba(model, _with_features(model._inputs, own))
        said.append(proba / xp.sum(proba, axis=1, keepdims=True))
    if estimator.voting == "sum":
        return reduce(add, said)
    log_proba = reduce(add, [xp.log(xp.maximum(proba, np.finfo(float).tiny)) for proba in said])
    return xp.exp(log_proba - xp.max(log_proba, axis=1, keepdims=True))

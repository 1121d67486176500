"""Metrics of predicted probabilities."""

from typing import Any, NamedTuple

import numpy as np


class ReliabilityCurve(NamedTuple):
    """Bins of the confidence in the predicted label: mean confidence, accuracy, and number of rows (or sum of their
    weights)."""

    confidence: np.ndarray
    accuracy: np.ndarray
    rows: np.ndarray


def label_positions(y_true: Any, classes: Any) -> np.ndarray:
    """The index (n,) of each label in ``classes``; other labels are refused."""
    y_true, classes = np.asarray(y_true), np.asarray(classes)
    order = np.argsort(classes)
    found = order[np.clip(np.searchsorted(classes, y_true, sorter=order), 0, len(classes) - 1)]
    unknown = classes[found] != y_true
    if np.any(unknown):
        raise ValueError(f"expected labels among {classes.tolist()}, got {y_true[unknown].tolist()[0]!r}")
    return found


def mean_log_probability(y_true: Any, proba: np.ndarray, classes: Any) -> float:
    """Average log probability of the true labels; proba has one column for each of ``classes``."""
    chosen = proba[np.arange(len(proba)), label_positions(y_true, classes)]
    return float(np.mean(np.log(np.maximum(chosen, 1e-300))))


def reliability_curve(
    y_true: Any,
    proba: np.ndarray,
    classes: Any,
    n_bins: int = 10,
    sample_weight: Any = None,
    strategy: str = "uniform",
) -> ReliabilityCurve:
    """Bin rows by the probability of their predicted label; empty bins are left out.

    As in scikit-learn's ``calibration_curve``, the bins of ``strategy="uniform"`` are equal steps from 0 to 1, and
    those of "quantile" hold equal numbers of rows.
    """
    if strategy not in ("uniform", "quantile"):
        raise ValueError(f"expected strategy 'uniform' or 'quantile', got {strategy!r}")
    weight = None if sample_weight is None else row_weights(sample_weight, len(proba))
    confidence = proba.max(axis=1)
    correct = proba.argmax(axis=1) == label_positions(y_true, classes)
    steps = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    edges = steps if strategy == "uniform" else np.quantile(confidence, steps)
    bins = np.searchsorted(edges, confidence, side="right")
    count = np.bincount(bins, weight, n_bins)
    filled = count > 0
    w = 1.0 if weight is None else weight
    mean = np.bincount(bins, w * confidence, n_bins)[filled] / count[filled]
    accuracy = np.bincount(bins, w * correct, n_bins)[filled] / count[filled]
    return ReliabilityCurve(mean, accuracy, count[filled])


def row_weights(given: Any, n_rows: int) -> np.ndarray:
    """Weights (n_rows,) as numbers; refused where one is negative, or all are 0."""
    weight = np.asarray(given, dtype=float)
    if weight.shape != (n_rows,) or not np.all((weight >= 0) & np.isfinite(weight)) or not np.any(weight):
        shown = f"shape {weight.shape}" if weight.shape != (n_rows,) else f"{weight.min():g} to {weight.max():g}"
        raise ValueError(f"expected {n_rows} weights that are not negative, not all of them 0, got {shown}")
    return weight


def checked_probabilities(proba: Any, n_classes: int) -> np.ndarray:
    """Probabilities (n, n_classes) as numbers; refused where one is not between 0 and 1."""
    found = np.asarray(proba, dtype=float)
    if found.ndim != 2 or found.shape[1] != n_classes:
        raise ValueError(f"expected probabilities (n, {n_classes}), got {found.shape}")
    wrong = found[~((found >= 0.0) & (found <= 1.0 + 1e-9))]
    if wrong.size:
        raise ValueError(f"expected probabilities between 0 and 1, got {wrong[0]:g}")
    return found


def calibration_error(
    y_true: Any, proba: np.ndarray, classes: Any, n_bins: int = 10, sample_weight: Any = None
) -> float:
    """Expected calibration error: mean absolute difference of confidence and accuracy over the bins, weighted by their
    rows, or by their sums of ``sample_weight`` (n,)."""
    curve = reliability_curve(y_true, proba, classes, n_bins, sample_weight)
    return float(np.sum(curve.rows * np.abs(curve.confidence - curve.accuracy)) / curve.rows.sum())

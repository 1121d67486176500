"""How good probabilities are, beyond how often the most probable label is right."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class ReliabilityCurve(NamedTuple):
    """Confidence in the predicted label, binned: mean confidence, share that was right, rows in each bin (or the sum of
    their weights)."""

    confidence: np.ndarray
    accuracy: np.ndarray
    rows: np.ndarray


def _label_positions(y_true: Any, classes: Any) -> np.ndarray:
    y_true, classes = np.asarray(y_true), np.asarray(classes)
    order = np.argsort(classes)
    place = np.clip(np.searchsorted(classes, y_true, sorter=order), 0, len(classes) - 1)
    found = order[place]
    unknown = classes[found] != y_true
    if np.any(unknown):
        raise ValueError(f"expected labels among {classes.tolist()}, got {y_true[unknown].tolist()[0]!r}")
    return found


def mean_log_probability(y_true: Any, proba: np.ndarray, classes: Any) -> float:
    """Average log probability of the true labels; proba has one column for each of ``classes``."""
    chosen = proba[np.arange(len(proba)), _label_positions(y_true, classes)]
    return float(np.mean(np.log(np.maximum(chosen, 1e-300))))


def reliability_curve(
    y_true: Any, proba: np.ndarray, classes: Any, n_bins: int = 10, sample_weight: Any = None
) -> ReliabilityCurve:
    """Bin rows by the probability of their predicted label, in equal steps from 0 to 1; empty bins are left out.
    ``sample_weight`` (n,) says how often rows count."""
    weight = None if sample_weight is None else _weights(sample_weight, len(proba))
    confidence = proba.max(axis=1)
    right = proba.argmax(axis=1) == _label_positions(y_true, classes)
    where = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    count = np.bincount(where, weight, n_bins)
    filled = count > 0
    times = 1.0 if weight is None else weight
    mean = np.bincount(where, times * confidence, n_bins)[filled] / count[filled]
    accuracy = np.bincount(where, times * right, n_bins)[filled] / count[filled]
    return ReliabilityCurve(mean, accuracy, count[filled])


def _weights(given: Any, n_rows: int) -> np.ndarray:
    weight = np.asarray(given, dtype=float)
    if weight.shape != (n_rows,) or not np.all((weight >= 0) & np.isfinite(weight)) or not np.any(weight):
        shown = f"shape {weight.shape}" if weight.shape != (n_rows,) else f"{weight.min():g} to {weight.max():g}"
        raise ValueError(f"expected {n_rows} weights that are not negative, not all of them 0, got {shown}")
    return weight


def calibration_error(
    y_true: Any, proba: np.ndarray, classes: Any, n_bins: int = 10, sample_weight: Any = None
) -> float:
    """Expected calibration error: mean gap between confidence and accuracy over the bins, weighted by their rows, or by
    their sums of ``sample_weight`` (n,)."""
    curve = reliability_curve(y_true, proba, classes, n_bins, sample_weight)
    return float(np.sum(curve.rows * np.abs(curve.confidence - curve.accuracy)) / curve.rows.sum())

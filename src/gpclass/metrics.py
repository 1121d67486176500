"""How good probabilities are, beyond how often the most probable label is right."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class ReliabilityCurve(NamedTuple):
    """Confidence in the predicted label, binned: mean confidence, share that was right, rows in each bin."""

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


def reliability_curve(y_true: Any, proba: np.ndarray, classes: Any, n_bins: int = 10) -> ReliabilityCurve:
    """Bin rows by the probability of their predicted label, in equal steps from 0 to 1; empty bins are left out."""
    confidence = proba.max(axis=1)
    right = proba.argmax(axis=1) == _label_positions(y_true, classes)
    where = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    count = np.bincount(where, minlength=n_bins)
    filled = count > 0
    mean = np.bincount(where, confidence, n_bins)[filled] / count[filled]
    accuracy = np.bincount(where, right, n_bins)[filled] / count[filled]
    return ReliabilityCurve(mean, accuracy, count[filled])


def calibration_error(y_true: Any, proba: np.ndarray, classes: Any, n_bins: int = 10) -> float:
    """Expected calibration error: mean gap between confidence and accuracy over the bins, weighted by their rows."""
    curve = reliability_curve(y_true, proba, classes, n_bins)
    return float(np.sum(curve.rows * np.abs(curve.confidence - curve.accuracy)) / curve.rows.sum())

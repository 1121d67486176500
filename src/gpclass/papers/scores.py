"""What is measured of a classifier on rows it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np


def scores(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Error in per cent, and the sum of the log probabilities of the true labels, the papers' predictive likelihood."""
    log_p = model.predict_log_proba(X)
    right = np.searchsorted(model.classes_, y)
    unknown = ~np.isin(y, model.classes_)
    if np.any(unknown):
        raise ValueError(f"expected test labels among {model.classes_.tolist()}, got {np.asarray(y)[unknown][0]!r}")
    return {
        "error": 100.0 * float(np.mean(log_p.argmax(axis=1) != right)),
        "log_likelihood": float(log_p[np.arange(len(y)), right].sum()),
    }

"""Class labels as users give them: checked, hard or soft."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, and what pandas has for them."""
    return value is None or (not isinstance(value, str) and str(value) in ("nan", "<NA>", "NaT"))


def refuse_mixed_labels(y: Any) -> None:
    """NumPy would make strings of a list of numbers and strings, and cannot sort an object array of both."""
    if y is None or (not isinstance(y, (list, tuple)) and np.asarray(y).dtype != np.dtype(object)):
        return
    labels = list(np.asarray(y, dtype=object).ravel())
    missing = [i for i, label in enumerate(labels) if is_missing(label)]
    if missing:
        row = missing[0] * np.shape(y)[0] // len(labels)
        raise ValueError(f"expected a label in every row, got {labels[missing[0]]!r} in row {row}")
    strings = [isinstance(label, str) for label in labels]
    if any(strings) and not all(strings):
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(f"expected labels of one type, got a mixture of {' and '.join(kinds)}")


def is_soft(y: Any) -> bool:
    """Whether the labels come as a matrix of probabilities and not one for each row."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, (list, tuple)):
        shape = np.shape(np.asarray(y, dtype=object))
    return shape is not None and len(shape) == 2 and shape[1] >= 2


def checked_proba(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Soft labels as (n, K) and the classes they are about."""
    proba = check_array(y, dtype=np.float64, input_name="y")
    sums = proba.sum(axis=1)
    wrong = np.flatnonzero((proba.min(axis=1) < 0) | (np.abs(sums - 1.0) > 1e-6))
    if len(wrong):
        row = proba[wrong[0]]
        fault = f"a negative entry {row.min():g}" if row.min() < 0 else f"a sum of {sums[wrong[0]]:g}"
        raise ValueError(
            f"expected labels (n,), or soft labels (n, n_classes) whose rows are probabilities that sum to 1; got "
            f"{fault} in row {wrong[0]} of a matrix {proba.shape}"
        )
    columns = list(getattr(y, "columns", range(proba.shape[1])))
    if len({isinstance(name, str) for name in columns}) > 1:
        raise ValueError(f"expected soft labels with column names of one type, got {columns}")
    classes = np.asarray(columns)
    if len(np.unique(classes)) < len(classes):
        raise ValueError(f"expected soft labels with distinct column names, got {classes.tolist()}")
    order = np.argsort(classes)
    return (proba / sums[:, None])[:, order], classes[order]


def class_factors(class_weight: Any, classes: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """The weight of each class, as scikit-learn understands ``class_weight``."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return len(proba) / (len(classes) * np.maximum(proba.sum(axis=0), 1e-300))
    factors = compute_class_weight(class_weight, classes=classes, y=classes)
    for label, factor in zip(classes.tolist(), factors.tolist(), strict=True):
        if not (np.isfinite(factor) and factor >= 0):
            raise ValueError(f"expected class weights that are finite and not negative, got {factor} for {label!r}")
    return factors

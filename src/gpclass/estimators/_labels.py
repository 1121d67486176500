"""Class labels as users give them: checked, encoded as whole numbers, hard or soft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

#: The code of a row without a label.
UNLABELLED = -1


def is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: None, NaN, and what pandas has for them."""
    return value is None or (not isinstance(value, str) and str(value) in ("nan", "<NA>", "NaT"))


def refuse_masked(values: Any, name: str) -> None:
    """Refuse a masked array, whose mask NumPy and scikit-learn would drop."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(
            f"expected {name} without a mask, got a masked array; fill what is masked, for example with "
            ".filled(np.nan), or leave those rows out"
        )


def refuse_multilabel(y: Any) -> None:
    """Refuse several labels for a row: lists of different lengths, sets, or indicators that do not add up to one."""
    several = isinstance(y, (list, tuple)) and (
        any(isinstance(row, (set, frozenset)) for row in y)
        or len({len(row) for row in y if isinstance(row, (list, tuple))}) > 1
    )
    if not several:
        values = np.asarray(y)
        matrix = values.ndim == 2 and values.shape[1] > 1 and values.dtype.kind in "biuf"
        several = matrix and bool(np.isin(values, (0, 1)).all() and np.any(values.sum(axis=1) != 1))
    if several:
        raise ValueError(
            "expected one label for each row, got several labels, or none, for some rows (multilabel); learn each "
            "label by a separate classifier, from a matrix Y of zeros and ones: "
            "sklearn.multioutput.MultiOutputClassifier(GPClassifier()).fit(X, Y)"
        )


@dataclass(frozen=True)
class Labels:
    """The classes of a fitted model, in the order of its probabilities."""

    classes: np.ndarray

    @classmethod
    def of(cls, y: Any) -> Labels:
        """The distinct labels of y, sorted; at least two."""
        classes = np.unique(label_array(y))
        if len(classes) < 2:
            only = classes.tolist()[0]
            raise ValueError(f"expected labels of at least 2 classes, got 1 class: all {len(y)} labels are {only!r}")
        return cls(classes)

    @classmethod
    def ordered(cls, order: Any) -> Labels:
        """Labels from lowest to highest, as the user lists them."""
        classes = np.asarray(order)
        if classes.ndim != 1 or len(classes) < 2 or len(np.unique(classes)) != len(classes):
            raise ValueError(f"order must list at least 2 labels, each once, from lowest to highest; got {order!r}")
        return cls(classes)

    @classmethod
    def listed(cls, classes: Any) -> Labels:
        """All labels that can ever come, as the user lists them."""
        if isinstance(classes, str) or np.ndim(classes) != 1:
            raise ValueError(f"expected a list of all labels in classes=, got {classes!r}")
        given = list(classes)
        missing = [label for label in given if is_missing(label)]
        if missing:
            raise ValueError(f"expected labels in classes=, got {missing[0]!r} among {given!r}")
        if len({isinstance(label, str) for label in given}) > 1:
            kinds = sorted({type(label).__name__ for label in given})
            raise ValueError(f"expected labels of one type in classes=, got a mixture of {' and '.join(kinds)}")
        return cls(np.unique(given))

    def __len__(self) -> int:
        return len(self.classes)

    def encode(self, y: Any, source: str = "the classes ", hint: str = "") -> np.ndarray:
        """The place (n,) of each label among the classes; labels of other classes are refused."""
        places = {label: place for place, label in enumerate(self.classes.tolist())}
        given = label_array(y).tolist()
        unknown = sorted({label for label in given if label not in places})
        if unknown:
            known = self.classes.tolist()
            if {str(label) for label in places}.isdisjoint(map(str, unknown)):
                raise ValueError(f"expected labels of {source}{known}, got {unknown} too{hint}")
            # The same to the eye: what differs is the type.
            wanted, got = (type(labels[0]).__name__ for labels in (known, unknown))
            raise ValueError(f"expected labels of {source}{known} ({wanted}), got {unknown} ({got})")
        return np.array([places[label] for label in given], dtype=np.int64)


def label_array(y: Any) -> np.ndarray:
    """Labels (n,) as an array that NumPy can sort, checked as scikit-learn does."""
    y = np.asarray(y)
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise ValueError(
            f"{error} For regression targets there are GPRegressor, IVMRegressor and, for several tasks, "
            "MultiTaskIVMRegressor."
        ) from None
    return y


def check_labels(y: Any) -> Any:
    """The labels as they are, refused where one is missing or masked, or where they are of different types.

    NumPy would make strings of a list of numbers and strings, and cannot sort an object array of both. Its strings of
    variable width become those of fixed width, which scikit-learn can check.
    """
    refuse_masked(y, "y")
    refuse_multilabel(y)
    listed = isinstance(y, (list, tuple))
    kind = "O" if listed or y is None else np.asarray(y).dtype.kind
    if y is None or kind not in "OT":
        return y
    labels = np.asarray(y, dtype=object).ravel().tolist()
    missing = [i for i, label in enumerate(labels) if is_missing(label)]
    if missing:
        row = missing[0] * np.shape(y)[0] // len(labels)
        raise ValueError(f"expected a label in every row, got {labels[missing[0]]!r} in row {row}")
    strings = [isinstance(label, str) for label in labels]
    if any(strings) and not all(strings):
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(f"expected labels of one type, got a mixture of {' and '.join(kinds)}")
    return np.array(labels).reshape(np.shape(y)) if kind == "T" else y


def label_column(y: Any, name: str = "y") -> np.ndarray:
    """Labels beside rows that are read in blocks, checked as for rows in memory."""
    column = column_or_1d(check_labels(y))
    assert_all_finite(column, input_name=name)
    return column


def split_unlabelled(y: Any, mark: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels that are there, and which rows (n,) have none: None, NaN, or ``mark``."""
    refuse_masked(y, "y")
    refuse_multilabel(y)
    given = np.asarray(y, dtype=object)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise ValueError(f"expected labels y (n,), got an array of shape {given.shape}")
    missing = np.array([is_missing(value) or _is_mark(value, mark) for value in given.tolist()], bool)
    named = "-1, None or NaN" if mark == UNLABELLED else f"{mark!r}, None or NaN"
    if not np.any(missing):
        raise ValueError(
            f"expected some rows without a label (marked {named}), got a label in every one of {len(given)} rows; "
            "for those there are IVMClassifier and GPClassifier"
        )
    known = np.array(given[~missing].tolist())
    if not len(known):
        raise ValueError(f"expected labelled rows of at least 2 classes, got no label at all in {len(given)} rows")
    check_labels(given[~missing])
    if len(np.unique(known)) < 2:
        raise ValueError(
            f"expected labelled rows of at least 2 classes, got {len(known)} labelled rows, all "
            f"{known.tolist()[0]!r}, and {missing.sum()} without a label"
        )
    return known, missing


def _is_mark(value: Any, mark: Any) -> bool:
    """Whether a value says that there is no label; as text too, which NumPy makes of numbers among strings."""
    if mark is None or isinstance(value, bool) != isinstance(mark, bool):
        return False
    return bool(value == mark) or (isinstance(value, str) and value == str(mark))


def is_soft(y: Any) -> bool:
    """Whether the labels come as a matrix of probabilities and not one for each row."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, (list, tuple)):
        shape = np.shape(np.asarray(y, dtype=object))
    return shape is not None and len(shape) == 2 and shape[1] >= 2


def soft_labels(y: Any) -> tuple[np.ndarray, Labels]:
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
    return (proba / sums[:, None])[:, order], Labels(classes[order])


def class_factors(class_weight: Any, classes: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """The weight of each class, as scikit-learn understands ``class_weight``."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return len(proba) / (len(classes) * np.maximum(proba.sum(axis=0), 1e-300))
    factors = compute_class_weight(class_weight, classes=classes, y=classes)
    for label, factor in zip(classes.tolist(), factors.tolist(), strict=True):
        if not (np.isfinite(factor) and factor >= 0):
            raise ValueError(f"expected class weights that are finite and not negative, got {factor} for {label!r}")
    return factors

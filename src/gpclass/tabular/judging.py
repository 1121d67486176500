"""Predictions of training rows that do not know those rows' own labels, for honest scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split

from .filling import FillGaps
from .reading import TableError

_HELD_OUT, _MOST_HELD_OUT = 0.2, 2000
#: Parts that known labels are hidden in, in turn, where few are known.
_FOLDS = 5


class Judged(NamedTuple):
    """How rows were predicted, which rows, and what: labels by place and ``proba``, or ``y``, ``mean``, ``sd``."""

    how: str
    rows: np.ndarray
    scored: dict[str, np.ndarray]


@contextmanager
def without_strangers() -> Iterator[None]:
    """Categories that were not there in training are told of in notes, with their place."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*categories that were not there in fit.*")
        yield


def fitted(estimator: Any, X: Any, y: np.ndarray, weights: np.ndarray | None, callback: Any) -> tuple[Any, list[str]]:
    """A fitted copy, and what it warned of."""
    model = clone(estimator)
    if callback is not None:
        model.set_callbacks(callback)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
    if callback is not None:
        model.set_callbacks()  # a bar is not to be saved with the model
    return model, list(dict.fromkeys(str(warning.message).splitlines()[0] for warning in said))


def left_out(model: Any, y: np.ndarray) -> Judged | None:
    """From the model's own leave-one-out predictions, where it has honest ones."""
    if getattr(model, "loo_mean_", None) is not None:
        return Judged("leave-one-out", np.arange(len(y)), {"y": y, "mean": model.loo_mean_, "sd": model.loo_std_})
    # The informative vector machine passes over easy rows, which flatters its leave-one-out predictions.
    proba = None if getattr(model, "sites_", None) is not None else getattr(model, "loo_proba_", None)
    if proba is None:
        return None
    rows = np.flatnonzero(~np.isnan(proba[:, 0]))
    return Judged("leave-one-out", rows, {"labels": _places(y[rows], model.classes_), "proba": proba[rows]})


def held_out(
    estimator: Any, filler: FillGaps, raw: Any, y: np.ndarray, classes: Any, seed: int, callback: Any
) -> Judged:
    """From a second model, of all but some rows, for those; ``classes`` is None for numbers."""
    size = min(int(np.ceil(_HELD_OUT * len(y))), _MOST_HELD_OUT)
    together = None
    if classes is not None and np.unique(y, return_counts=True)[1].min() > 1 and size >= len(classes):
        together = y
    train, test = train_test_split(np.arange(len(y)), test_size=size, random_state=seed, stratify=together)
    own = clone(filler).fit(raw.iloc[train])
    judge, _ = fitted(estimator, own.transform(raw.iloc[train]), y[train], None, callback)
    X = own.transform(raw.iloc[test])
    with without_strangers():
        if classes is None:
            mean, sd = judge.predict(X, return_std=True)
            return Judged("held-out", test, {"y": y[test], "mean": mean, "sd": sd})
        return Judged("held-out", test, {"labels": _places(y[test], classes), "proba": _proba(judge, X, classes)})


def hidden(estimator: Any, X: Any, y: np.ndarray, classes: Any, seed: int, callback: Any) -> Judged:
    """From models for which some of the known labels were hidden, in turn: they are then rows without label."""
    known = np.flatnonzero([label is not None for label in y.tolist()])
    labels = _places(y[known], classes)
    fewest = int(np.bincount(labels).min())
    if fewest < 2:
        rare = np.asarray(classes).tolist()[np.bincount(labels).argmin()]
        raise TableError(f"expected at least two rows of every label, got {fewest} of {rare!r}")
    proba = np.empty((len(known), len(classes)))
    folds = StratifiedKFold(min(_FOLDS, fewest), shuffle=True, random_state=seed)
    for _, test in folds.split(known, labels):
        heard = y.copy()
        heard[known[test]] = None
        judge, _ = fitted(estimator, X, heard, None, callback)
        proba[test] = _proba(judge, X.iloc[known[test]], classes)
    return Judged("labels hidden", known, {"labels": labels, "proba": proba})


def _places(y: np.ndarray, classes: Any) -> np.ndarray:
    where = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
    return np.array([where[label] for label in y.tolist()])


def _proba(judge: Any, X: Any, classes: Any) -> np.ndarray:
    """Probabilities of all classes, of which a model of fewer rows may not know some."""
    proba = np.zeros((len(X), len(classes)))
    with without_strangers():
        proba[:, _places(judge.classes_, classes)] = judge.predict_proba(X)
    return proba

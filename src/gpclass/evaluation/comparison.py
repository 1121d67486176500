"""Several classifiers on the same folds: error, log probability, calibration, time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import _safe_split

from ..training.monitor import Task, task
from .metrics import calibration_error, mean_log_probability


class Score(NamedTuple):
    """How one classifier did, averaged over folds; spreads are standard errors between folds, NaN for a single one."""

    name: str
    error: float
    error_spread: float
    log_probability: float
    log_probability_spread: float
    calibration_error: float
    seconds: float


class Comparison(NamedTuple):
    """Scores, best log probability first, and the held-out probabilities (n, K) behind them."""

    scores: tuple[Score, ...]
    proba: dict[str, np.ndarray]
    classes: np.ndarray

    def distance(self, name: str, other: str) -> float:
        """Mean absolute difference of held-out probabilities, such as the distance to a long Gibbs run."""
        return float(np.nanmean(np.abs(self.proba[name] - self.proba[other])))

    def __str__(self) -> str:
        width = max(len("model"), *(len(score.name) for score in self.scores))
        head = f"{'model':{width}} {'error %':>13} {'mean log prob':>18} {'calibration %':>14} {'seconds':>9}"
        lines = [
            f"{s.name:{width}} {100 * s.error:6.2f} +- {100 * s.error_spread:4.2f} "
            f"{s.log_probability:9.4f} +- {s.log_probability_spread:6.4f} "
            f"{100 * s.calibration_error:13.1f} {s.seconds:9.2f}"
            for s in self.scores
        ]
        return "\n".join([head, *lines])


def compare(estimators: Mapping[str, Any], X: Any, y: Any, *, cv: Any = 5, verbose: bool = False) -> Comparison:
    """Fit each classifier on the same folds and score its held-out probabilities.

    Parameters
    ----------
    estimators : mapping of name to scikit-learn classifier with ``predict_proba``
    X, y : arrays or data frames
    cv : int or splitter
        Folds as in scikit-learn; a number means that many stratified folds. Every training part needs every class.
    verbose : bool
        Print a line after each fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpclass import GPClassifier, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare({"vb": GPClassifier(), "ep": GPClassifier(inference="ep")}, X, y)
    >>> [score.name for score in result.scores][0] in ("vb", "ep")
    True
    """
    if not isinstance(estimators, Mapping) or not estimators:
        raise TypeError(
            f"expected a mapping of name to classifier, such as {{'vb': GPClassifier()}}, got {estimators!r}"
        )
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"expected one label for each row, got y of shape {y.shape}; soft labels cannot be scored")
    classes = np.unique(y)
    folds = list(check_cv(cv, y, classifier=True).split(X, y))
    with task("comparison", len(estimators) * len(folds)) as steps:
        return _compared(estimators, X, y, classes, folds, verbose, steps)


def _compared(
    estimators: Mapping[str, Any], X: Any, y: np.ndarray, classes: np.ndarray, folds: list, verbose: bool, steps: Task
) -> Comparison:
    scores, everything = [], {}
    for name, estimator in estimators.items():
        proba = np.full((len(y), len(classes)), np.nan)
        rows = []
        for train, test in folds:
            model = clone(estimator)
            start = time.perf_counter()
            X_train, y_train = _safe_split(model, X, y, train)
            X_test, y_test = _safe_split(model, X, y, test, train)
            model.fit(X_train, y_train)
            if len(model.classes_) != len(classes):
                raise ValueError(
                    f"expected every class in every training part, got {len(model.classes_)} of {len(classes)} in one; "
                    "use stratified folds or fewer of them"
                )
            # Ordered labels have an order of their own.
            columns = np.searchsorted(classes, model.classes_)
            proba[np.ix_(test, columns)] = model.predict_proba(X_test)
            seconds = time.perf_counter() - start
            wrong = np.mean(classes[proba[test].argmax(axis=1)] != y_test)
            rows.append((wrong, mean_log_probability(y_test, proba[test], classes), seconds))
            steps.step(name)
            if verbose:
                print(f"{name}: error {100 * wrong:.2f} %, {seconds:.2f} s", flush=True)
        table = np.array(rows)
        mean, spread = table.mean(axis=0), np.full(table.shape[1], np.nan)
        if len(folds) > 1:
            spread = table.std(axis=0, ddof=1) / np.sqrt(len(folds))
        seen = ~np.isnan(proba[:, 0])
        gap = calibration_error(y[seen], proba[seen], classes)
        scores.append(Score(name, mean[0], spread[0], mean[1], spread[1], gap, mean[2]))
        everything[name] = proba
    return Comparison(tuple(sorted(scores, key=lambda s: -s.log_probability)), everything, classes)

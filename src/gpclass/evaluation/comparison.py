"""Cross-validated comparison of classifiers: error, log probability, calibration, time."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import _safe_split

from ..training.monitor import SILENT, Monitor
from .leaderboard import ClassTarget
from .metrics import calibration_error, mean_log_probability


class Score(NamedTuple):
    """Scores of one classifier, means over folds; spreads are standard errors between folds, NaN for a single fold."""

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


def compare(
    estimators: Mapping[str, Any], X: Any, y: Any, *, cv: Any = 5, verbose: bool = False, monitor: Monitor = SILENT
) -> Comparison:
    """Fit each classifier on the same folds and score its held-out probabilities.

    Parameters
    ----------
    estimators : mapping of name to scikit-learn classifier with ``predict_proba``
    X, y : arrays or data frames
    cv : int or splitter
        Folds as in scikit-learn; a number means that many stratified folds. Every training part needs every class.
    verbose : bool
        Print a line after each fit.
    monitor : Monitor
        Follows the progress.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpclass import GPClassifier, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare({"vb": GPClassifier(), "laplace": GPClassifier(inference="laplace")}, X, y, cv=2)
    >>> [score.name for score in result.scores]
    ['vb', 'laplace']
    """
    if not isinstance(estimators, Mapping) or not estimators:
        raise TypeError(f"expected a dictionary such as {{'vb': GPClassifier()}} of classifiers, got {estimators!r}")
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"expected one label for each row, got y of shape {y.shape}; soft labels cannot be scored")
    classes = np.unique(y)
    folds = list(check_cv(cv, y, classifier=True).split(X, y))
    scores, probas = [], {}
    with monitor.task("comparison", len(estimators) * len(folds)) as steps:
        for name, estimator in estimators.items():
            probas[name], values = np.full((len(y), len(classes)), np.nan), []
            for train, test in folds:
                start = time.perf_counter()
                proba = _predict_fold(estimator, X, y, train, test, classes)
                seconds = time.perf_counter() - start
                probas[name][test] = proba
                error = np.mean(classes[proba.argmax(axis=1)] != y[test])
                values.append((error, mean_log_probability(y[test], proba, classes), seconds))
                steps.step(name)
                if verbose:
                    print(f"{name}: error {100 * error:.2f} %, {seconds:.2f} s", flush=True)
            mean, spread = np.mean(values, axis=0), np.full(3, np.nan)
            if len(folds) > 1:
                spread = np.std(values, axis=0, ddof=1) / np.sqrt(len(folds))
            tested = ~np.isnan(probas[name][:, 0])
            ece = calibration_error(y[tested], probas[name][tested], classes)
            scores.append(Score(name, mean[0], spread[0], mean[1], spread[1], ece, mean[2]))
    return Comparison(tuple(sorted(scores, key=lambda s: -s.log_probability)), probas, classes)


def _predict_fold(
    estimator: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    model = clone(estimator)
    X_train, y_train = _safe_split(model, X, y, train)
    X_test, _ = _safe_split(model, X, y, test, train)
    return ClassTarget(classes).predict(model.fit(X_train, y_train), X_test)

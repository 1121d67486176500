"""Scores of a model, from predictions of training rows that were made without their labels."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, train_test_split

from ..evaluation.metrics import calibration_error, label_positions
from .imputation import ViewImputer
from .tables import Table, TableError

_TEST_SIZE, _MAX_TEST_ROWS = 0.2, 2000
#: Folds in which known labels are hidden, where few are known.
_FOLDS = 5
#: Rows listed as informative or surprising.
_LISTED = 10


class Predictions(NamedTuple):
    """How rows were predicted, which rows, and the predictions: ``labels`` (positions in the classes) and ``proba``,
    or ``y``, ``mean`` and ``sd``."""

    how: str
    rows: np.ndarray
    scored: dict[str, np.ndarray]


# ---- predictions without the rows' own labels ------------------------------------------------------------------------


@contextmanager
def unknown_categories_ignored() -> Iterator[None]:
    """Without the warnings about unknown categories, which are in the notes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*categories that were not there in fit.*")
        yield


def fit_clone(estimator: Any, X: Any, y: Any, weights: Any = None, callback: Any = None) -> tuple[Any, list[str]]:
    """A fitted clone, and the first lines of its warnings."""
    model = clone(estimator)
    if callback is not None:
        model.set_callbacks(callback)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
    if callback is not None:
        model.set_callbacks()  # a progress bar is not part of a saved model
    return model, first_lines(caught)


def first_lines(caught: list[warnings.WarningMessage]) -> list[str]:
    """The first line of each warning, once."""
    return list(dict.fromkeys(str(warning.message).splitlines()[0] for warning in caught))


def leave_one_out(model: Any, y: np.ndarray) -> Predictions | None:
    """The leave-one-out predictions of a fitted model, where it has unbiased ones."""
    if hasattr(model, "components_"):  # a metric that was fitted to these very predictions flatters them
        return None
    if getattr(model, "loo_mean_", None) is not None:
        return Predictions("leave-one-out", np.arange(len(y)), {"y": y, "mean": model.loo_mean_, "sd": model.loo_std_})
    # The informative vector machine does not select easy rows, so its leave-one-out predictions are optimistic.
    proba = None if getattr(model, "sites_", None) is not None else getattr(model, "loo_proba_", None)
    if proba is None:
        return None
    rows = np.flatnonzero(~np.isnan(proba[:, 0]))
    scored = {"labels": label_positions(y[rows], model.classes_), "proba": proba[rows]}
    return Predictions("leave-one-out", rows, scored)


def held_out(
    estimator: Any,
    imputer: ViewImputer,
    raw: Any,
    y: np.ndarray,
    classes: Any,
    seed: int,
    callback: Any,
    weights: np.ndarray | None = None,
) -> Predictions:
    """Predictions of held-out rows by a second model; ``classes`` is None for regression."""
    size = min(int(np.ceil(_TEST_SIZE * len(y))), _MAX_TEST_ROWS)
    stratify = None
    if classes is not None and np.unique(y, return_counts=True)[1].min() > 1 and size >= len(classes):
        stratify = y
    train, test = train_test_split(np.arange(len(y)), test_size=size, random_state=seed, stratify=stratify)
    imputer = clone(imputer).fit(raw.iloc[train])
    weights = None if weights is None else weights[train]
    model, _ = fit_clone(estimator, imputer.transform(raw.iloc[train]), y[train], weights, callback)
    known = {"y": y[test]} if classes is None else {"labels": label_positions(y[test], classes)}
    return Predictions("held-out", test, known | predicted(model, imputer.transform(raw.iloc[test]), classes))


def labels_hidden(estimator: Any, X: Any, y: np.ndarray, classes: Any, seed: int, callback: Any) -> Predictions:
    """Predictions of labelled rows by models for which these labels were hidden, fold by fold."""
    known = np.flatnonzero([label is not None for label in y.tolist()])
    labels = label_positions(y[known], classes)
    counts = np.bincount(labels)
    if counts.min() < 2:
        rare = np.asarray(classes).tolist()[counts.argmin()]
        raise TableError(f"expected at least two rows of every label, got {counts.min()} of {rare!r}")
    proba = np.empty((len(known), len(classes)))
    folds = StratifiedKFold(min(_FOLDS, counts.min()), shuffle=True, random_state=seed)
    for _, test in folds.split(known, labels):
        remaining = y.copy()
        remaining[known[test]] = None
        model, _ = fit_clone(estimator, X, remaining, callback=callback)
        proba[test] = predicted(model, X.iloc[known[test]], classes)["proba"]
    return Predictions("labels hidden", known, {"labels": labels, "proba": proba})


def predicted(model: Any, X: Any, classes: Any) -> dict[str, np.ndarray]:
    """``proba`` of all classes, 0 for those without training rows; ``mean`` and ``sd`` of a regression, which has no
    classes."""
    with unknown_categories_ignored():
        if classes is None:
            return dict(zip(("mean", "sd"), model.predict(X, return_std=True), strict=True))
        proba = np.zeros((len(X), len(classes)))
        proba[:, label_positions(model.classes_, classes)] = model.predict_proba(X)
    return {"proba": proba}


# ---- scores ----------------------------------------------------------------------------------------------------------


def classification_scores(
    labels: np.ndarray, proba: np.ndarray, ordered: bool = False, weights: np.ndarray | None = None
) -> dict[str, Any]:
    """Scores of probabilities (n, K) for the label positions (n,); ``ordered`` adds the mean distance in steps of the
    order, ``weights`` (n,) weigh the rows."""
    n, K = proba.shape
    w = np.ones(n) if weights is None else weights
    shares = np.bincount(labels, w, minlength=K) / w.sum()
    predicted = proba.argmax(axis=1)
    scores = {
        "rows": n,
        **_mean("error", (predicted != labels).astype(float), w),
        **_mean("log_loss", log_losses(labels, proba), w),
        "calibration_error": calibration_error(labels, proba, np.arange(K), sample_weight=weights),
        # The scores of predicting the class frequencies.
        "guess_error": float(1.0 - shares.max()),
        "guess_log_loss": float(-np.sum(shares[shares > 0] * np.log(shares[shares > 0]))),
    }
    if ordered:
        scores |= _mean("mean_steps_off", np.abs(predicted - labels).astype(float), w)
    return scores


def confusion(labels: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """Confusion matrix (K, K): rows by label, columns by prediction."""
    return confusion_matrix(labels, proba.argmax(axis=1), labels=range(proba.shape[1]))


def log_losses(labels: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """The log loss of each row."""
    return -np.log(np.maximum(proba[np.arange(len(proba)), labels], 1e-300))


def regression_scores(y: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> dict[str, Any]:
    """Scores of Gaussian predictions (n,)."""
    residual, w = y - mean, np.ones(len(y))
    log_density = -0.5 * (residual / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
    inside = (np.abs(residual) <= 1.6448536269514722 * sd).astype(float)
    # Squares of tiny values underflow: a power of two as unit avoids that without rounding.
    unit = float(np.ldexp(1.0, np.frexp(max(np.abs(y).max(), np.abs(residual).max()))[1]))
    squares = (residual / unit) ** 2
    rmse = float(np.sqrt(squares.mean()))
    square_se = _mean("square", squares, w)["square_se"]
    spread = float((y / unit).std())
    return {
        "rows": len(y),
        "rmse": unit * rmse,
        "rmse_se": unit * (square_se / (2.0 * rmse)) if square_se is not None and rmse > 0 else None,
        "explained": float(1.0 - squares.mean() / spread**2) if spread > 0 else 0.0,
        **_mean("log_loss", -log_density, w),
        **_mean("inside_90", inside, w),
        "guess_rmse": unit * spread,
    }


def _mean(name: str, values: np.ndarray, weights: np.ndarray) -> dict[str, float | None]:
    """A weighted mean and its standard error, None for one row."""
    mean = float(np.average(values, weights=weights))
    n = len(values)
    error = np.sqrt(np.sum((weights * (values - mean)) ** 2) * n / max(n - 1, 1)) / weights.sum()
    return {name: mean, f"{name}_se": float(error) if n > 1 else None}


def formatted_scores(scores: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, value with standard error, and a reference value of each score, as text."""

    def text(name: str, digits: str, factor: float = 1.0, unit: str = "") -> str:
        value, error = factor * scores[name], scores[f"{name}_se"]
        return f"{value:z{digits}}{unit}" + ("" if error is None else f" ± {factor * error:{digits}}")

    def percent(name: str) -> str:
        return text(name, ".2f", 100.0, " %")

    log_loss = ("log loss", text("log_loss", ".4f"))
    if "rmse" in scores:
        return [
            ("root mean square error", text("rmse", ".4g"), f"predicting the mean {scores['guess_rmse']:.4g}"),
            ("variance explained", f"{100 * scores['explained']:z.1f} %", ""),
            ("inside the 90 % interval", percent("inside_90"), "expected 90 %"),
            (*log_loss, "nats per row"),
        ]
    rows = [
        ("error", percent("error"), f"predicting the most frequent label {100 * scores['guess_error']:.2f} %"),
        (*log_loss, f"nats per row; predicting class frequencies {scores['guess_log_loss']:.4f}"),
        ("calibration error", f"{100 * scores['calibration_error']:.1f} %", "mean |confidence - accuracy|"),
    ]
    if "mean_steps_off" in scores:
        rows.insert(1, ("steps off", text("mean_steps_off", ".3f"), "mean distance of the prediction in the order"))
    return rows


# ---- rows to inspect -------------------------------------------------------------------------------------------------


def evenly_spaced(n: int, most: int) -> np.ndarray:
    """At most so many of n indices."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def surprising_rows(table: Table, predictions: Predictions, labels: list[str]) -> list[dict[str, Any]]:
    """Rows whose label or value had the lowest predicted probability."""
    rows, scored = predictions.rows, predictions.scored
    if "mean" in scored:
        off = np.abs(scored["y"] - scored["mean"]) / scored["sd"]
        return listed_rows(table, rows, np.argsort(-off), sds_off=off.tolist(), expected=scored["mean"].tolist())
    proba = scored["proba"]
    p = proba[np.arange(len(proba)), scored["labels"]]
    expected = [labels[k] for k in proba.argmax(axis=1)]
    return listed_rows(table, rows, np.argsort(p, kind="stable"), probability=p.tolist(), expected=expected)


def informative_rows(
    table: Table, rows: np.ndarray, without_label: np.ndarray, with_label: np.ndarray
) -> list[dict[str, Any]]:
    """Rows whose own label changes their prediction most: relative entropy in nats."""
    p, q = np.maximum(with_label, 1e-300), np.maximum(without_label, 1e-300)
    gain = np.sum(p * np.log(p / q), axis=1)
    return listed_rows(table, rows, np.argsort(-gain, kind="stable"), nats=gain.tolist())


def listed_rows(table: Table, rows: np.ndarray, order: np.ndarray, **values: Sequence[Any]) -> list[dict[str, Any]]:
    """The first rows in an order, each with its values and its cells."""
    found = []
    for i in order[:_LISTED]:
        cells = {name: column[rows[i]] for name, column in table.columns.items()}
        own = {name: given[i] for name, given in values.items()}
        found.append({"position": table.positions[rows[i]], "unit": table.unit, **own, "cells": cells})
    return found

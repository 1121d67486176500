"""Scores of a model, from predictions of training rows that were made without their labels."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, train_test_split

from ..evaluation.class_scores import classification_scores as classification_scores
from ..evaluation.class_scores import log_losses as log_losses
from ..evaluation.intervals import mean_and_error, wilson
from ..evaluation.metrics import label_positions
from .imputation import ViewImputer
from .tables import Table, TableError

_TEST_SIZE, _MAX_TEST_ROWS = 0.2, 2000
#: Folds in which known labels are hidden, where few are known.
FOLDS = 5
#: Rows listed as informative or surprising.
_LISTED = 10
#: From this number of labels on tables show the labels with the lowest recall, so many.
MANY_CLASSES, _WORST_CLASSES = 12, 5


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
        warnings.filterwarnings("ignore", message=".*categories not seen in fit.*")
        yield


def fit_clone(
    estimator: Any, X: Any, y: Any, weights: Any = None, callbacks: Sequence[Any] = ()
) -> tuple[Any, list[str]]:
    """A fitted clone, and the first lines of its warnings."""
    model = clone(estimator).set_callbacks(*callbacks)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
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
    # Of active rows they are better than predictions of new rows.
    proba = None if getattr(model, "_loo_flaw", None) is not None else getattr(model, "loo_proba_", None)
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
    callbacks: Sequence[Any],
    weights: np.ndarray | None = None,
) -> Predictions:
    """Predictions of held-out rows by a second model; ``classes`` is None for regression."""
    size = min(int(np.ceil(_TEST_SIZE * len(y))), _MAX_TEST_ROWS)
    stratify = None
    if classes is not None and np.unique(y, return_counts=True)[1].min() > 1 and size >= len(classes):
        stratify = y
    train, test = train_test_split(np.arange(len(y)), test_size=size, random_state=seed, stratify=stratify)
    if weights is not None:
        train = train[weights[train] > 0]
    scored = refit_predictions(estimator, imputer, raw, y, classes, train, test, callbacks, weights)
    return Predictions("held-out", test, scored)


def refit_predictions(
    estimator: Any,
    imputer: ViewImputer,
    raw: Any,
    y: np.ndarray,
    classes: Any,
    train: np.ndarray,
    test: np.ndarray,
    callbacks: Sequence[Any],
    weights: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Predictions of the rows ``test`` by a model of the rows ``train``, and their labels or targets."""
    imputer = clone(imputer).fit(raw.iloc[train])
    own = None if weights is None else weights[train]
    model, _ = fit_clone(estimator, imputer.transform(raw.iloc[train]), y[train], own, callbacks)
    found = predicted(model, imputer.transform(raw.iloc[test]), classes)
    if classes is None:
        return {"y": y[test]} | found
    n = len(train) if own is None else float(own.sum())
    absent = ~np.isin(np.arange(len(classes)), label_positions(np.unique(y[train]), classes))
    return {"labels": label_positions(y[test], classes), "proba": with_absent(found["proba"], absent, n)}


def with_absent(proba: np.ndarray, absent: np.ndarray, n: float) -> np.ndarray:
    """Labels without training rows have the least probability that n rows, or weights of this sum, leave to any label
    (docs/decisions/0079)."""
    K = len(absent)
    least = 1.0 / (10.0 * n * (K - 1) + 11.0 * K)
    proba = np.where(absent, 0.0, proba)
    return np.where(absent, least, proba / proba.sum(axis=1, keepdims=True) * (1.0 - least * absent.sum()))


def labels_hidden(
    estimator: Any, X: Any, y: np.ndarray, classes: Any, seed: int, callbacks: Sequence[Any]
) -> Predictions:
    """Predictions of labelled rows by models for which these labels were hidden, fold by fold."""
    known = np.flatnonzero([label is not None for label in y.tolist()])
    labels = label_positions(y[known], classes)
    counts = np.bincount(labels)
    if counts.min() < 2:
        rare = np.asarray(classes).tolist()[counts.argmin()]
        raise TableError(f"expected at least two rows of every label, got {counts.min()} of {rare!r}")
    proba = np.empty((len(known), len(classes)))
    folds = StratifiedKFold(min(FOLDS, counts.min()), shuffle=True, random_state=seed)
    for _, test in folds.split(known, labels):
        remaining = y.copy()
        remaining[known[test]] = None
        model, _ = fit_clone(estimator, X, remaining, callbacks=callbacks)
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


def confusion(labels: np.ndarray, proba: np.ndarray, decided: np.ndarray | None = None) -> np.ndarray:
    """Confusion matrix (K, K): rows by label, columns by prediction, or by decision where there is one."""
    predicted = proba.argmax(axis=1) if decided is None else decided
    known = predicted >= 0
    if not np.any(known):
        return np.zeros((proba.shape[1], proba.shape[1]), dtype=int)
    return confusion_matrix(labels[known], predicted[known], labels=range(proba.shape[1]))


def regression_scores(y: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> dict[str, Any]:
    """Scores of Gaussian predictions (n,)."""
    residual, w = y - mean, np.ones(len(y))
    log_density = -0.5 * (residual / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
    inside = (np.abs(residual) <= 1.6448536269514722 * sd).astype(float)
    low, high = wilson(float(inside.mean()), len(y))
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
        "inside_90_low": low,
        "inside_90_high": high,
        "guess_rmse": unit * spread,
    }


def _mean(name: str, values: np.ndarray, weights: np.ndarray) -> dict[str, float | None]:
    mean, error = mean_and_error(values, weights)
    return {name: mean, f"{name}_se": error}


# ---- scores as text --------------------------------------------------------------------------------------------------


def formatted_scores(scores: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, value with standard error or 95 % interval, and a reference value of each score, as text."""

    def text(name: str, digits: int = 4) -> str:
        return with_error(scores[name], scores[f"{name}_se"], digits)

    if "rmse" in scores:
        rmse_se = scores["rmse_se"]
        return [
            (
                "root mean square error",
                f"{scores['rmse']:.4g}" + (f" ± {rmse_se:.4g}" if rmse_se else ""),
                f"predicting the mean {scores['guess_rmse']:.4g}",
            ),
            ("variance explained", f"{100 * scores['explained']:z.1f} %", ""),
            ("inside the 90 % interval", percentage(scores, "inside_90"), "expected 90 %"),
            ("log loss", text("log_loss"), "nats per row"),
        ]
    rows = [
        ("error", percentage(scores, "error"), f"most frequent label {100 * scores['guess_error']:.2f} %"),
        ("log loss", text("log_loss"), f"class frequencies {scores['guess_log_loss']:.4f}; nats"),
        ("Brier score", text("brier"), f"class frequencies {scores['guess_brier']:.4f}"),
        *_ranking_rows(scores),
        ("calibration error", f"{100 * scores['calibration_error']:.1f} %", "mean gap between confidence and accuracy"),
    ]
    if "mean_steps_off" in scores:
        rows.insert(1, ("steps off", text("mean_steps_off", 3), "mean distance of the prediction in the order"))
    if "mean_cost" in scores:
        constant = f"{scores['guess_decision']!r} for all rows {scores['guess_mean_cost']:.4g}"
        rows.append(("mean cost", text("mean_cost"), constant))
    if "asked" in scores:
        rows.append(("rows to ask about", percentage(scores, "asked"), f"asking costs {scores['rule']['reject']:g}"))
    return rows


def _ranking_rows(scores: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """ROC AUC and average precision, where rows of several labels have been scored."""
    if scores["roc_auc"] is None:
        return []
    of, positive = "mean of labels; ", scores["positive"]
    if positive is not None:
        of = f"of {scores['by_class'][positive].get('label', positive)!r}; "
    areas = [area(scores, name) for name in ("roc_auc", "average_precision")]
    guess = f"{of}at random {scores['guess_average_precision']:.3f}"
    return [
        ("ROC AUC", areas[0], f"{of if positive is None else ''}at random 0.5"),
        ("average precision", areas[1], guess),
    ]


def with_error(value: float, error: float | None, digits: int = 4) -> str:
    """A mean and its standard error, with more digits where the error would be shown as zero. Equal rows, which tell
    nothing of the error, show none."""
    if not error:
        return f"{value:z.{digits}f}"
    digits = min(6, max(digits, int(np.ceil(-np.log10(error)))))
    shown = f"{error:.{digits}f}" if error >= 0.5 * 10.0**-digits else f"{error:.0e}"
    return f"{value:z.{digits}f} ± {shown}"


def percentage(scores: Mapping[str, Any], name: str, digits: int = 2, unit: str = " %") -> str:
    """A proportion and its 95 % interval."""
    value, low, high = (100.0 * scores[f"{name}{end}"] for end in ("", "_low", "_high"))
    return f"{value:z.{digits}f}{unit} ({_rounded_out(low, high, digits)})"


def area(scores: Mapping[str, Any], name: str, digits: int = 3) -> str:
    """A score between 0 and 1 and its 95 % interval."""
    return f"{scores[name]:.{digits}f} ({_rounded_out(scores[f'{name}_low'], scores[f'{name}_high'], digits)})"


def _rounded_out(low: float, high: float, digits: int) -> str:
    """The ends of an interval, rounded away from each other, so that none looks more certain than it is."""
    unit = 10.0**digits
    ends = (np.floor(low * unit + 1e-9) / unit, np.ceil(high * unit - 1e-9) / unit)
    return " to ".join(f"{end:z.{digits}f}" for end in ends)


def class_table(scores: Mapping[str, Any], labels: Sequence[str]) -> tuple[str, list[str], list[list[str]]]:
    """Title, heads and rows, as text, of recall, precision and ranking by label; of many labels those with the lowest
    recall."""
    order, title = list(range(len(labels))), "Decisions by label" if "rule" in scores else "By label"
    if len(labels) >= MANY_CLASSES:
        recalls = [np.inf if row["recall"] is None else row["recall"] for row in scores["by_class"]]
        order = np.argsort(recalls, kind="stable")[:_WORST_CLASSES].tolist()
        title = f"The {_WORST_CLASSES} of {len(labels)} labels with the lowest recall"
    rank = "average_precision" if len(labels) == 2 else "roc_auc"  # of two labels the ROC AUC is the same
    rows = []
    for k in order:
        own = scores["by_class"][k]
        cells = ["" if own[name] is None else percentage(own, name, 1, "") for name in ("recall", "precision")]
        rows.append([labels[k], str(own["rows"]), *cells, "" if own[rank] is None else area(own, rank, 2)])
    heads = ["label", "rows", "recall %", "precision %", "average precision" if len(labels) == 2 else "ROC AUC"]
    return f"{title}; brackets are 95 % intervals", heads, rows


def remarks(scores: Mapping[str, Any]) -> list[str]:
    """What scores mean in plain words where the model is no better than a guess."""
    if "rmse" in scores:
        return []
    found = []
    for name, title, guess in (
        ("error", "error", "predicting the most frequent label for every row"),
        ("log_loss", "log loss", "predicting the class frequencies for every row"),
        ("mean_cost", "cost of the decisions", "the same decision for every row"),
    ):
        if not scores.get(f"{name}_beats_guess", True):
            clearly = "clearly " if scores[name] < scores[f"guess_{name}"] else ""
            found.append(f"the {title} is not {clearly}better than that of {guess}")
    if not scores["error_beats_guess"] and scores["log_loss_beats_guess"]:
        rare = "the probabilities do tell rows apart: see ROC AUC and average precision"
        sooner = "" if "mean_cost" in scores else "; --cost or --threshold decides for a rare label sooner"
        found.append(rare + sooner)
    return found


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

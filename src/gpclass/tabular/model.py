"""A model of a table: what its columns are, how gaps are filled, the estimator, and how well it predicts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import train_test_split

from ..uncertainty import entropy_split, similarity, similarity_within
from .columns import Schema, numbers
from .filling import FillGaps
from .reading import Table, TableError, from_frame, listed
from .scoring import label_scores, number_scores

TASKS = ("labels", "ordered labels", "few labels", "numbers")
ENGINES = ("auto", "vb", "ep", "laplace", "sparse", "ivm")
#: Up to so many rows all of them are kept.
EXACT_ROWS = 2000
#: With weights or views there is no other way than to keep all, up to so many.
MOST_EXACT_ROWS = 6000
#: Scored rows, and rows for pictures and explanations, that a model keeps at most.
KEPT_SCORES, KEPT_ROWS = 5000, 500
#: Rows that the model would rather not be asked about are less like any training row than all but this share of the
#: training rows themselves are.
FAR = 0.01
_HELD_OUT, _MOST_HELD_OUT = 0.2, 2000
_SHOWN_ROWS = 10


class TableModel(BaseEstimator):
    """A model of one column of a table by the others; what ``gpclass fit`` makes and saves.

    Tables are data frames of pandas or come from ``read_table``; columns may hold numbers, text and gaps. The estimator
    is chosen by the task and the number of rows.

    Parameters
    ----------
    target : column to predict
    order : labels from lowest to highest, for labels with an order
    regress : whether the target is a number
    unlabelled : what stands in the target of rows without label; empty cells do so too
    weights : column that says how often each row counts
    views : names of sources and the columns (or patterns, such as "fou_*") of each; their weights are learned
    drop, keep, category : columns to leave out, to use although they look like names of rows, and whose numbers are
        codes of categories
    engine : one of "auto", "vb", "ep", "laplace", "sparse" and "ivm"
    random_state : int

    Attributes
    ----------
    estimator_ : fitted, of gpclass
    schema_ : what the columns are
    task_ : one of "labels", "ordered labels", "few labels" and "numbers"
    scores_ : error, log loss and calibration, or those of numbers, from predictions made without the rows' own labels
    how_ : how those were made, "leave-one-out" or "held-out"
    scored_ : those predictions, of at most 5000 rows
    informative_, surprising_ : rows that the model owes most to, and that it expected least
    notes_ : what was noticed about the table
    about_ : where the model comes from: rows, time, versions

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpclass.tabular import TableModel
    >>> model = TableModel("target").fit(load_iris(as_frame=True).frame)
    >>> round(model.scores_["error"], 2)
    0.03
    """

    filler_: FillGaps | None
    far_below_: float

    def __init__(
        self,
        target: str,
        *,
        order: Collection[str] | None = None,
        regress: bool = False,
        unlabelled: str | None = None,
        weights: str | None = None,
        views: Mapping[str, Collection[str]] | None = None,
        drop: Collection[str] = (),
        keep: Collection[str] = (),
        category: Collection[str] = (),
        engine: str = "auto",
        random_state: int = 0,
    ) -> None:
        self.target = target
        self.order = order
        self.regress = regress
        self.unlabelled = unlabelled
        self.weights = weights
        self.views = views
        self.drop = drop
        self.keep = keep
        self.category = category
        self.engine = engine
        self.random_state = random_state

    def fit(self, table: Any, y: None = None, *, callback: Any = None) -> TableModel:
        """Fit to a table that has the target among its columns; ``callback``, one of scikit-learn, hears of it."""
        start = time.perf_counter()
        table = table if isinstance(table, Table) else from_frame(table)
        self.task_ = _task(self.order, self.regress, self.unlabelled)
        _check_combination(self.task_, self.weights, self.views, self.engine)
        self.notes_ = list(table.notes)
        if self.task_ != "few labels":
            table = with_target(table, self.target, self.notes_)
        target = read_target(table, self.target, self.task_, self.order, self.unlabelled)
        without = [self.target] if self.weights is None else [self.target, self.weights]
        self.schema_ = Schema.learn(table, without=without, drop=self.drop, keep=self.keep, category=self.category)
        self.notes_ += [
            f"column {column.name!r} is left out: {column.why}"
            for column in self.schema_.columns
            if not column.used and column.name not in self.drop
        ]
        raw, _ = self.schema_.frame(table)
        # In a view, rows with gaps are rows that this source knows nothing about.
        self.filler_ = None if self.views else FillGaps().fit(raw)
        X = raw if self.filler_ is None else self.filler_.transform(raw)
        weights = None if self.weights is None else _weights(table, self.weights)
        plain = self._plain_estimator(len(table))
        self.estimator_, said = _fitted(plain, X, target, weights, callback)
        self.notes_ += said
        self.how_, rows, self.scored_ = _judged(self, plain, X, target, callback)
        self.scores_ = self._scores(self.scored_)
        self.far_below_ = float(np.quantile(similarity_within(self.estimator_), FAR))
        self.sample_ = _sample(table)
        self.surprising_ = _surprising(self, table, rows)
        self.informative_ = _informative(self, table, X, rows)
        _thin(self, rows)
        self.about_: dict[str, Any] = {
            "table": Path(table.path).name,
            "rows": len(table),
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - start, 1),
            **{name: version(name) for name in ("gpclass", "scikit-learn", "numpy", "scipy", "numba")},
        }
        return self

    def _scores(self, scored: dict[str, np.ndarray]) -> dict[str, Any]:
        if self.task_ == "numbers":
            return number_scores(scored["y"], scored["mean"], scored["sd"])
        return label_scores(scored["labels"], scored["proba"], self.task_ == "ordered labels")

    @property
    def classes_(self) -> np.ndarray:
        return self.estimator_.classes_

    @property
    def labels(self) -> list[str]:
        """The classes as text."""
        return [str(label) for label in self.classes_.tolist()] if self.task_ != "numbers" else []

    def frame(self, table: Any) -> tuple[Any, list[str]]:
        """The rows as the estimator takes them, and what a reader should know of them."""
        table = table if isinstance(table, Table) else from_frame(table)
        raw, notes = self.schema_.frame(table)
        return (raw if self.filler_ is None else self.filler_.transform(raw)), [*table.notes, *notes]

    def predict(self, table: Any) -> np.ndarray:
        """The most probable label, or the expected number, of each row."""
        frame, _ = self.frame(table)
        with without_strangers():
            return self.estimator_.predict(frame)

    def predict_proba(self, table: Any) -> np.ndarray:
        """Probabilities (m, n_classes); columns as in ``classes_``."""
        if self.task_ == "numbers":
            raise AttributeError("this model predicts numbers, which have no probabilities; see predictions(table)")
        frame, _ = self.frame(table)
        with without_strangers():
            return self.estimator_.predict_proba(frame)

    def predictions(self, table: Any) -> dict[str, np.ndarray]:
        """All that is known of each row, by name of column, as ``gpclass predict`` writes it."""
        frame, _ = self.frame(table)
        with without_strangers():
            return self._predicted(frame)

    def _predicted(self, frame: Any) -> dict[str, np.ndarray]:
        if self.task_ == "numbers":
            mean, sd = self.estimator_.predict(frame, return_std=True)
            noise = np.minimum(self.estimator_.noise_std_, sd)
            found = {"prediction": mean, "sd": sd, "sd_removable": np.sqrt(sd**2 - noise**2), "sd_lasting": noise}
        else:
            proba = self.estimator_.predict_proba(frame)
            split = entropy_split(self.estimator_, frame)
            found = {"prediction": self.estimator_.classes_[proba.argmax(axis=1)]}
            found |= {f"p_{label}": proba[:, k] for k, label in enumerate(self.labels)}
            found |= {
                "entropy": split.total,
                "entropy_removable": split.removable,
                "entropy_lasting": split.lasting,
            }
        alike = similarity(self.estimator_, frame)
        return found | {"similarity": alike, "far": np.where(alike < self.far_below_, "yes", "no")}

    def evaluate(self, table: Any) -> tuple[dict[str, Any], dict[str, np.ndarray], list[str]]:
        """Scores on rows whose labels are known, the predictions behind them, and what a reader should know."""
        notes: list[str] = []
        table = with_target(table if isinstance(table, Table) else from_frame(table), self.target, notes)
        frame, more = self.frame(table)
        with without_strangers():
            if self.task_ == "numbers":
                mean, sd = self.estimator_.predict(frame, return_std=True)
                predicted = {"y": numbers(table, self.target), "mean": mean, "sd": sd}
            else:
                predicted = {"labels": self._positions(table), "proba": self.estimator_.predict_proba(frame)}
        return self._scores(predicted), predicted, notes + more

    def _plain_estimator(self, n_rows: int) -> Any:
        """What fits the task and the number of rows."""
        from .. import (
            GPClassifier,
            GPOrdinalClassifier,
            GPRegressor,
            IVMClassifier,
            IVMRegressor,
            NullCategoryClassifier,
            SparseGPClassifier,
        )

        seed, engine = self.random_state, self.engine
        kernel = None if not self.views else view_kernel(self.views, self.schema_)
        needs_all = self.weights is not None or bool(self.views)
        if needs_all and n_rows > MOST_EXACT_ROWS:
            raise TableError(f"expected at most {MOST_EXACT_ROWS} rows with --weights or --views, got {n_rows}")
        many = n_rows > EXACT_ROWS and not needs_all
        if self.task_ == "few labels":
            return NullCategoryClassifier(unlabelled=None, random_state=seed)
        if self.task_ == "numbers":
            kind = IVMRegressor if engine == "ivm" or (many and engine == "auto") else GPRegressor
            return kind(kernel, random_state=seed)
        if self.task_ == "ordered labels":
            inference = engine if engine != "auto" else "ivm" if many else "ep"
            return GPOrdinalClassifier(kernel, order=list(self.order or ()), inference=inference, random_state=seed)
        if engine == "ivm":
            return IVMClassifier(random_state=seed)
        if engine == "sparse" or (many and engine == "auto"):
            return SparseGPClassifier(random_state=seed)
        return GPClassifier(kernel, inference=engine, random_state=seed)

    def _positions(self, table: Table) -> np.ndarray:
        """Which of the classes each row has."""
        places = {label: k for k, label in enumerate(self.labels)}
        cells = table.column(self.target)
        for row, cell in enumerate(cells):
            if cell not in places:
                raise TableError(
                    f"{table.where(self.target, row)}: expected one of {listed(self.labels)}, got {cell!r}"
                )
        return np.array([places[str(cell)] for cell in cells])


def with_target(table: Table, target: str, notes: list[str]) -> Table:
    """The rows whose target is there; of the others there is a note."""
    there = [i for i, cell in enumerate(table.column(target)) if cell is not None]
    if not there:
        raise TableError(f"expected values in column {target!r} of {table.path}, and it is empty")
    if len(there) == len(table):
        return table
    notes.append(f"{table.path}: {len(table) - len(there)} rows have no {target!r} and are left out")
    return table.take(there)


def _task(order: Any, regress: bool, unlabelled: str | None) -> str:
    chosen = [name for name, on in (("--ordinal", order), ("--regress", regress), ("--unlabelled", unlabelled)) if on]
    if len(chosen) > 1:
        raise TableError(f"expected at most one of --ordinal, --regress and --unlabelled, got {' and '.join(chosen)}")
    return "ordered labels" if order else "numbers" if regress else "few labels" if unlabelled is not None else "labels"


def _check_combination(task: str, weights: Any, views: Any, engine: str) -> None:
    if engine not in ENGINES:
        raise TableError(f"expected an engine among {', '.join(ENGINES)}, got {engine!r}")
    if weights is not None and task != "labels":
        raise TableError(f"--weights is for labels without order, all of them known; got {task}")
    if views and task == "few labels":
        raise TableError("--views is for tables in which all labels are known; got --unlabelled")
    if engine in ("sparse", "ivm") and (weights is not None or views):
        raise TableError(f"--engine {engine} takes neither --weights nor --views; leave the engine to gpclass")
    if engine != "auto" and task == "few labels":
        raise TableError(f"--engine goes without --unlabelled, which has an engine of its own; got {engine!r}")
    if task == "ordered labels" and engine in ("vb", "laplace", "sparse"):
        raise TableError(f"expected --engine ep or ivm for ordered labels, got {engine!r}")
    if task == "numbers" and engine not in ("auto", "ivm"):
        raise TableError(f"expected --engine ivm, or none, for numbers, got {engine!r}")


def read_target(table: Table, target: str, task: str, order: Any, unlabelled: str | None) -> np.ndarray:
    if task == "numbers":
        y = numbers(table, target)
        if np.ptp(y) == 0:
            raise TableError(f"expected numbers that differ in column {target!r}, got {y[0]:g} in every row")
        return y
    cells: list[Any] = list(table.column(target))
    if task == "few labels":
        cells = [None if cell == unlabelled else cell for cell in cells]
    there = [cell for cell in cells if cell is not None]
    labels = set(there)
    if task == "ordered labels":
        row = next((i for i, cell in enumerate(cells) if cell not in order), None)
        if row is not None:
            raise TableError(
                f"{table.where(target, row)}: expected a label of --ordinal, {listed(list(order))}; got {cells[row]!r}"
            )
        return np.array(cells)
    if len(labels) < 2:
        shown = f"{there[0]!r} in all" if there else "no label in any"
        raise TableError(
            f"expected at least two different labels in column {target!r}, got {shown} of {len(cells)} rows"
        )
    values = [table.parse(cell) for cell in labels]
    whole = all(value is not None and value == round(value) for value in values)
    many = len(labels) > 50 if whole else len(labels) > 20
    if many and all(value is not None for value in values):
        raise TableError(
            f"column {target!r} holds {len(labels)} different numbers; to predict a number say --regress, expected "
            "labels that repeat otherwise"
        )
    if len(labels) > 20 and len(labels) > len(there) / 2:
        raise TableError(f"expected labels that repeat in column {target!r}, got {len(labels)} in {len(there)} rows")
    if task == "few labels":
        return np.array(cells, dtype=object)
    # Numbers sort as numbers: 2 before 10.
    as_numbers = whole and all(str(int(value)) == cell for cell, value in zip(labels, values, strict=True))  # type: ignore[arg-type]
    return np.array([int(cell) for cell in cells]) if as_numbers else np.array(cells)


def _weights(table: Table, name: str) -> np.ndarray:
    values = numbers(table, name)
    row = next((i for i, value in enumerate(values) if not value >= 0), None)
    if row is not None:
        raise TableError(
            f"{table.where(name, row)}: expected a weight that is not negative, got {table.columns[name][row]!r}"
        )
    return values


def view_kernel(views: Mapping[str, Collection[str]], schema: Schema) -> Any:
    """A weighted sum over sources, each with the kernel that its columns need."""
    from fnmatch import fnmatchcase

    from ..kernels import RBF, Categorical, View, WeightedSum

    kernels: dict[str, Any] = {}
    for name, patterns in views.items():
        found = [column for column in schema.used if any(fnmatchcase(column.name, pattern) for pattern in patterns)]
        if not found:
            raise TableError(f"view {name!r}: expected columns named like {listed(list(patterns))}, got none")
        kinds = {column.kind for column in found}
        if len(kinds) > 1:
            raise TableError(f"view {name!r}: expected columns of numbers or of categories, got both; make two views")
        size = float(np.sqrt(len(found)))
        shape = RBF(size) if kinds == {"number"} else Categorical(size)
        kernels[name] = View(shape, [column.name for column in found])
    try:
        return 100.0 * WeightedSum(kernels)
    except ValueError as error:
        raise TableError(str(error)) from None


def _fitted(estimator: Any, X: Any, y: np.ndarray, weights: np.ndarray | None, callback: Any) -> tuple[Any, list[str]]:
    """A fitted copy, and what it warned of."""
    model = clone(estimator)
    if callback is not None:
        model.set_callbacks(callback)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fitted = model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
    if callback is not None:
        fitted.set_callbacks()  # a bar is not to be saved with the model
    return fitted, list(dict.fromkeys(str(warning.message) for warning in said))


def _judged(
    model: TableModel, estimator: Any, X: Any, y: np.ndarray, callback: Any
) -> tuple[str, np.ndarray, dict[str, np.ndarray]]:
    """How predictions were made without the rows' own labels, which rows, and what was predicted for them."""
    fitted = model.estimator_
    if model.task_ == "numbers" and getattr(fitted, "loo_mean_", None) is not None:
        return "leave-one-out", np.arange(len(y)), {"y": y, "mean": fitted.loo_mean_, "sd": fitted.loo_std_}
    # The informative vector machine passes over easy rows, which flatters its leave-one-out predictions.
    flattered = getattr(fitted, "sites_", None) is not None and model.task_ != "few labels"
    if model.task_ != "numbers" and not flattered:
        proba = fitted.loo_proba_
        rows = np.flatnonzero(~np.isnan(proba[:, 0]) & np.array([label is not None for label in y.tolist()]))
        places = {label: k for k, label in enumerate(fitted.classes_.tolist())}
        labels = np.array([places[label] for label in y[rows].tolist()])
        return "leave-one-out", rows, {"labels": labels, "proba": proba[rows]}
    return _held_out(model, estimator, X, y, callback)


def _held_out(
    model: TableModel, estimator: Any, X: Any, y: np.ndarray, callback: Any
) -> tuple[str, np.ndarray, dict[str, np.ndarray]]:
    """The same from rows that a second model has not seen."""
    size = min(int(np.ceil(_HELD_OUT * len(y))), _MOST_HELD_OUT)
    together = None if model.task_ == "numbers" or np.unique(y, return_counts=True)[1].min() < 2 else y
    train, test = train_test_split(np.arange(len(y)), test_size=size, random_state=0, stratify=together)
    judge, _ = _fitted(estimator, X.iloc[train], y[train], None, callback)
    if model.task_ == "numbers":
        mean, sd = judge.predict(X.iloc[test], return_std=True)
        return "held-out", test, {"y": y[test], "mean": mean, "sd": sd}
    with without_strangers():
        seen = judge.predict_proba(X.iloc[test])
    classes = model.estimator_.classes_.tolist()
    proba = np.zeros((len(test), len(classes)))
    proba[:, [classes.index(label) for label in judge.classes_.tolist()]] = seen
    labels = np.array([classes.index(label) for label in y[test].tolist()])
    return "held-out", test, {"labels": labels, "proba": proba}


@contextmanager
def without_strangers() -> Iterator[None]:
    """Categories that were not there in training are told of in notes, with their place."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*categories that were not there in fit.*")
        yield


def _sample(table: Table) -> Table:
    """Rows, evenly spaced, for pictures and explanations."""
    chosen = np.unique(np.linspace(0, len(table) - 1, min(len(table), KEPT_ROWS)).round().astype(int))
    return table.take(chosen.tolist())


def _surprising(model: TableModel, table: Table, rows: np.ndarray) -> list[dict[str, Any]]:
    """Rows whose label or number was the least expected."""
    scored = model.scored_
    if model.task_ == "numbers":
        off = np.abs(scored["y"] - scored["mean"]) / scored["sd"]
        worst = np.argsort(-off)[:_SHOWN_ROWS]
        return [_shown(table, rows[i], {"sds_off": float(off[i]), "expected": float(scored["mean"][i])}) for i in worst]
    proba, labels = scored["proba"], scored["labels"]
    own = proba[np.arange(len(labels)), labels]
    worst = np.argsort(own, kind="stable")[:_SHOWN_ROWS]
    return [
        _shown(table, rows[i], {"probability": float(own[i]), "expected": model.labels[int(proba[i].argmax())]})
        for i in worst
    ]


def _informative(model: TableModel, table: Table, X: Any, rows: np.ndarray) -> list[dict[str, Any]]:
    """Rows that the model owes most to: the first that the informative vector machine kept, or those whose label moves
    their own prediction furthest, in nats."""
    active = (
        getattr(model.estimator_, "active_", None) if getattr(model.estimator_, "sites_", None) is not None else None
    )
    if isinstance(active, np.ndarray):
        return [_shown(table, int(row), {"kept_as": place}) for place, row in enumerate(active[:_SHOWN_ROWS], start=1)]
    if model.how_ != "leave-one-out" or model.task_ in ("numbers", "few labels"):
        return []
    some = rows[:KEPT_SCORES]
    without = np.maximum(model.scored_["proba"][: len(some)], 1e-300)
    with_label = np.maximum(model.estimator_.predict_proba(X.iloc[some]), 1e-300)
    gain = np.sum(with_label * np.log(with_label / without), axis=1)
    best = np.argsort(-gain, kind="stable")[:_SHOWN_ROWS]
    return [_shown(table, int(some[i]), {"nats": float(gain[i])}) for i in best]


def _shown(table: Table, row: int, about: dict[str, Any]) -> dict[str, Any]:
    cells = {name: column[row] for name, column in table.columns.items()}
    return {"place": table.places[row], "unit": table.unit, **about, "cells": cells}


def _thin(model: TableModel, rows: np.ndarray) -> None:
    """Keep no more scored rows than pictures need."""
    if len(rows) > KEPT_SCORES:
        chosen = np.linspace(0, len(rows) - 1, KEPT_SCORES).round().astype(int)
        model.scored_ = {name: values[chosen] for name, values in model.scored_.items()}

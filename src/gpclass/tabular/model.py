"""A model of a table: what its columns are, how gaps are filled, the estimator, and how well it predicts."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..estimators._base import rollback_on_error
from ..evaluation.uncertainty import entropy_split, similarity, similarity_within
from . import rows as notable
from .columns import Schema, numbers
from .filling import FillGaps
from .judging import Judged, fitted, held_out, hidden, left_out, without_strangers
from .reading import Table, TableError, from_frame, label_text, listed
from .scoring import label_scores, log_losses, number_scores
from .targets import (
    few_rows_note,
    find_task,
    given_labels,
    label_notes,
    mark_gaps,
    one_spelling,
    read_target,
    read_weights,
    with_target,
)
from .views import view_columns, view_kernel

ENGINES = ("auto", "vb", "ep", "laplace", "sparse", "ivm")
#: Up to so many rows all of them are kept.
EXACT_ROWS = 2000
#: With weights or views there is no other way than to keep all, up to so many.
MOST_EXACT_ROWS = 6000
#: Scored rows, and rows for pictures and explanations, that a model keeps at most.
KEPT_SCORES, KEPT_ROWS = 5000, 500
#: A row is far from the training rows where it is less like any of them than all but this share of them are like the
#: others; but never above the second number, and always below the first.
FAR, FAR_BETWEEN = 0.01, (0.1, 0.99)


class TableModel(BaseEstimator):
    """A model of one column of a table by the others; what ``gpclass fit`` makes and saves.

    Tables are data frames, or come from ``read_table``; columns may hold numbers, text and gaps. The estimator is
    chosen by the task and the number of rows. Labels come back as they went in. None is ever less probable than
    1 / ((n + 2) K), with n rows learned from: they cannot rule out what they have not shown.

    Parameters
    ----------
    target : column to predict
    order : labels from lowest to highest, for labels with an order
    regress : whether the target is a number
    unlabelled : what stands in the target of rows without label, text or a number; empty cells do so too. Where the
        rows without label do not help, as predictions of hidden labels tell, the model is of the others alone.
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
    how_ : how those were made: "leave-one-out", "held-out" or "labels hidden"
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

    def __init__(
        self,
        target: str,
        *,
        order: Collection[Any] | None = None,
        regress: bool = False,
        unlabelled: Any = None,
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

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(self, table: Any, y: None = None, *, callback: Any = None) -> TableModel:
        """Fit to a table that has the target among its columns; ``callback``, one of scikit-learn, hears of it."""
        start = time.perf_counter()
        with rollback_on_error(self):
            given, table = table, _as_table(table)
            self._settle_collections()
            self.task_ = find_task(self.order, self.regress, self.unlabelled)
            self._check_settings()
            table = mark_gaps(table, self.target, self.order or (), self.unlabelled)
            self.notes_ = list(table.notes)
            if self.task_ != "few labels":
                table = with_target(table, self.target, self.notes_)
            if self.task_ != "numbers":
                table = one_spelling(table, self.target, self.order or ())
            labels = given_labels(given, self.target)
            target = read_target(table, self.target, self.task_, self.order, self.unlabelled, labels)
            counts = None if self.weights is None else read_weights(table, self.weights, self.target, self.notes_)
            raw = self._learn_columns(table)
            judged = self._learn(raw, target, counts, callback)
            self._keep_scores(judged, counts)
            self._keep_rows(table, raw, judged)
            alike = np.quantile(similarity_within(self.estimator_), FAR)
            self.far_below_ = float(np.clip(alike, *FAR_BETWEEN))
            self.notes_ += few_rows_note(len(table)) + self._copies_note(raw, table)
            self.about_: dict[str, Any] = {
                "table": Path(table.path).name,
                "rows": len(table),
                "made": datetime.now(UTC).isoformat(timespec="seconds"),
                "seconds": round(time.perf_counter() - start, 1),
                **{name: version(name) for name in ("gpclass", "scikit-learn", "numpy", "scipy", "numba")},
            }
        return self

    def _settle_collections(self) -> None:
        """As lists, which are true where they hold something, and which files hold."""
        for name in ("order", "drop", "keep", "category"):
            setattr(self, name, _as_list(getattr(self, name)))
        if self.views is not None:
            self.views = {name: _as_list(patterns) for name, patterns in self.views.items()}

    def _check_settings(self) -> None:
        task, engine = self.task_, self.engine
        if engine not in ENGINES:
            raise TableError(f"expected an engine among {', '.join(ENGINES)}, got {engine!r}")
        if self.weights is not None and task != "labels":
            raise TableError(f"--weights is for labels without order, all of them known; got {task}")
        if self.views and task == "few labels":
            raise TableError("--views is for tables in which all labels are known; got --unlabelled")
        if engine in ("sparse", "ivm") and (self.weights is not None or self.views):
            raise TableError(f"--engine {engine} takes neither --weights nor --views; leave the engine to gpclass")
        if engine != "auto" and task == "few labels":
            raise TableError(f"--engine goes without --unlabelled, which has an engine of its own; got {engine!r}")
        if task == "ordered labels" and engine in ("vb", "laplace", "sparse"):
            raise TableError(f"expected --engine ep or ivm for ordered labels, got {engine!r}")
        if task == "numbers" and engine not in ("auto", "ivm"):
            raise TableError(f"expected --engine ivm, or none, for numbers, got {engine!r}")

    def _learn_columns(self, table: Table) -> Any:
        """What the columns are, and the frame of those used, with gaps."""
        without = [name for name in (self.target, self.weights) if name is not None]
        schema = Schema.learn(table, without=without, drop=self.drop, keep=self.keep, category=self.category)
        views = None
        if self.views:
            views = view_columns(self.views, schema)
            seen = {name for columns in views.values() for name in columns}
            schema = Schema(
                tuple(
                    own if own.name in seen or not own.used else replace(own, kind="left out", why="in no view")
                    for own in schema.columns
                )
            )
        self.schema_ = schema
        for column in schema.columns:
            if not column.used and column.name not in self.drop:
                self.notes_.append(f"column {column.name!r} is left out: {column.why}")
            elif column.doubt:
                self.notes_.append(f"column {column.name!r}: {column.doubt}")
        known = [cell for cell in table.columns[self.target] if cell is not None]
        self._counts = dict(Counter(known))
        if self.task_ in ("labels", "few labels"):
            self.notes_ += label_notes(known)
        raw, _ = schema.frame(table)
        self.filler_ = FillGaps(views).fit(raw)
        return raw

    def _learn(self, raw: Any, y: np.ndarray, weights: np.ndarray | None, callback: Any) -> Judged:
        """Fit, and predict training rows without their labels."""
        X = self.filler_.transform(raw)
        plain = self._plain_estimator(len(raw))
        self.estimator_, said = fitted(plain, X, y, weights, callback)
        self.notes_ += said
        if self.task_ == "few labels":
            return self._without_label_or_not(plain, X, y, callback)
        judged = left_out(self.estimator_, y)
        if judged is not None:
            return judged
        classes = None if self.task_ == "numbers" else self.classes_
        return held_out(plain, self.filler_, raw, y, classes, self.random_state, callback)

    def _without_label_or_not(self, plain: Any, X: Any, y: np.ndarray, callback: Any) -> Judged:
        """Rows without label help where classes are apart, and harm where they overlap: hidden labels tell which."""
        from .. import GPClassifier

        judged = hidden(plain, X, y, self.classes_, self.random_state, callback)
        known = judged.rows
        labels = np.array(y[known].tolist())  # no objects, now that there is no None among them
        alone, _ = fitted(GPClassifier(random_state=self.random_state), X.iloc[known], labels, None, callback)
        beside = left_out(alone, labels)
        assert beside is not None
        together, apart = log_losses(**judged.scored), log_losses(**beside.scored)
        told = f"log loss {together.mean():.3f} with them, {apart.mean():.3f} without"
        worse = together - apart
        # Few labels tell little: only what is clearly worse is not done.
        if worse.mean() <= worse.std(ddof=1) / np.sqrt(len(worse)):
            self.notes_.append(f"rows without label help, or do no harm: {told}")
            return judged
        self.notes_.append(f"rows without label do not help ({told}): the model is of the {len(known)} others alone")
        self.estimator_ = alone
        return beside._replace(rows=known)

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
        kernel = None if self.filler_.views is None else view_kernel(self.filler_.views, self.schema_)
        needs_all = self.weights is not None or kernel is not None
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

    # ---- what is kept of the training rows --------------------------------------------------------------------------

    def _keep_scores(self, judged: Judged, weights: np.ndarray | None) -> None:
        self.how_, rows, scored = judged
        self.scores_ = self._scores_of(scored, None if weights is None else weights[rows])
        some = notable.spread(len(rows), KEPT_SCORES)
        self.scored_ = {name: values[some] for name, values in scored.items()}

    def _keep_rows(self, table: Table, raw: Any, judged: Judged) -> None:
        self.surprising_ = notable.surprising(table, judged.rows, judged.scored, self.labels)
        self.informative_: list[dict[str, Any]] = []
        active = getattr(self.estimator_, "active_", None)
        if isinstance(active, np.ndarray):
            self.informative_ = notable.kept(table, active)
        elif self.how_ == "leave-one-out" and self.task_ != "numbers":
            some = notable.spread(len(judged.rows), KEPT_SCORES)
            rows = judged.rows[some]
            with_label = self.estimator_.predict_proba(self.filler_.transform(raw.iloc[rows]))
            self.informative_ = notable.informative(table, rows, judged.scored["proba"][some], with_label)
        # Rows with a label come first: pictures show labels.
        labelled = judged.rows[notable.spread(len(judged.rows), KEPT_ROWS)]
        others = notable.spread(len(table), KEPT_ROWS)
        chosen = np.sort(np.concatenate([labelled, np.setdiff1d(others, judged.rows)])[:KEPT_ROWS])
        self.sample_ = table.subset(chosen.tolist())

    def _copies_note(self, raw: Any, table: Table) -> list[str]:
        """Copies are a slip where numbers have many values; rows of a few categories are alike by nature."""
        fine = any(own.kind == "number" and raw[own.name].nunique() > len(raw) / 4 for own in self.schema_.used)
        copies = len(table) - len(set(zip(*table.columns.values(), strict=True)))
        if not (fine and copies):
            return []
        rows = "a row is a copy" if copies == 1 else f"{copies} rows are copies"
        return [f"{rows} of others: a row left out is then predicted from itself, and scores flatter"]

    # ---- predicting --------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        return self.estimator_.classes_

    @property
    def labels(self) -> list[str]:
        """The classes as text."""
        return [str(label_text(label)) for label in self.classes_.tolist()] if self.task_ != "numbers" else []

    def label_counts(self) -> str:
        """How many rows have each label, for people."""
        shown = [f"{label} ({self._counts.get(label, 0)})" for label in self.labels]
        more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
        return ", ".join(shown[:12]) + more

    def frame(self, table: Any) -> tuple[Any, list[str]]:
        """The rows as the estimator takes them, and what a reader should know of them."""
        check_is_fitted(self, "estimator_")
        table = _as_table(table)
        raw, notes = self.schema_.frame(table, filled=self.filler_.views is None)
        return self.filler_.transform(raw), [*table.notes, *notes]

    def _frame_with_warnings(self, table: Any) -> Any:
        frame, notes = self.frame(table)
        for note in notes:
            warnings.warn(note, stacklevel=3)
        return frame

    def predict(self, table: Any) -> np.ndarray:
        """The most probable label, or the expected number, of each row."""
        frame = self._frame_with_warnings(table)
        with without_strangers():
            return self.estimator_.predict(frame)

    def predict_proba(self, table: Any) -> np.ndarray:
        """Probabilities (m, n_classes); columns as in ``classes_``."""
        check_is_fitted(self, "estimator_")
        if self.task_ == "numbers":
            raise AttributeError("this model predicts numbers, which have no probabilities; see predictions(table)")
        return self._proba(self._frame_with_warnings(table))

    def predictions(self, table: Any) -> dict[str, np.ndarray]:
        """All that is known of each row, by name of column, as ``gpclass predict`` writes it."""
        return self.predictions_of_frame(self._frame_with_warnings(table))

    def predictions_of_frame(self, frame: Any) -> dict[str, np.ndarray]:
        """The same for what ``frame`` gave."""
        with without_strangers():
            alike = similarity(self.estimator_, frame)
            far = {"similarity": alike, "far": np.where(alike < self.far_below_, "yes", "no")}
            if self.task_ == "numbers":
                mean, sd = self.estimator_.predict(frame, return_std=True)
                noise = np.minimum(self.estimator_.noise_std_, sd)
                return {
                    "prediction": mean,
                    "sd": sd,
                    "sd_removable": sd * np.sqrt(1.0 - (noise / sd) ** 2),
                    "sd_lasting": noise,
                } | far
            proba = self.estimator_.predict_proba(frame)
            split = entropy_split(self.estimator_, frame, proba=proba)
        return {
            "prediction": self.classes_[proba.argmax(axis=1)],
            **{f"p_{label}": proba[:, k] for k, label in enumerate(self.labels)},
            "entropy": split.total,
            "entropy_removable": split.epistemic,
            "entropy_lasting": split.aleatoric,
        } | far

    def _proba(self, frame: Any) -> np.ndarray:
        with without_strangers():
            return self.estimator_.predict_proba(frame)

    def evaluate(self, table: Any) -> tuple[dict[str, Any], dict[str, np.ndarray], list[str]]:
        """Scores on rows whose labels are known, the predictions behind them, and what a reader should know. Rows count
        as often as the column of weights says, where the model has one and the table too."""
        check_is_fitted(self, "estimator_")
        notes: list[str] = []
        table = mark_gaps(_as_table(table), self.target, self.labels, self.unlabelled)
        table = with_target(table, self.target, notes)
        if self.task_ != "numbers":
            table = one_spelling(table, self.target, self.labels)
        table, weights = self._weighted(table, notes)
        frame, more = self.frame(table)
        if self.task_ == "numbers":
            with without_strangers():
                mean, sd = self.estimator_.predict(frame, return_std=True)
            predicted = {"y": numbers(table, self.target), "mean": mean, "sd": sd}
        else:
            predicted = {"labels": self._positions(table), "proba": self._proba(frame)}
        return self._scores_of(predicted, weights), predicted, notes + more

    def _weighted(self, table: Table, notes: list[str]) -> tuple[Table, np.ndarray | None]:
        """The rows that count, and how often."""
        if self.weights is None:
            return table, None
        if self.weights not in table.columns:
            notes.append(f"{table.path} has no column {self.weights!r} of weights: every row counts once")
            return table, None
        weights = read_weights(table, self.weights, self.target, [])
        notes.append(f"rows count as often as column {self.weights!r} says")
        rows = np.flatnonzero(weights > 0)
        return replace(table.subset(rows.tolist()), notes=table.notes), weights[rows]

    def _scores_of(self, scored: dict[str, np.ndarray], weights: np.ndarray | None = None) -> dict[str, Any]:
        if self.task_ == "numbers":
            return number_scores(scored["y"], scored["mean"], scored["sd"])
        return label_scores(scored["labels"], scored["proba"], self.task_ == "ordered labels", weights)

    def _positions(self, table: Table) -> np.ndarray:
        """Which of the classes each row has."""
        places = {label: k for k, label in enumerate(self.labels)}
        cells = table.column(self.target)
        for row, cell in enumerate(cells):
            if cell not in places:
                known = listed(self.labels)
                raise TableError(f"{table.where(self.target, row)}: expected one of {known}, got {cell!r}")
        return np.array([places[str(cell)] for cell in cells])


def _as_list(given: Any) -> Any:
    """A collection as a list, where it is neither that nor a tuple; one word is a collection of one."""
    if given is None or isinstance(given, (list, tuple)):
        return given
    if isinstance(given, str):
        return [given]
    return given.tolist() if hasattr(given, "tolist") else list(given)


def _as_table(given: Any) -> Table:
    return given if isinstance(given, Table) else from_frame(given)

"""A model of a table: the kinds of its columns, imputation, the estimator, and scores."""

import copy
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..evaluation.decisions import DecisionRule
from ..evaluation.metrics import label_positions
from ..evaluation.prediction_sets import PredictionSets
from ..evaluation.uncertainty import entropy_split, similarity, similarity_within
from ..training.monitor import duration
from ..training.time_limit import TimeLimit
from . import evaluation, grouped, targets
from .columns import Column, Schema, numeric_values, view_columns, view_kernel
from .deciding import ASK, Decisions, class_weights, decision_scores, described, written_costs
from .duration import expected_seconds, slowness
from .evaluation import Predictions, evenly_spaced, fit_clone, unknown_categories_ignored
from .imputation import ViewImputer
from .tables import Table, TableError, from_frame, label_text, listed

ENGINES = ("auto", "vb", "ep", "laplace", "nearest", "sparse", "ivm")
#: With more rows than this, rows are predicted from their nearest ones (benchmarks/bench_crossing.py).
EXACT_ROWS = 1000
#: Fewer rows than this get a note.
FEW_ROWS = 30
#: Views need an exact model; more rows than this are refused.
MAX_EXACT_ROWS = 6000
#: Scored rows, and rows for figures and explanations, that a model keeps at most.
KEPT_SCORES, KEPT_ROWS = 5000, 500
#: A row is far from the training rows where its similarity is below this quantile of the training rows' own, clipped.
FAR_QUANTILE, FAR_RANGE = 0.01, (0.1, 0.99)


class TableModel(BaseEstimator):
    """A model of one column of a table given the others; ``gpclass fit`` fits and saves one.

    Tables are data frames, or come from ``read_table``; columns may hold numbers, dates, text and missing values. The
    estimator depends on the task and the number of rows. Predicted labels have the type of the given ones. No class of
    K has a probability below 1 / (10 n (K - 1) + 11 K), where n is the number of training rows, or the sum of their
    weights.

    Parameters
    ----------
    target : column to predict
    order : labels from lowest to highest, for ordered classes
    regress : whether the target is a number
    unlabelled : target of unlabelled rows, text or a number; empty cells are unlabelled too. Where these rows do not
        improve predictions of hidden labels, the model is fitted to the labelled rows only.
    weights : column of sample weights
    views : names of sources and the columns (or patterns, such as "fou_*") of each; their weights are learned
    groups : column of groups, such as patients, for scores on new groups; not a predictor
    time : column of numbers or dates, for scores on later rows; a predictor only if it is in ``keep``
    drop, keep, category : columns to leave out, to use although they look like ids, and whose numbers are categories
    engine : one of "auto", "vb", "ep", "laplace", "nearest", "sparse" and "ivm"
    time_limit : seconds after which learning stops; the model found so far is used, and a note says so. A model whose
        scores need further fits shares the time out among them.
    class_weight : "balanced" or dict of label to weight; probabilities are those of a population with these weights
    costs : what mistakes cost, 1 where nothing is said: dict of (label, decision) or "label->decision" to cost;
        "false_negative" and "false_positive" are the costs of missing the positive label and of deciding for it wrongly
    threshold : decide for the positive label from this probability on, or "auto": from that with the least cost on
        the predictions of training rows without their labels; two labels
    reject : cost of asking a person, who decides where every decision is expected to cost more
    positive : the positive label, by default the rarer one of two
    random_state : int

    Attributes
    ----------
    estimator_ : fitted estimator of gpclass
    schema_ : kinds of the columns
    task_ : one of "classification", "ordinal", "semi-supervised" and "regression"
    scores_ : scores of predictions without the rows' own labels: error, log loss, Brier score, ranking, calibration,
        every label by itself, and the cost of decisions; or scores of regression
    rule_ : ``DecisionRule``, None without costs, threshold and reject
    how_ : how these predictions were made: "leave-one-out", "held-out" or "labels hidden"
    scored_, scored_weights_ : these predictions, of at most 5000 rows, and the sample weights of these rows, or None
    set_scored_, set_weights_ : the same of the predictions that sets of labels are calibrated on: with ``groups`` those
        without the row's group
    other_scores_ : scores from other predictions of the training rows, by how these were made: "leave-one-group-out" or
        "groups held out" with ``groups``, "forward in time" with ``time``
    informative_, surprising_ : rows that influence the model most, and rows that it predicted worst
    sample_ : at most 500 of the training rows, which explanations and ``gpclass.tabular.check_drift`` start from
    training_ : positions in the table and targets of the rows that the posterior has
    notes_ : messages about the table
    about_ : rows, time and versions of the fit

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
        groups: str | None = None,
        time: str | None = None,
        drop: Collection[str] = (),
        keep: Collection[str] = (),
        category: Collection[str] = (),
        engine: str = "auto",
        time_limit: float | None = None,
        class_weight: Any = None,
        costs: Mapping[Any, float] | None = None,
        threshold: Any = None,
        reject: float | None = None,
        positive: Any = None,
        random_state: int = 0,
    ) -> None:
        self.target = target
        self.order = order
        self.regress = regress
        self.unlabelled = unlabelled
        self.weights = weights
        self.views = views
        self.groups = groups
        self.time = time
        self.drop = drop
        self.keep = keep
        self.category = category
        self.engine = engine
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.costs = costs
        self.threshold = threshold
        self.reject = reject
        self.positive = positive
        self.random_state = random_state

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        table: Any,
        y: None = None,
        *,
        callback: Any = None,
        on_estimate: Callable[[float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """Fit to a table that has the target among its columns.

        ``callback`` is one of scikit-learn. ``on_estimate`` is called with a rough estimate of the seconds that all
        fits take, before the first, where there is one. ``clock`` gives the seconds of the time limit.
        """
        fitted = copy.copy(self)  # a fit that fails leaves this model as it was
        fitted._fit(table, () if callback is None else (callback,), on_estimate, clock)
        self.__dict__ = fitted.__dict__
        return self

    def _fit(
        self,
        table: Any,
        callbacks: tuple[Any, ...],
        on_estimate: Callable[[float], None] | None,
        clock: Callable[[], float],
    ) -> None:
        start = time.perf_counter()
        given, table = table, _as_table(table)
        self._convert_collections()
        self.task_ = targets.find_task(self.order, self.regress, self.unlabelled)
        self._check_settings()
        table = targets.mark_missing(table, self.target, self.order or (), self.unlabelled)
        self.notes_ = list(table.notes)
        if self.task_ != "semi-supervised":
            table = targets.drop_missing(table, self.target, self.notes_)
        if self.task_ != "regression":
            table = targets.unify_spelling(table, self.target, self.order or ())
        labels = targets.given_labels(given, self.target)
        target = targets.read_target(table, self.target, self.task_, self.order, self.unlabelled, labels)
        weights = None if self.weights is None else targets.read_weights(table, self.weights, self.target, self.notes_)
        groups = None if self.groups is None else grouped.read_groups(table, self.groups, self.target, self.notes_)
        times = None if self.time is None else grouped.read_times(table, self.time, self.target)
        raw = self._fit_columns(table)
        if self.task_ != "regression":
            self._check_decisions()
        estimator = self._make_estimator(len(raw))
        if self.class_weight is not None:
            estimator.set_params(class_weight=class_weights(self.class_weight, np.unique(target).tolist()))
        expected = None if on_estimate is None else expected_seconds(estimator, raw, target)
        if on_estimate is not None and expected is not None:
            on_estimate(self._n_fits(estimator) * expected * slowness(clock))
        if self.time_limit is not None:
            callbacks = (*callbacks, TimeLimit(self.time_limit / self._n_fits(estimator), clock=clock))
        predictions = self._fit_estimator(estimator, raw, target, weights, callbacks)
        self.notes_ += self._left_out_note()
        if self.class_weight is not None:
            frequencies = "probabilities are those of a population with other class frequencies than the table"
            again = "; with costs, class weights count twice" if self.costs else ""
            self.notes_.append(f"class weights: {frequencies}, and scores are means over the rows of the table{again}")
        self._keep_scores(predictions, weights)
        refit = grouped.Refit(estimator, self.imputer_, raw, target, self._classes(), weights, callbacks)
        self._score_otherwise(predictions, refit, groups, times)
        self._keep_rows(table, raw, predictions)
        self._keep_training(table, target, weights)
        quantile = np.quantile(similarity_within(self.estimator_), FAR_QUANTILE)
        self.far_below_ = float(np.clip(quantile, *FAR_RANGE))
        n_known = sum(self._counts.values())
        if n_known < FEW_ROWS:
            self.notes_.append(f"only {n_known} labelled rows: scores are unreliable")
        self.notes_ += self._copies_note(raw, table)
        self.about_: dict[str, Any] = {
            "table": Path(table.path).name,
            "rows": len(table),
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - start, 1),
            **{name: version(name) for name in ("gpclass", "scikit-learn", "numpy", "scipy", "numba")},
        }

    def _convert_collections(self) -> None:
        """To lists, which have a truth value and can be saved."""
        for name in ("order", "drop", "keep", "category"):
            setattr(self, name, _as_list(getattr(self, name)))
        if self.views is not None:
            self.views = {name: _as_list(patterns) for name, patterns in self.views.items()}
        self.costs = written_costs(self.costs)

    def _check_settings(self) -> None:
        task, engine = self.task_, self.engine
        if engine not in ENGINES:
            raise TableError(f"expected an engine among {', '.join(ENGINES)}, got {engine!r}")
        if self.weights is not None and task != "classification":
            raise TableError(f"--weights is for unordered classes with all labels known; got {task}")
        if task == "semi-supervised" and (self.groups is not None or self.time is not None):
            option = "--time" if self.groups is None else "--groups"
            raise TableError(f"{option} is for tables in which all labels are known; got --unlabelled")
        if self.views and task == "semi-supervised":
            raise TableError("--views is for tables in which all labels are known; got --unlabelled")
        if engine == "nearest" and self.views:
            raise TableError("--engine nearest does not support --views; use --engine auto")
        if task == "regression" and (self._decisions() != Decisions() or self.class_weight is not None):
            raise TableError("costs, thresholds and class weights are for labels; got a regression")
        if self.class_weight is not None and (task != "classification" or engine in ("ep", "sparse", "ivm")):
            got = task if task != "classification" else f"--engine {engine}"
            raise TableError(
                f"--class-weight is for unordered classes and --engine auto, vb, laplace, nearest; got {got}"
            )
        if engine in ("sparse", "ivm") and (self.weights is not None or self.views):
            raise TableError(f"--engine {engine} supports neither --weights nor --views; use --engine auto")
        allowed = {
            "semi-supervised": ("auto",),
            "ordinal": ("auto", "ep", "ivm"),
            "regression": ("auto", "nearest", "ivm"),
        }
        if engine not in allowed.get(task, ENGINES):
            raise TableError(f"expected --engine {' or '.join(allowed[task])} for {task}, got {engine!r}")

    def _decisions(self) -> Decisions:
        return Decisions(self.costs, self.threshold, self.reject, self.positive)

    def _check_decisions(self) -> None:
        """Refuse costs, thresholds and class weights of other labels before the fit."""
        labels = [str(label_text(label)) for label in self.order or self._counts]
        decisions = self._decisions()
        decisions.check(labels, decisions.positive_position(labels, self._counts))
        class_weights(self.class_weight, labels)

    def _fit_columns(self, table: Table) -> Any:
        """Infer the kinds of the columns; returns the frame of the used ones, with missing values."""
        grouping = grouped.left_out_columns(table, self.groups, self.time, self.keep)
        without = [name for name in (self.target, self.weights) if name is not None]
        without += [column.name for column in grouping]
        schema = Schema.learn(table, without=without, drop=self.drop, keep=self.keep, category=self.category)
        schema = Schema((*schema.columns, *grouping))
        views: dict[str, list[str]] = {}
        if self.views:
            views = view_columns(self.views, schema)
            used = {name for columns in views.values() for name in columns}
            columns = [
                column if column.name in used or not column.used else replace(column, kind="left out", why="in no view")
                for column in schema.columns
            ]
            schema = Schema(tuple(columns))
        self.schema_ = schema
        self.notes_ += schema.notes(self.drop)
        known = [cell for cell in table.columns[self.target] if cell is not None]
        self._counts = dict(Counter(known))
        if self.task_ in ("classification", "semi-supervised"):
            self.notes_ += targets.label_notes(known)
        raw, _ = schema.frame(table)
        self.imputer_ = ViewImputer(views).fit(raw)
        return raw

    def _fit_estimator(
        self, estimator: Any, raw: Any, y: np.ndarray, weights: np.ndarray | None, callbacks: tuple[Any, ...]
    ) -> Predictions:
        """Fit, and predict training rows without their labels."""
        X = self.imputer_.transform(raw)
        self.estimator_, messages = fit_clone(estimator, X, y, weights, callbacks)
        self.notes_ += messages
        if self.time_limit is not None and _was_stopped(self.estimator_):
            limit = duration(self.time_limit)
            self.notes_.append(f"the time limit of {limit} stopped learning early: more time may give a better model")
        if self.task_ == "semi-supervised":
            return self._choose_rows(estimator, X, y, callbacks)
        return evaluation.leave_one_out(self.estimator_, y) or evaluation.held_out(
            estimator, self.imputer_, raw, y, self._classes(), self.random_state, callbacks, weights
        )

    def _n_fits(self, estimator: Any) -> int:
        """How many fits a model and its scores take, at most."""
        if self.task_ == "semi-supervised":
            return 2 + evaluation.FOLDS
        name, inference = type(estimator).__name__, getattr(estimator, "inference", None)
        exact = name in ("GPClassifier", "GPRegressor") or inference == "ep"
        by_group = 0 if exact or self.groups is None else grouped.FOLDS
        return (1 if exact else 2) + by_group + (0 if self.time is None else grouped.WINDOWS)

    def _choose_rows(self, estimator: Any, X: Any, y: np.ndarray, callbacks: tuple[Any, ...]) -> Predictions:
        """Keep the model of all rows unless the labelled rows alone predict hidden labels better: unlabelled rows help
        where classes are separated, and harm where they overlap."""
        from .. import GPClassifier

        hidden = evaluation.labels_hidden(estimator, X, y, self.classes_, self.random_state, callbacks)
        known = hidden.rows
        labels = np.array(y[known].tolist())  # not of dtype object, as there is no None
        alone, _ = fit_clone(GPClassifier(random_state=self.random_state), X.iloc[known], labels, callbacks=callbacks)
        left_out = evaluation.leave_one_out(alone, labels)
        assert left_out is not None
        with_all, without = (evaluation.log_losses(**found.scored) for found in (hidden, left_out))
        losses = f"log loss {with_all.mean():.3f} with them, {without.mean():.3f} without"
        difference = with_all - without
        # With few labels the difference is uncertain: only a clear one counts.
        if difference.mean() <= difference.std(ddof=1) / np.sqrt(len(difference)):
            self.notes_.append(f"unlabelled rows did not hurt: {losses}")
            return hidden
        self.notes_.append(f"unlabelled rows did not help ({losses}): fitted to the {len(known)} labelled rows only")
        self.estimator_ = alone
        return left_out._replace(rows=known)

    def _make_estimator(self, n_rows: int) -> Any:
        """The estimator for the task and the number of rows."""
        import gpclass as gp

        seed, engine = self.random_state, self.engine
        kernel = view_kernel(self.imputer_.views, self.schema_) if self.imputer_.views else None
        if kernel is not None and n_rows > MAX_EXACT_ROWS:
            raise TableError(f"expected at most {MAX_EXACT_ROWS} rows with --views, got {n_rows}")
        many = n_rows > EXACT_ROWS and kernel is None and engine == "auto"
        if self.task_ == "semi-supervised":
            return gp.NullCategoryClassifier(unlabelled=None, random_state=seed)
        if self.task_ == "regression":
            if many or engine == "nearest":
                return gp.NearestNeighborGPRegressor(random_state=seed)
            regressor = gp.IVMRegressor if engine == "ivm" else gp.GPRegressor
            return regressor(kernel, random_state=seed)
        if self.task_ == "ordinal":
            inference = engine if engine != "auto" else "ivm" if many and self.weights is None else "ep"
            return gp.GPOrdinalClassifier(kernel, order=list(self.order or ()), inference=inference, random_state=seed)
        if engine == "ivm":
            return gp.IVMClassifier(random_state=seed)
        if engine == "sparse":
            return gp.SparseGPClassifier(random_state=seed)
        if many or engine == "nearest":
            return gp.NearestNeighborGPClassifier(random_state=seed)
        return gp.GPClassifier(kernel, inference=engine, random_state=seed)

    # ---- what is kept of the training rows ---------------------------------------------------------------------------

    def _keep_scores(self, predictions: Predictions, weights: np.ndarray | None) -> None:
        self.how_, rows, scored = predictions
        weights = None if weights is None else weights[rows]
        kept = evenly_spaced(len(rows), KEPT_SCORES)
        self.scored_ = {name: values[kept] for name, values in scored.items()}
        self.scored_weights_ = None if weights is None else weights[kept]
        self.set_scored_, self.set_weights_ = self.scored_, self.scored_weights_
        self.rule_, decided, positive = None, None, None
        if self.task_ != "regression":
            decisions, positive = self._decisions(), self.positive_position()
            self.rule_ = decisions.rule(self.labels, positive, scored, weights)
            decided = None if self.rule_ is None else decisions.decide(self.rule_, positive, scored, weights)
        self.scores_ = self._scores_of(scored, weights, positive, self.rule_, decided)

    def _score_otherwise(
        self, usual: Predictions, refit: grouped.Refit, groups: np.ndarray | None, times: np.ndarray | None
    ) -> None:
        """Scores for new groups and for later rows, and a note where the usual ones are clearly better."""
        found = []
        if groups is not None:
            predictions = grouped.without_groups(self.estimator_, refit, groups, self.notes_)
            found.append((predictions, groups[predictions.rows], self.groups))
        if times is not None:
            found.append((*grouped.forward(refit, times, self.notes_), self.time))
        self.other_scores_: dict[str, dict[str, Any]] = {}
        for predictions, clusters, column in found:
            own = None if refit.weights is None else refit.weights[predictions.rows]
            positive = None if self.task_ == "regression" else self.positive_position()
            decided = None
            if self.rule_ is not None:
                decided = self._decisions().decide(self.rule_, positive, predictions.scored, own, clusters)
            scores = self._scores_of(predictions.scored, own, positive, self.rule_, decided)
            self.other_scores_[predictions.how] = grouped.errors_by_cluster(
                scores, predictions.scored, clusters, own, self.rule_, decided
            )
            note = grouped.comparison(usual, predictions, clusters, str(column), self.target)
            self.notes_ += [note] if note else []
            if column == self.groups:  # sets of labels are for new groups then
                kept = evenly_spaced(len(predictions.rows), KEPT_SCORES)
                self.set_scored_ = {name: values[kept] for name, values in predictions.scored.items()}
                self.set_weights_ = None if own is None else own[kept]

    def _keep_rows(self, table: Table, raw: Any, predictions: Predictions) -> None:
        self.surprising_ = evaluation.surprising_rows(table, predictions, self.labels)
        self.informative_: list[dict[str, Any]] = []
        active = getattr(self.estimator_, "active_", None)
        if isinstance(active, np.ndarray):
            ranks = range(1, len(active) + 1)
            self.informative_ = evaluation.listed_rows(table, active, np.arange(len(active)), kept_as=ranks)
        elif self.how_ == "leave-one-out" and self.task_ != "regression":
            kept = evenly_spaced(len(predictions.rows), KEPT_SCORES)
            rows = predictions.rows[kept]
            with_label = self.estimator_.predict_proba(self.imputer_.transform(raw.iloc[rows]))
            without_label = predictions.scored["proba"][kept]
            self.informative_ = evaluation.informative_rows(table, rows, without_label, with_label)
        # Labelled rows come first, as figures show labels.
        labelled = predictions.rows[evenly_spaced(len(predictions.rows), KEPT_ROWS)]
        others = np.setdiff1d(evenly_spaced(len(table), KEPT_ROWS), predictions.rows)
        others = others[evenly_spaced(len(others), KEPT_ROWS - len(labelled))]
        self.sample_ = table.subset(np.sort(np.concatenate([labelled, others])).tolist())

    def _keep_training(self, table: Table, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Positions in the table of the rows that the posterior has, in its numbering, and their targets: indices of
        the classes (-1 for unlabelled rows), or numbers."""
        rows = np.arange(len(table)) if weights is None else np.flatnonzero(weights > 0)
        labelled = np.array([label is not None for label in y.tolist()])
        if not hasattr(self.estimator_, "transduction_"):  # it has no unlabelled rows
            rows = rows[labelled[rows]]
        known = y
        if self.task_ != "regression":
            known = np.full(len(y), -1)
            known[labelled] = label_positions(np.array(y[labelled].tolist()), self.classes_)
        active = getattr(self.estimator_, "active_", None)
        rows = rows[active] if isinstance(active, np.ndarray) else rows
        self.training_ = {"positions": np.array(table.positions)[rows], "targets": known[rows]}

    def _left_out_note(self) -> list[str]:
        """Which columns a default kernel has chosen."""
        estimator = self.estimator_
        inputs = estimator._inputs
        used = inputs.by_column(estimator.kernel_.used_columns(inputs.n_features))
        if np.all(used):
            return []
        if not np.any(used):
            return [f"the columns say little about {self.target!r}: the class frequencies have the largest weight"]
        names = [str(name) for name in estimator.feature_names_in_[used]]
        drive = "column drives" if len(names) == 1 else "columns drive"
        return [f"{len(names)} of {len(used)} {drive} the model: {listed(names)}"]

    def _copies_note(self, raw: Any, table: Table) -> list[str]:
        """Duplicate rows are suspicious where numbers have many values, but not in a table of a few categories."""
        numeric = [column.name for column in self.schema_.used if column.kind == "number"]
        copies = len(table) - len(set(zip(*table.columns.values(), strict=True)))
        if not copies or not any(raw[name].nunique() > len(raw) / 4 for name in numeric):
            return []
        rows = "a row is a copy" if copies == 1 else f"{copies} rows are copies"
        return [f"{rows} of others: a left-out row is then predicted from its copy, and scores are too good"]

    # ---- predicting --------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        return self.estimator_.classes_

    def _classes(self) -> np.ndarray | None:
        return None if self.task_ == "regression" else self.classes_

    @property
    def labels(self) -> list[str]:
        """The classes as text; none for regression."""
        return [str(label_text(label)) for label in self.classes_.tolist()] if self.task_ != "regression" else []

    def label_counts(self) -> str:
        """The number of rows of each label, as text."""
        shown = [f"{label} ({self._counts.get(label, 0)})" for label in self.labels]
        more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
        return ", ".join(shown[:12]) + more

    def positive_position(self, decisions: Decisions | None = None) -> int | None:
        """The positive label's position; None where there are several and none is named, and for regression."""
        return (
            self._updated(decisions or Decisions()).positive_position(self.labels, self._counts)
            if self.labels
            else None
        )

    def _updated(self, decisions: Decisions) -> Decisions:
        """The decisions of the fit, with the positive label that it took, but for what is given."""
        own = self._decisions()
        position = own.positive_position(self.labels, self._counts) if self.labels else None
        named = own if position is None else replace(own, positive=self.labels[position])
        return named.updated(decisions)

    def rule(self, decisions: Decisions | None = None) -> DecisionRule | None:
        """How to decide: as in fit, but for what is given. A threshold is tuned on predictions of training rows.

        Another positive label than that of the fit ends the threshold of the fit, and its costs of false negatives and
        positives.
        """
        check_is_fitted(self, "estimator_")
        if decisions is None or decisions == Decisions():
            return self.rule_
        if self.task_ == "regression":
            raise TableError("costs and thresholds are for labels; the model is a regression")
        own, positive = self._updated(decisions), self.positive_position(decisions)
        return own.rule(self.labels, positive, self.scored_, self.scored_weights_)

    def rule_text(self) -> str:
        """What the rule of the fit does, in a sentence."""
        return "" if self.rule_ is None else described(self.rule_, self.positive_position())

    def decide(self, table: Any, decisions: Decisions | None = None) -> np.ndarray:
        """The decision of least expected cost, or by the threshold, for each row; "ask" where a person should look."""
        proba, rule = self.predict_proba(table), self.rule(decisions)
        return self._decided(proba.argmax(axis=1) if rule is None else rule.choose(proba))

    def _decided(self, chosen: np.ndarray) -> np.ndarray:
        if not np.any(chosen < 0):
            return self.classes_[chosen]
        found = self.classes_[chosen].astype(object)
        found[chosen < 0] = ASK
        return found

    def identifiers(self, table: Table) -> list[str]:
        """Columns that identify the rows of a table: those left out as such, and those dropped on request that differ
        in every row."""

        def identifies(column: Column) -> bool:
            cells = table.columns.get(column.name, [])
            return column.kind == "id" or (column.name in self.drop and len(set(cells)) == len(cells) > 1)

        return [column.name for column in self.schema_.columns if column.name in table.columns and identifies(column)]

    def frame(self, table: Any) -> tuple[Any, list[str]]:
        """The rows as input of the estimator, and notes about them."""
        check_is_fitted(self, "estimator_")
        table = _as_table(table)
        raw, notes = self.schema_.frame(table, imputed=not self.imputer_.views)
        return self.imputer_.transform(raw), [*table.notes, *notes]

    def _frame_with_warnings(self, table: Any) -> Any:
        frame, notes = self.frame(table)
        for note in notes:
            warnings.warn(note, stacklevel=3)
        return frame

    def predict(self, table: Any) -> np.ndarray:
        """The most probable label, or the expected value, of each row."""
        frame = self._frame_with_warnings(table)
        with unknown_categories_ignored():
            return self.estimator_.predict(frame)

    def predict_proba(self, table: Any) -> np.ndarray:
        """Probabilities (m, n_classes); columns as in ``classes_``."""
        check_is_fitted(self, "estimator_")
        if self.task_ == "regression":
            raise AttributeError("a regression has no class probabilities; see predictions(table)")
        return evaluation.predicted(self.estimator_, self._frame_with_warnings(table), self.classes_)["proba"]

    def predict_set(self, table: Any, coverage: float = 0.9, by_class: bool = False) -> np.ndarray:
        """Which labels (m, n_classes) belong to a set that holds the label of this share of rows, of every class with
        ``by_class``; at least the most probable one. Columns as in ``classes_``.

        The thresholds come from predictions without the rows' own labels, with ``groups`` without those of the whole
        group, and so does the coverage:
        ``GPClassifier.predict_set`` says when it holds.
        """
        sets = self._prediction_sets(coverage, by_class)
        return sets.of(self.predict_proba(table))

    def _prediction_sets(self, coverage: float, by_class: bool = False) -> PredictionSets:
        check_is_fitted(self, "estimator_")
        if self.task_ == "regression":
            raise TableError("expected a model of labels for sets of them, got a regression")
        labels, proba = self.classes_[self.set_scored_["labels"]], self.set_scored_["proba"]
        return PredictionSets.calibrate(labels, proba, self.classes_, coverage, by_class, self.set_weights_)

    def predictions(
        self, table: Any, coverage: float | None = None, decisions: Decisions | None = None
    ) -> dict[str, np.ndarray]:
        """Predictions, their uncertainty and the similarity of each row, as ``gpclass predict`` writes them.

        ``coverage`` adds sets of labels (``predict_set``) as text, joined by bars. Decisions are added where the model
        or ``decisions`` has costs or a threshold.
        """
        return self.predictions_of_frame(self._frame_with_warnings(table), coverage, decisions)

    def predictions_of_frame(
        self, frame: Any, coverage: float | None = None, decisions: Decisions | None = None
    ) -> dict[str, np.ndarray]:
        """``predictions`` for a result of ``frame``."""
        rule, sets = self.rule(decisions), None if coverage is None else self._prediction_sets(coverage)
        found = evaluation.predicted(self.estimator_, frame, self._classes())
        with unknown_categories_ignored():
            closest = similarity(self.estimator_, frame)
            far = {"similarity": closest, "far": np.where(closest < self.far_below_, "yes", "no")}
            if self.task_ == "regression":
                mean, sd = found["mean"], found["sd"]
                noise = np.minimum(self.estimator_.noise_std_, sd)
                epistemic = sd * np.sqrt(1.0 - (noise / sd) ** 2)
                return {"prediction": mean, "sd": sd, "sd_epistemic": epistemic, "sd_aleatoric": noise} | far
            proba = found["proba"]
            split = entropy_split(self.estimator_, frame, proba=proba)
        return {
            "prediction": self.classes_[proba.argmax(axis=1)],
            **({} if rule is None else {"decision": self._decided(rule.choose(proba))}),
            **({} if rule is None else {"expected_cost": rule.chosen_costs(proba)}),
            **({} if sets is None else {"set": _joined(sets.of(proba), self.labels)}),
            **{f"p_{label}": proba[:, k] for k, label in enumerate(self.labels)},
            "entropy": split.total,
            "entropy_epistemic": split.epistemic,
            "entropy_aleatoric": split.aleatoric,
        } | far

    def evaluate(
        self, table: Any, decisions: Decisions | None = None
    ) -> tuple[dict[str, Any], dict[str, np.ndarray], list[str]]:
        """Scores on rows with known targets, the predictions behind them, with the decisions where there are some, and
        notes. Rows are weighted where the model and the table have the column of weights."""
        rule = self.rule(decisions)
        notes: list[str] = []
        table = targets.mark_missing(_as_table(table), self.target, self.labels, self.unlabelled)
        table = targets.drop_missing(table, self.target, notes)
        if self.task_ != "regression":
            table = targets.unify_spelling(table, self.target, self.labels)
        table, weights = self._weighted(table, notes)
        frame, frame_notes = self.frame(table)
        regression = self.task_ == "regression"
        known = {"y": numeric_values(table, self.target)} if regression else {"labels": self._positions(table)}
        scored = known | evaluation.predicted(self.estimator_, frame, self._classes())
        decided = None if rule is None else rule.choose(scored["proba"])
        scores = self._scores_of(scored, weights, self.positive_position(decisions), rule, decided)
        return scores, scored | ({} if decided is None else {"decided": decided}), notes + frame_notes

    def _weighted(self, table: Table, notes: list[str]) -> tuple[Table, np.ndarray | None]:
        """The rows with positive weight, and their weights."""
        if self.weights is None:
            return table, None
        if self.weights not in table.columns:
            notes.append(f"{table.path} has no column {self.weights!r} of weights: every row counts once")
            return table, None
        weights = targets.read_weights(table, self.weights, self.target, [])
        notes.append(f"rows are weighted by column {self.weights!r}")
        rows = np.flatnonzero(weights > 0)
        return replace(table.subset(rows.tolist()), notes=table.notes), weights[rows]

    def _scores_of(
        self,
        scored: dict[str, np.ndarray],
        weights: np.ndarray | None,
        positive: int | None,
        rule: DecisionRule | None,
        decided: np.ndarray | None,
    ) -> dict[str, Any]:
        if self.task_ == "regression":
            return evaluation.regression_scores(**scored)
        scores = evaluation.classification_scores(
            **scored, ordered=self.task_ == "ordinal", weights=weights, decided=decided, positive=positive
        )
        for label, own in zip(self.labels, scores["by_class"], strict=True):
            own["label"] = label
        if rule is not None and decided is not None:
            scores |= decision_scores(rule, scored["labels"], decided, weights)
        return scores

    def _positions(self, table: Table) -> np.ndarray:
        """The index of each row's label in the classes."""
        positions = {label: k for k, label in enumerate(self.labels)}
        targets.check_known(table, self.target, positions, f"one of {listed(self.labels)},")
        return np.array([positions[str(cell)] for cell in table.column(self.target)])


def _was_stopped(estimator: Any) -> bool:
    """Whether a callback has stopped learning or sampling."""
    reports = (getattr(estimator, name, None) for name in ("hyper_", "info_"))
    return any(getattr(report, "stopped", False) for report in reports)


def _as_list(given: Any) -> Any:
    """A collection as a list, unless it is one or a tuple; a string is a collection of one."""
    if given is None or isinstance(given, (list, tuple)):
        return given
    if isinstance(given, str):
        return [given]
    return given.tolist() if hasattr(given, "tolist") else list(given)


def _joined(sets: np.ndarray, labels: list[str]) -> np.ndarray:
    """The labels of each set as text."""
    if any("|" in label for label in labels):
        raise TableError(
            f"expected labels without '|', which separates the labels of a set, got {listed(labels)}; "
            "predict_set in Python gives sets as columns"
        )
    return np.array(["|".join(np.array(labels, dtype=object)[row]) for row in sets], dtype=object)


def _as_table(given: Any) -> Table:
    return given if isinstance(given, Table) else from_frame(given)

"""Scores for tables whose rows belong together or follow each other in time.

Leave-one-out predicts a row of a patient from the other rows of that patient, and a row of last year from those of this
year. Who predicts new patients, or the future, needs predictions that do without.
"""

import warnings
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student_t
from sklearn.model_selection import GroupKFold

from ..evaluation.class_scores import brier_terms
from ..evaluation.decisions import DecisionRule
from ..evaluation.groups import (
    group_codes,
    has_group_predictions,
    leave_group_out_predict,
    leave_group_out_proba,
)
from ..evaluation.metrics import label_positions
from .columns import Column
from .deciding import costs_beside_constant
from .evaluation import Predictions, formatted_scores, log_losses, refit_predictions
from .imputation import ViewImputer
from .tables import Table, TableError, listed

GROUPS, GROUP_FOLDS, FORWARD = "leave-one-group-out", "groups held out", "forward in time"
#: Folds of groups where there is no closed form, and windows of time.
FOLDS, WINDOWS = 5, 5
#: A difference is clear beyond this quantile of Student's distribution.
_CLEAR = 0.975


class Refit(NamedTuple):
    """What refits need: the estimator, the imputer, the rows with missing values, targets, classes (None for
    regression), weights and callbacks."""

    estimator: Any
    imputer: ViewImputer
    raw: Any
    y: np.ndarray
    classes: Any
    weights: np.ndarray | None = None
    callbacks: tuple[Any, ...] = ()


# ---- columns of groups and times -------------------------------------------------------------------------------------


def left_out_columns(table: Table, groups: str | None, time: str | None, keep: Collection[str]) -> list[Column]:
    """The columns that say which rows belong together, and when they were made; times may be kept as predictors."""
    if groups is not None and groups in keep:
        raise TableError(f"--groups cannot be a predictor, as new groups have other values; got --keep {groups!r}")
    reasons = {} if time is None or time in keep else {time: "the time (--time) is not a predictor; --keep uses it"}
    reasons |= {} if groups is None else {groups: "the groups (--groups) are not a predictor"}
    return [Column(name, "id", table.column(name).count(None), why) for name, why in reasons.items()]


def read_groups(table: Table, name: str, target: str, notes: list[str]) -> np.ndarray:
    """The number of the group of each row."""
    cells = _filled(table, name, target, "--groups", "a row that belongs to no group needs a unique value")
    if len(set(cells)) < 2:
        raise TableError(
            f"expected at least two groups in column {name!r} of {table.path}, got {cells[0]!r} in all rows"
        )
    if len(set(cells)) == len(cells):
        notes.append(f"every row has a different {name!r}: leave-one-group-out equals leave-one-out")
    return group_codes(cells, len(cells))


def read_times(table: Table, name: str, target: str) -> np.ndarray:
    """What rows are sorted by: numbers, or dates."""
    cells = _filled(table, name, target, "--time", "every row needs a time")
    numbers = [table.parse(cell) for cell in cells]
    values = _dates(table, name, cells) if None in numbers else np.array(numbers, dtype=float)
    if len(np.unique(values)) < 2:
        raise TableError(f"expected at least two different times in column {name!r}, got {cells[0]!r} in all rows")
    return values


def _filled(table: Table, name: str, target: str, option: str, hint: str) -> list[str]:
    """The cells of a column without missing values."""
    if name == target:
        raise TableError(f"expected {option} in another column than the target, got {name!r} for both")
    cells = table.column(name)
    if None in cells:
        raise TableError(f"{table.where(name, cells.index(None))}: expected a value for {option}, got none; {hint}")
    return [str(cell) for cell in cells]


def _dates(table: Table, name: str, cells: list[str]) -> np.ndarray:
    """Dates and timestamps as integers; without a zone they are taken for UTC."""
    import pandas as pd

    def read(**settings: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of formats that differ between rows, which become missing
            return pd.to_datetime(pd.Series(cells), utc=True, errors="coerce", **settings)

    iso = read(format="ISO8601")
    if not iso.isna().any():
        return iso.astype("int64").to_numpy()
    month_first, day_first = read(dayfirst=False), read(dayfirst=True)
    found = min(month_first, day_first, key=lambda dates: int(dates.isna().sum()))
    if found.isna().any():
        row = int(np.flatnonzero(found.isna())[0])
        raise TableError(
            f"{table.where(name, row)}: expected a number or a date such as 2024-03-31 or 2024-03-31 14:05, "
            f"as in the other rows, got {cells[row]!r}"
        )
    if not day_first.isna().any() and not month_first.isna().any() and (day_first != month_first).any():
        row = int(np.flatnonzero(day_first != month_first)[0])
        raise TableError(
            f"{table.where(name, row)}: expected dates that can be read in one way, such as 2024-03-31, got "
            f"{cells[row]!r}, whose first number may be the day or the month"
        )
    return found.astype("int64").to_numpy()


# ---- predictions -----------------------------------------------------------------------------------------------------


def without_groups(estimator: Any, refit: Refit, groups: np.ndarray, notes: list[str]) -> Predictions:
    """Predictions of rows without their group: by the fitted ``estimator`` where it has them in closed form, otherwise
    by refits in folds of groups."""
    if refit.classes is not None:
        _note_labels_of_one_group(refit.y, groups, notes)
    if not has_group_predictions(estimator):
        folds = GroupKFold(min(FOLDS, len(np.unique(groups)))).split(groups, groups=groups)
        return _refitted(GROUP_FOLDS, refit, list(folds), notes)
    if refit.classes is None:
        mean, sd = leave_group_out_predict(estimator, groups)
        return Predictions(GROUPS, np.arange(len(groups)), {"y": refit.y, "mean": mean, "sd": sd})
    proba = leave_group_out_proba(estimator, groups)
    rows = np.flatnonzero(~np.isnan(proba[:, 0]))
    return Predictions(GROUPS, rows, {"labels": label_positions(refit.y[rows], refit.classes), "proba": proba[rows]})


def forward(refit: Refit, times: np.ndarray, notes: list[str]) -> tuple[Predictions, np.ndarray]:
    """Predictions of each block of rows from all rows before it, and the block of each predicted row."""
    splits = time_splits(times)
    found = _refitted(FORWARD, refit, splits, notes)
    block = np.full(len(times), -1)
    for number, (_, test) in enumerate(splits):
        block[test] = number
    return found, block[found.rows]


def time_splits(times: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Expanding windows, as scikit-learn's ``TimeSeriesSplit`` has them: rows before a time, and a block of about a
    sixth of the rows from then on. Rows of the same time stay together."""
    order = np.argsort(times, kind="stable")
    starts = np.flatnonzero(np.diff(times[order])) + 1  # of all different times but the first
    wanted = len(times) * np.arange(1, WINDOWS + 1) / (WINDOWS + 1)
    bounds = np.unique([starts[np.argmin(np.abs(starts - at))] for at in wanted])
    return [(order[:start], order[start:end]) for start, end in zip(bounds, [*bounds[1:], len(times)], strict=True)]


def _refitted(how: str, refit: Refit, splits: Sequence[tuple[np.ndarray, np.ndarray]], notes: list[str]) -> Predictions:
    """Predictions of the second rows of each split by a model of the first."""
    estimator, imputer, raw, y, classes, weights, callbacks = refit
    rows, parts, unknown, skipped = [], defaultdict(list), 0, 0
    for train, test in splits:
        if weights is not None:
            train = train[weights[train] > 0]
        if len(np.unique(y[train])) < 2:
            skipped += len(test)
            continue
        found = refit_predictions(estimator, imputer, raw, y, classes, train, test, callbacks, weights)
        if classes is not None:
            unknown += int(np.count_nonzero(~np.isin(y[test], y[train])))
        rows.append(test)
        for name, values in found.items():
            parts[name].append(values)
    if not rows:
        raise TableError(f"{how}: expected different values of the target in the rows that others are predicted from")
    if skipped:
        notes.append(f"{how}: {skipped} rows are not predicted, their training rows all have the same target")
    if unknown:
        notes.append(f"{how}: {unknown} rows have a label that does not occur in their training rows")
    return Predictions(how, np.concatenate(rows), {name: np.concatenate(part) for name, part in parts.items()})


def _note_labels_of_one_group(y: np.ndarray, groups: np.ndarray, notes: list[str]) -> None:
    labels = np.unique(y)
    single = [str(label) for label in labels if len(np.unique(groups[y == label])) == 1]
    if single:
        notes.append(f"labels of one group only: {listed(single)}; they cannot be learned from other groups")


# ---- scores ----------------------------------------------------------------------------------------------------------


def errors_by_cluster(
    scores: Mapping[str, Any],
    scored: Mapping[str, np.ndarray],
    clusters: np.ndarray,
    weights: np.ndarray | None,
    rule: DecisionRule | None = None,
    decided: np.ndarray | None = None,
) -> dict[str, Any]:
    """The scores with standard errors and intervals that allow for rows of a cluster to be alike.

    Intervals are as wide as those of fewer rows, by the design effect: the ratio of the variances of the mean loss with
    and without clusters. A model beats a guess where the mean of the differences is also clear of 0 by the errors of
    clusters. ``decided`` are the decisions by ``rule`` that the scores are of.
    """
    w = np.ones(len(clusters)) if weights is None else weights
    values, gains, effect = _row_values(scored), {} if "mean" in scored else _row_gains(scored, w), 1.0
    if rule is not None and decided is not None:
        values["mean_cost"], constant, _ = costs_beside_constant(rule, scored["labels"], decided, w)
        gains["mean_cost"] = constant - values["mean_cost"]
    found = dict(scores)
    for name, own in values.items():
        error = _cluster_error(own, clusters, w)
        if name == "log_loss" and error is not None:
            alone = _cluster_error(own, np.arange(len(own)), w)
            effect = max(1.0, (error / alone) ** 2) if alone else 1.0
        if f"{name}_se" in scores:
            found[f"{name}_se"] = error
    for name, own in gains.items():
        found[f"{name}_beats_guess"] = scores[f"{name}_beats_guess"] and _clearly_above_zero(own, clusters, w)
    found |= _widened(scores, effect)
    if "by_class" in scores:
        found["by_class"] = [{**row, **_widened(row, effect)} for row in scores["by_class"]]
    if "rmse" in scores and scores["rmse"] > 0:
        squares = ((scored["y"] - scored["mean"]) / scores["rmse"]) ** 2
        error = _cluster_error(squares, clusters, w)
        found["rmse_se"] = None if error is None else 0.5 * scores["rmse"] * error
    return found


def _widened(scores: Mapping[str, Any], effect: float) -> dict[str, float]:
    """The ends of all intervals, for the design effect."""
    found = {}
    for name in [key.removesuffix("_low") for key in scores if key.endswith("_low")]:
        if scores[name] is not None and scores[f"{name}_low"] is not None:
            for end in ("_low", "_high"):
                wider = scores[name] + (scores[name + end] - scores[name]) * np.sqrt(effect)
                found[name + end] = float(np.clip(wider, 0.0, 1.0))
    return found


def _row_values(scored: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    if "mean" in scored:
        residual, sd = scored["y"] - scored["mean"], scored["sd"]
        log_loss = 0.5 * (residual / sd) ** 2 + np.log(sd)
        return {"log_loss": log_loss, "inside_90": (np.abs(residual) <= 1.6448536269514722 * sd).astype(float)}
    labels, proba = scored["labels"], scored["proba"]
    off = np.abs(proba.argmax(axis=1) - labels).astype(float)
    return {
        "error": (off > 0).astype(float),
        "log_loss": log_losses(labels, proba),
        "brier": brier_terms(labels, proba),
        "mean_steps_off": off,
    }


def _row_gains(scored: Mapping[str, np.ndarray], weights: np.ndarray) -> dict[str, np.ndarray]:
    """By how much each row is predicted better than by the class frequencies."""
    labels, values = scored["labels"], _row_values(scored)
    shares = np.bincount(labels, weights, minlength=scored["proba"].shape[1]) / weights.sum()
    guess = np.broadcast_to(shares, scored["proba"].shape)
    return {
        "error": (labels != shares.argmax()) - values["error"],
        "log_loss": log_losses(labels, guess) - values["log_loss"],
    }


def _clearly_above_zero(values: np.ndarray, clusters: np.ndarray, weights: np.ndarray) -> bool:
    """Whether the weighted mean is, by Student's distribution with the number of clusters."""
    error, n_clusters = _cluster_error(values, clusters, weights), len(np.unique(clusters))
    if error is None:
        return False
    return bool(np.average(values, weights=weights) > student_t.ppf(_CLEAR, n_clusters - 1) * error)


def _cluster_error(values: np.ndarray, clusters: np.ndarray, weights: np.ndarray) -> float | None:
    """The standard error of a weighted mean from the sums over clusters; None for a single cluster."""
    codes = np.unique(clusters, return_inverse=True)[1]
    n_clusters = codes.max() + 1
    if n_clusters < 2:
        return None
    sums = np.bincount(codes, weights * (values - np.average(values, weights=weights)))
    return float(np.sqrt(np.sum(sums**2) * n_clusters / (n_clusters - 1)) / weights.sum())


def comparison(usual: Predictions, other: Predictions, clusters: np.ndarray, column: str, target: str) -> str | None:
    """A sentence where the ``usual`` predictions are clearly better than the ``other`` ones of the same rows, of which
    ``clusters`` may be alike."""
    _, first, second = np.intersect1d(usual.rows, other.rows, return_indices=True)
    if len(first) == 0:
        return None
    losses = [_losses(found.scored)[rows] for found, rows in ((usual, first), (other, second))]
    difference, codes = losses[1] - losses[0], clusters[second]
    if not _clearly_above_zero(difference, codes, np.ones(len(difference))):
        return None
    if "mean" in usual.scored:
        before, after = (f"{np.sqrt(loss.mean()):.3g}" for loss in losses)
        expected = f"expect a root mean square error of {after} in {target!r}"
    else:
        before, after = (f"{100 * loss.mean():.0f} %" for loss in losses)
        expected = f"expect an error of {after}"
    if other.how == FORWARD:
        return f"later rows are harder to predict than rows of a known time: {expected} for the future, not {before}"
    return f"rows of the same {column!r} help each other: {expected} for a new {column!r}, not {before}"


def _losses(scored: Mapping[str, np.ndarray]) -> np.ndarray:
    """Mistakes, or squared residuals."""
    return (scored["y"] - scored["mean"]) ** 2 if "mean" in scored else _row_values(scored)["error"]


def side_by_side(how: str, scores: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Scores by several kinds of predictions as text: a line of heads, and a line for each score with a reference."""
    columns = {how: scores, **others}
    texts = [{name: value for name, value, _ in formatted_scores(one)} for one in columns.values()]
    # Forward in time a label may be missing, and with it the scores of its ranking.
    lines = [[name, *[text.get(name, "") for text in texts], told] for name, _, told in formatted_scores(scores)]
    return [["", *columns, ""], ["rows", *[str(one["rows"]) for one in columns.values()], ""], *lines]

"""Drift: how the rows of a new table differ from those that a model was fitted to, column by column."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np
from scipy.signal import fftconvolve
from scipy.special import gammaln
from scipy.stats import binom, chi2_contingency, fisher_exact, ks_2samp
from sklearn.utils.validation import check_is_fitted

from ..evaluation.uncertainty import similarity, similarity_within
from . import evaluation
from .columns import Column, date_values, numeric_values
from .evaluation import evenly_spaced, unknown_categories_ignored
from .model import TableModel
from .tables import Table, from_frame, listed

#: Probability that any change is reported where there is none, and distances below which none is.
_LEVEL, _SMALLEST = 0.05, 0.05
#: Rows that are predicted.
_PREDICTED = 2000
#: Categories expected less often than this count together, as the chi-square approximation needs.
_RARE = 5.0
#: Categories of as many rows as are new by chance with less than this probability are new for a reason.
_UNLIKELY = 1e-12
#: New categories that are named.
_NAMED = 5


def check_drift(model: TableModel, table: Any) -> dict[str, Any]:
    """How the rows of a table differ from the training rows.

    Each column has a ``distance`` from 0 to 1 between the distributions: the Kolmogorov-Smirnov statistic of numbers
    and dates, total variation of categories, none of text; and the difference of the shares of missing values.
    ``changed`` says that a distance is at least 0.05 and that its p-value (two-sample Kolmogorov-Smirnov, chi-square,
    and Fisher's exact test of shares) is below 0.05 divided by the number of all tests, so a table without drift gets a
    report of change in at most one of 20 cases. Rows are taken for independent.

    Categories are tested twice: rare ones count together in the chi-square test, and the share of rows with new
    categories is compared with that which equal distributions would have. ``p_value`` is the smaller one.

    Numbers are compared with the rows that the model keeps (at most 500), categories and missing values with all
    training rows. ``far`` is the share of rows that are far from the training rows, ``predictions`` the shares of
    predicted labels beside those of the training rows, predicted without their own labels; both are of at most 2000
    rows of the table.

    Parameters
    ----------
    model : fitted ``TableModel``
    table : data frame or ``Table`` with the columns of the training table; the target is not needed
    """
    check_is_fitted(model)
    table = table if isinstance(table, Table) else from_frame(table)
    frame, notes = model.frame(table)
    kinds = [column.kind for column in model.schema_.used]
    level = _LEVEL / (2 * len(kinds) - kinds.count("text") + 2)
    columns = [_column(model, column, table, level) for column in model.schema_.used]
    columns.sort(
        key=lambda row: (not row["changed"], -max(row["distance"], abs(row["missing"] - row["missing_before"])))
    )
    frame = frame.iloc[evenly_spaced(len(frame), _PREDICTED)]
    found = {
        "rows": len(table),
        "reference_rows": len(model.sample_),
        "columns": columns,
        "far": _far(model, frame, level),
        "predictions": _predictions(model, frame, level),
        "unknown_columns": _unknown_columns(model, table.columns),
        "notes": notes,
    }
    return {"summary": _summary(found), **found}


def _column(model: TableModel, column: Column, table: Table, level: float) -> dict[str, Any]:
    n_before, n = model.about_["rows"], len(table)
    excess, p_new = 0.0, 1.0
    if column.ordered:
        values, before = _numbers(column, table), _numbers(column, model.sample_)
        n_missing, known = int(np.isnan(values).sum()), values[~np.isnan(values)]
        distance, p = _of_numbers(before[~np.isnan(before)], known)
        outside: dict[str, Any] = {
            "out_of_range": float(np.mean((known < column.low) | (known > column.high))) if len(known) else 0.0
        }
    elif column.kind == "text":
        n_missing, distance, p = table.columns[column.name].count(None), 0.0, 1.0
        outside = {}
    else:
        cells, old = table.columns[column.name], dict(column.counts)
        counts = Counter(cell for cell in cells if cell is not None)
        n_missing = n - counts.total()
        distance, p = _of_categories({**old, "": column.n_missing}, {**counts, "": n_missing})
        excess, p_new = _of_new_categories(old, counts)
        new = Counter({cell: number for cell, number in counts.items() if cell not in old})
        outside = {"new_categories": new.total() / n, "named": [cell for cell, _ in new.most_common(_NAMED)]}
    share, before_share = n_missing / n, column.n_missing / n_before
    p_missing = _of_shares(n_missing, n, column.n_missing, n_before)
    changed = (
        (p < level and distance >= _SMALLEST)
        or (p_new < level and excess >= _SMALLEST)
        or (column.kind != "category" and p_missing < level and abs(share - before_share) >= _SMALLEST)
    )
    return {
        "column": column.name,
        "kind": column.kind,
        "changed": changed,
        "distance": distance,
        "p_value": min(p, p_new),
        "missing": share,
        "missing_before": before_share,
        **outside,
    }


def _numbers(column: Column, table: Table) -> np.ndarray:
    """Numbers, or dates as days since 1970; NaN for missing values."""
    if column.kind == "number":
        return numeric_values(table, column.name)
    return (date_values(table, column.name) - np.datetime64(0, "D")) / np.timedelta64(1, "D")


def _of_numbers(before: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Kolmogorov-Smirnov statistic and its p-value; 0 and 1 where a column is empty."""
    if not len(before) or not len(values):
        return 0.0, 1.0
    found = ks_2samp(before, values, method="asymp")
    return float(found.statistic), float(found.pvalue)


def _of_categories(before: dict[str, int], counts: dict[str, int]) -> tuple[float, float]:
    """Total variation, and the p-value of the chi-square test, for which rare categories count together."""
    names = sorted({*before, *counts})
    table = np.array([[own.get(name, 0) for name in names] for own in (before, counts)], dtype=float)
    totals = table.sum(axis=1, keepdims=True)
    distance = float(0.5 * np.abs(np.subtract(*(table / totals))).sum())
    expected = totals.min() / totals.sum() * table.sum(axis=0)
    rare = expected < _RARE
    merged = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    merged = merged[:, merged.sum(axis=0) > 0]
    p = float(chi2_contingency(merged, correction=False).pvalue) if merged.shape[1] > 1 else 1.0
    return distance, p


def _of_new_categories(before: dict[str, int], counts: dict[str, int]) -> tuple[float, float]:
    """By how much the share of rows with new categories is larger than expected, and its p-value.

    Where both tables have one distribution, all divisions of their N rows are equally likely, and the m rows of a
    category are all among the n new ones with probability n (n - 1) ... (n - m + 1) / (N (N - 1) ... (N - m + 1)).
    These events are negatively associated (Joag-Dev and Proschan 1983), so that their sum, taken for one of independent
    terms, spreads at least as much: the test is careful.
    """
    n, n_before = sum(counts.values()), sum(before.values())
    if not n or not n_before:
        return 0.0, 1.0
    N = n + n_before
    pooled = Counter({name: count for name, count in before.items() if count}) + Counter(counts)
    sizes, numbers = np.unique(list(pooled.values()), return_counts=True)
    sizes, numbers = sizes[sizes <= n], numbers[sizes <= n]
    all_new = np.exp(gammaln(n + 1) - gammaln(n - sizes + 1) - gammaln(N + 1) + gammaln(N - sizes + 1))
    found = sum(count for name, count in counts.items() if not before.get(name))
    excess = (found - float(np.sum(sizes * numbers * all_new))) / n
    likely = all_new >= _UNLIKELY
    pmf = np.ones(1)
    for size, number, share in zip(sizes[likely], numbers[likely], all_new[likely], strict=True):
        own = np.zeros(size * number + 1)
        own[::size] = binom.pmf(np.arange(number + 1), number, share)
        pmf = fftconvolve(pmf, own)
    p = float(pmf[found:].sum() + np.sum((numbers * all_new)[~likely]))
    return excess, float(np.clip(p, 0.0, 1.0))


def _of_shares(count: int, n: int, count_before: int, n_before: int, alternative: str = "two-sided") -> float:
    """p-value of Fisher's exact test of two shares."""
    cells = [[count, n - count], [count_before, n_before - count_before]]
    return float(fisher_exact(cells, alternative=alternative).pvalue)


def _far(model: TableModel, frame: Any, level: float) -> dict[str, Any]:
    """The share of rows that are far from the training rows, beside that of training rows from each other."""
    with unknown_categories_ignored():
        far = similarity(model.estimator_, frame) < model.far_below_
    before = similarity_within(model.estimator_) < model.far_below_
    share, share_before = float(far.mean()), float(before.mean())
    p = _of_shares(int(far.sum()), len(far), int(before.sum()), len(before), "greater")
    changed = p < level and share - share_before >= _SMALLEST
    return {"share": share, "before": share_before, "p_value": p, "changed": changed}


def _predictions(model: TableModel, frame: Any, level: float) -> dict[str, Any]:
    """Predicted labels, or numbers, beside those of training rows that were predicted without their own."""
    if model.task_ == "regression":
        mean = evaluation.predicted(model.estimator_, frame, None)["mean"]
        before_mean = model.scored_["mean"]
        distance, p = _of_numbers(before_mean, mean)
        shares: dict[str, Any] = {"mean": float(mean.mean()), "mean_before": float(before_mean.mean())}
    else:
        proba = evaluation.predicted(model.estimator_, frame, model.classes_)["proba"]
        K = len(model.labels)
        counts, before = (np.bincount(own.argmax(axis=1), minlength=K) for own in (proba, model.scored_["proba"]))
        distance, p = _of_categories(*(dict(zip(model.labels, own.tolist(), strict=True)) for own in (before, counts)))
        labels = zip(model.labels, counts / counts.sum(), before / before.sum(), strict=True)
        shares = {"labels": [{"label": name, "share": own, "before": old} for name, own, old in labels]}
    changed = p < level and distance >= _SMALLEST
    return {"distance": distance, "p_value": p, "changed": changed, **shares}


def _unknown_columns(model: TableModel, names: Collection[str]) -> list[str]:
    """Columns that the training table did not have."""
    known = {model.target, model.weights, *(column.name for column in model.schema_.columns)}
    return [name for name in names if name not in known]


def _summary(found: dict[str, Any]) -> str:
    """One sentence."""
    columns, far, predictions = found["columns"], found["far"], found["predictions"]
    changed = [row["column"] for row in columns if row["changed"]]
    are = "column has" if len(columns) == 1 else "columns have"
    parts = [f"{len(changed)} of {len(columns)} {are} changed: {listed(changed, 3)}" if changed else ""]
    if far["changed"]:
        parts.append(f"{100 * far['share']:.0f} % of the rows are far from the training rows")
    if predictions["changed"]:
        parts.append("the distribution of the predictions has changed")
    said = "; ".join(filter(None, parts))
    if not said:
        few = " (with few rows, only large changes are)" if found["rows"] < 50 else ""
        return f"No change from the training table was detected{few}."
    return f"{said[0].upper()}{said[1:]}."

"""Scores of class probabilities: error, log loss, Brier score, ranking, and every class by itself.

Proportions have Wilson intervals, areas under the ROC curve those of Newcombe (2006), and average precisions the
binomial one with the number of positive rows (Boyd, Eng and Page 2013). Means over rows have standard errors.
"""

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

from .intervals import Z_95, Interval, auc_interval, effective_rows, mean_and_error, wilson
from .metrics import calibration_error


def classification_scores(
    labels: np.ndarray,
    proba: np.ndarray,
    ordered: bool = False,
    weights: np.ndarray | None = None,
    *,
    decided: np.ndarray | None = None,
    positive: int | None = None,
) -> dict[str, Any]:
    """Scores of probabilities (n, K) for the label positions (n,).

    ``ordered`` adds the mean distance in steps of the order, ``weights`` (n,) weigh the rows. ``decided`` (n,) are
    decisions for classes, -1 where there is none; by default the most probable class. Recall and precision are theirs,
    all else is of the probabilities. ``positive`` is the class, of two, whose average precision is given: by default
    the rarer one. Scores that the rows do not determine are None, such as the recall of a class without rows.
    """
    n, K = proba.shape
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    shares = np.bincount(labels, w, minlength=K) / w.sum()
    predicted = proba.argmax(axis=1)
    wrong, guess_wrong, losses = predicted != labels, labels != shares.argmax(), log_losses(labels, proba)
    known = shares > 0
    guess_loss = float(-np.sum(shares[known] * np.log(shares[known])))
    scores: dict[str, Any] = {
        "rows": n,
        "effective_rows": effective_rows(w),
        **_mean("error", wrong.astype(float), w),
        **_ends("error", wilson(float(np.average(wrong, weights=w)), effective_rows(w))),
        **_mean("log_loss", losses, w),
        **_mean("brier", brier_terms(labels, proba), w),
        "calibration_error": calibration_error(labels, proba, np.arange(K), sample_weight=weights),
        # The scores of predicting the class frequencies.
        "guess_error": float(np.average(guess_wrong, weights=w)),
        "guess_log_loss": guess_loss,
        "guess_brier": float(np.sum(shares * (1.0 - shares)) * (0.5 if K == 2 else 1.0)),
        "error_beats_guess": _beats(wrong, guess_wrong, w),
        "log_loss_beats_guess": _below_zero(losses + np.log(shares[labels], where=known[labels], out=np.zeros(n)), w),
    }
    by_class = _by_class(labels, proba, predicted if decided is None else decided, w)
    scores |= _ranking(by_class, shares, positive) | {"by_class": by_class}
    if ordered:
        scores |= _mean("mean_steps_off", np.abs(predicted - labels).astype(float), w)
    return scores


def rarer(counts: Any) -> int:
    """The rarer one of two classes; of equally frequent ones the second, such as 1 of 0 and 1."""
    return int(counts[1] <= counts[0])


def log_losses(labels: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """The log loss of each row."""
    return -np.log(np.maximum(proba[np.arange(len(proba)), labels], 1e-300))


def brier_terms(labels: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """The Brier score of each row: from 0 to 1 for two classes, from 0 to 2 for more, as in scikit-learn."""
    squares = np.sum((proba - np.eye(proba.shape[1])[labels]) ** 2, axis=1)
    return 0.5 * squares if proba.shape[1] == 2 else squares


def _mean(name: str, values: np.ndarray, weights: np.ndarray) -> dict[str, float | None]:
    mean, error = mean_and_error(values, weights)
    return {name: mean, f"{name}_se": error}


def _ends(name: str, interval: Interval | None = None) -> dict[str, float | None]:
    low, high = (None, None) if interval is None else interval
    return {f"{name}_low": low, f"{name}_high": high}


def _beats(wrong: np.ndarray, guess_wrong: np.ndarray, w: np.ndarray) -> bool:
    """Whether predictions are right, and guesses wrong, clearly more often than the reverse (McNemar 1947)."""
    differ = (wrong != guess_wrong) & (w > 0)
    if not np.any(differ):
        return False
    share = float(np.average(guess_wrong[differ], weights=w[differ]))
    return wilson(share, effective_rows(w[differ])).low > 0.5


def _below_zero(differences: np.ndarray, w: np.ndarray) -> bool:
    mean, error = mean_and_error(differences, w)
    return error is not None and mean + Z_95 * error < 0.0


def _by_class(labels: np.ndarray, proba: np.ndarray, decided: np.ndarray, w: np.ndarray) -> list[dict[str, Any]]:
    """Share, recall, precision and ranking of every class against the others."""
    K = proba.shape[1]
    precision, recall, _, _ = precision_recall_fscore_support(
        labels, decided, labels=np.arange(K), sample_weight=w, zero_division=np.nan
    )
    found = []
    for k in range(K):
        own, said = labels == k, decided == k
        n_own, n_others = effective_rows(w[own]), effective_rows(w[~own])
        row: dict[str, Any] = {"rows": int(own.sum()), "share": float(w[own].sum() / w.sum())}
        row |= _proportion("recall", float(recall[k]), n_own)
        row |= _proportion("precision", float(precision[k]), effective_rows(w[said]))
        if n_own and n_others:
            auc = float(roc_auc_score(own, proba[:, k], sample_weight=w))
            row |= {"roc_auc": auc} | _ends("roc_auc", auc_interval(auc, n_own, n_others))
            area = float(average_precision_score(own, proba[:, k], sample_weight=w))
            row |= _proportion("average_precision", area, n_own)
        else:
            names = ("roc_auc", "average_precision")
            row |= dict.fromkeys(f"{name}{end}" for name in names for end in ("", "_low", "_high"))
        found.append(row)
    return found


def _proportion(name: str, share: float, n: float) -> dict[str, float | None]:
    if n == 0 or np.isnan(share):
        return {name: None} | _ends(name)
    return {name: share} | _ends(name, wilson(share, n))


def _ranking(by_class: list[dict[str, Any]], shares: np.ndarray, positive: int | None) -> dict[str, Any]:
    """ROC AUC and average precision: of the positive class of two, else means over the classes that have them."""
    own = None
    if len(shares) == 2:
        own = rarer(shares) if positive is None else positive
    among = [row for row in by_class if row["roc_auc"] is not None] if own is None else [by_class[own]]
    guess = float(np.mean([row["share"] for row in among])) if among else None
    found: dict[str, Any] = {"positive": own, "guess_average_precision": guess}
    names = [f"{name}{end}" for name in ("roc_auc", "average_precision") for end in ("", "_low", "_high")]
    known = bool(among) and among[0]["roc_auc"] is not None
    # The mean of intervals contains that of the mean, whatever the dependence between the classes.
    return found | {name: float(np.mean([row[name] for row in among])) if known else None for name in names}

"""How good predictions of known labels or numbers were, each number with its standard error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..evaluation.metrics import calibration_error


def label_scores(
    labels: np.ndarray, proba: np.ndarray, ordered: bool = False, weights: np.ndarray | None = None
) -> dict[str, Any]:
    """Of probabilities (n, K) for labels (n,), given by column; ``ordered`` adds by how many steps they were missed,
    ``weights`` (n,) say how often rows count."""
    n, K = proba.shape
    w = np.ones(n) if weights is None else weights
    wrong = (proba.argmax(axis=1) != labels).astype(float)
    loss = log_losses(labels, proba)
    shares = np.bincount(labels, w, minlength=K) / w.sum()
    scores = {
        "rows": n,
        **_mean("error", wrong, w),
        **_mean("log_loss", loss, w),
        "calibration_error": calibration_error(labels, proba, np.arange(K), sample_weight=weights),
        # What knowing nothing but the shares of the classes would give.
        "guess_error": float(1.0 - shares.max()),
        "guess_log_loss": float(-np.sum(shares[shares > 0] * np.log(shares[shares > 0]))),
    }
    if ordered:
        scores |= _mean("mean_steps_off", np.abs(proba.argmax(axis=1) - labels).astype(float), w)
    return scores


def log_losses(labels: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """What each row adds to the log loss."""
    return -np.log(np.maximum(proba[np.arange(len(proba)), labels], 1e-300))


def number_scores(y: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> dict[str, Any]:
    """Of Gaussian predictions (n,) of numbers."""
    off, once = y - mean, np.ones(len(y))
    density = -0.5 * (off / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
    inside = (np.abs(off) <= 1.6448536269514722 * sd).astype(float)
    # Squares of the smallest numbers are zero: in units of a power of two they are not, and nothing is rounded.
    unit = float(np.ldexp(1.0, np.frexp(max(np.abs(y).max(), np.abs(off).max()))[1]))
    squares = (off / unit) ** 2
    rmse = float(np.sqrt(squares.mean()))
    half = _half(_mean("s", squares, once)["s_se"], rmse)
    spread = float((y / unit).std())
    return {
        "rows": len(y),
        "rmse": unit * rmse,
        "rmse_se": None if half is None else unit * half,
        "explained": float(1.0 - squares.mean() / spread**2) if spread > 0 else 0.0,
        **_mean("log_loss", -density, once),
        **_mean("inside_90", inside, once),
        "guess_rmse": unit * spread,
    }


def _mean(name: str, values: np.ndarray, weights: np.ndarray) -> dict[str, float | None]:
    """A mean and its standard error, which one row does not have."""
    mean = float(np.average(values, weights=weights))
    n = len(values)
    spread = np.sqrt(np.sum((weights * (values - mean)) ** 2) * n / max(n - 1, 1)) / weights.sum()
    return {name: mean, f"{name}_se": float(spread) if n > 1 else None}


def in_words(scores: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Scores for people: name, value with standard error, and what to hold it against."""

    def told(name: str, digits: str, factor: float = 1.0, unit: str = "") -> str:
        value, spread = factor * scores[name], scores[f"{name}_se"]
        return f"{value:z{digits}}{unit}" + ("" if spread is None else f" ± {factor * spread:{digits}}")

    def share(name: str) -> str:
        return told(name, ".2f", 100.0, " %")

    loss = ("log loss", told("log_loss", ".4f"))
    if "rmse" in scores:
        return [
            (
                "root mean square error",
                told("rmse", ".4g"),
                f"guessing the mean {scores['guess_rmse']:.4g}",
            ),
            ("variance explained", f"{100 * scores['explained']:z.1f} %", ""),
            ("inside the 90 % interval", share("inside_90"), "90 % is right"),
            (*loss, "nats a row"),
        ]
    rows = [
        ("error", share("error"), f"guessing the most frequent label {100 * scores['guess_error']:.2f} %"),
        (*loss, f"nats a row; guessing by frequency {scores['guess_log_loss']:.4f}"),
        ("calibration error", f"{100 * scores['calibration_error']:.1f} %", "mean gap of confidence and accuracy"),
    ]
    if "mean_steps_off" in scores:
        rows.insert(
            1, ("steps off", told("mean_steps_off", ".3f"), "mean distance of the predicted label in the order")
        )
    return rows


def _half(error_of_square: float | None, root: float) -> float | None:
    """The standard error of a root mean square from that of the mean square."""
    return error_of_square / (2.0 * root) if error_of_square is not None and root > 0 else None

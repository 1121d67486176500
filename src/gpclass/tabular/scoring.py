"""How good predictions of known labels or numbers were, each number with its standard error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..metrics import calibration_error


def label_scores(labels: np.ndarray, proba: np.ndarray, ordered: bool = False) -> dict[str, Any]:
    """Of probabilities (n, K) for labels (n,), given by column; ``ordered`` adds by how many steps they were missed."""
    n, K = proba.shape
    wrong = (proba.argmax(axis=1) != labels).astype(float)
    loss = -np.log(np.maximum(proba[np.arange(n), labels], 1e-300))
    shares = np.bincount(labels, minlength=K) / n
    scores = {
        "rows": n,
        "error": float(wrong.mean()),
        "error_se": _standard_error(wrong),
        "log_loss": float(loss.mean()),
        "log_loss_se": _standard_error(loss),
        "calibration_error": calibration_error(labels, proba, np.arange(K)),
        # What knowing nothing but the shares of the classes would give.
        "guess_error": float(1.0 - shares.max()),
        "guess_log_loss": float(-np.sum(shares[shares > 0] * np.log(shares[shares > 0]))),
    }
    if ordered:
        steps = np.abs(proba.argmax(axis=1) - labels)
        scores |= {"mean_steps_off": float(steps.mean()), "mean_steps_off_se": _standard_error(steps)}
    return scores


def number_scores(y: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> dict[str, Any]:
    """Of Gaussian predictions (n,) of numbers."""
    off = y - mean
    density = -0.5 * (off / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
    inside = (np.abs(off) <= 1.6448536269514722 * sd).astype(float)
    squares = off**2
    rmse = float(np.sqrt(squares.mean()))
    spread = float(y.std())
    return {
        "rows": len(y),
        "rmse": rmse,
        "rmse_se": _standard_error(squares) / (2.0 * rmse) if rmse > 0 else 0.0,
        "explained": float(1.0 - squares.mean() / spread**2) if spread > 0 else 0.0,
        "log_loss": float(-density.mean()),
        "log_loss_se": _standard_error(density),
        "inside_90": float(inside.mean()),
        "inside_90_se": _standard_error(inside),
        "guess_rmse": spread,
    }


def in_words(scores: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Scores for people: name, value with standard error, and what to hold it against."""

    def share(name: str) -> str:
        return f"{100 * scores[name]:.2f} % ± {100 * scores[f'{name}_se']:.2f}"

    loss = ("log loss", f"{scores['log_loss']:.4f} ± {scores['log_loss_se']:.4f}")
    if "rmse" in scores:
        return [
            (
                "root mean square error",
                f"{scores['rmse']:.4g} ± {scores['rmse_se']:.2g}",
                f"guessing the mean {scores['guess_rmse']:.4g}",
            ),
            ("variance explained", f"{100 * scores['explained']:.1f} %", ""),
            ("inside the 90 % interval", share("inside_90"), "90 % is right"),
            (*loss, "nats a row"),
        ]
    rows = [
        ("error", share("error"), f"guessing the most frequent label {100 * scores['guess_error']:.2f} %"),
        (*loss, f"nats a row; guessing by frequency {scores['guess_log_loss']:.4f}"),
        ("calibration error", f"{100 * scores['calibration_error']:.1f} %", "mean gap of confidence and accuracy"),
    ]
    if "mean_steps_off" in scores:
        off = f"{scores['mean_steps_off']:.3f} ± {scores['mean_steps_off_se']:.3f}"
        rows.insert(1, ("steps off", off, "mean distance of the predicted label in the order"))
    return rows


def _standard_error(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0

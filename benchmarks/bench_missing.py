"""Tables with artificial gaps, and one with a date that matters.

python benchmarks/bench_missing.py [TABLE ...] [--splits 4] [--dates]

Mean log losses of ``GPClassifier`` on half of at most 300 rows, and standard errors of the differences from the first
column: by the estimator's own rule, on medians with standardised indicators, and on medians alone. Gaps are at random
(20 %), more frequent above the median of a column (40 against 5 %), or rare (1 %). ``--dates`` is a made table whose
labels depend on the time of day, the day of the week and a number, and one whose labels do not depend on the date.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from bench_tables import load
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder

from gpclass import GPClassifier

TABLES = ("cleveland", "wine", "breast_cancer")
MOST_ROWS = 300
MODELS = {
    "own rule": GPClassifier,
    "standardised": lambda: make_pipeline(SimpleImputer(strategy="median", add_indicator=True), GPClassifier()),
    "medians": lambda: make_pipeline(SimpleImputer(strategy="median"), GPClassifier()),
}


def with_gaps(X: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    above = np.median(X, axis=0) < X
    share = {"random": np.full(X.shape, 0.2), "informative": np.where(above, 0.4, 0.05), "rare": np.full(X.shape, 0.01)}
    return np.where(rng.random(X.shape) < share[kind], np.nan, X)


def gaps(name: str, n_splits: int) -> None:
    X, y = load(name)
    X, y = np.asarray(X, float), LabelEncoder().fit_transform(y)
    some = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    X, y = X[some][:, np.ptp(X[some], axis=0) > 0], y[some]
    for kind in ("random", "informative", "rare"):
        losses = np.empty((n_splits, len(MODELS)))
        for split in range(n_splits):
            gappy = with_gaps(X, kind, np.random.default_rng(100 + split))
            train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=split, stratify=y)
            for j, make in enumerate(MODELS.values()):
                losses[split, j] = log_loss(y[test], make().fit(gappy[train], y[train]).predict_proba(gappy[test]))
        error = (losses - losses[:, :1]).std(axis=0) / np.sqrt(n_splits)
        shown = zip(MODELS, losses.mean(axis=0), error, strict=True)
        print(f"{name:14} {kind:12}", *(f"{model} {loss:.4f} ({se:.4f})" for model, loss, se in shown), flush=True)


def dates(n_draws: int) -> None:
    found: dict[str, list[float]] = {}
    for draw in range(n_draws):
        rng = np.random.default_rng(draw)
        when = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 300 * 24, 500)), unit="h")
        frame = pd.DataFrame({"when": when, "x": rng.normal(size=500)})
        elapsed = frame.assign(when=(when - when[0]).total_seconds() / 86400)
        signal = 1.5 * np.cos(2 * np.pi * (when.hour - 17) / 24) + 1.5 * (when.day_of_week < 5) - 1.0 + frame["x"]
        order = rng.permutation(500)
        train, test = order[:250], order[250:]
        for kind, f in (("date matters", signal), ("date does not", frame["x"])):
            y = np.asarray(f + 0.6 * rng.logistic(size=500) > 0).astype(int)
            for name, X in (("none", frame[["x"]]), ("elapsed days", elapsed), ("date", frame)):
                proba = GPClassifier().fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
                found.setdefault(f"{kind}: {name}", []).append(log_loss(y[test], proba))
    for name, losses in found.items():
        print(f"{name:30} {np.mean(losses):.3f} ({np.std(losses, ddof=1) / np.sqrt(n_draws):.3f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--dates", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.dates:
        dates(5)
        return
    for name in asked.tables:
        gaps(name, asked.splits)


if __name__ == "__main__":
    main()

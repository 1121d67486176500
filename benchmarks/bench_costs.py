"""Expected cost of decisions about a rare label: gpclass, logistic regression and gradient boosting.

    python benchmarks/bench_costs.py [--seeds 2] [--lightgbm]

Tables of 4000 rows and ten columns, two in a hundred rows positive, from three generators that were fixed before any
result was seen; 20,000 new rows are decided about, and a miss costs 20 or 50 false alarms. Every model is treated
alike: settings by three-fold cross-validation where it has some, probabilities calibrated on the predictions of such
folds (as they are, by a temperature or by a sigmoid, whichever has the best log loss there), and the threshold with the
least cost on these predictions. "by costs" is the threshold that follows from the costs alone. Written to
docs/results/costs.csv.
"""

import argparse
import csv
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gpclass import NearestNeighborGPClassifier, SparseGPClassifier
from gpclass.evaluation.decisions import best_threshold

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "costs.csv"
ROWS, NEW_ROWS, COLUMNS, SHARE = 4000, 20_000, 10, 0.02
COSTS = (20.0, 50.0)
FOLDS = 3


# ---- tables ----------------------------------------------------------------------------------------------------------


def interactions(X):
    """Products and a wave of five columns; the others say nothing."""
    return 1.5 * X[:, 0] * X[:, 1] + 1.5 * np.sin(2.0 * X[:, 2]) + X[:, 3] ** 2 - X[:, 4]


def schemes(X):
    """Four kinds of fraud, each in a region of its own, and a linear trend."""
    centres = np.random.default_rng(99).normal(0.0, 1.2, (4, COLUMNS)) * (np.arange(COLUMNS) < 4)
    distance = np.sum((X[:, None, :4] - centres[:, :4]) ** 2, axis=2)
    return 5.0 * np.exp(-0.5 * distance / 0.6**2).sum(axis=1) + 0.5 * X[:, 5]


def rules(X):
    """Thresholds as a tree would have them, and a smooth trend."""
    return 2.5 * ((X[:, 0] > 1.0) & (X[:, 1] > 0.5)) + 2.5 * ((X[:, 2] < -1.0) & (X[:, 3] > 0.0)) + 0.8 * X[:, 4]


GENERATORS = {"interactions": interactions, "schemes": schemes, "rules": rules}


def table(generator, n_rows, seed):
    """Rows, labels and true probabilities; labels are drawn, so no model can be sure."""
    strength = GENERATORS[generator]
    reference = strength(np.random.default_rng(1234).normal(size=(100_000, COLUMNS)))
    offset = brentq(lambda t: np.mean(expit(1.5 * reference + t)) - SHARE, -40.0, 10.0)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, COLUMNS))
    p = expit(1.5 * strength(X) + offset)
    return X, (rng.random(n_rows) < p).astype(int), p


# ---- models ----------------------------------------------------------------------------------------------------------


def models(with_lightgbm):
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=1)
    boosting = GridSearchCV(
        HistGradientBoostingClassifier(random_state=0),
        {"learning_rate": [0.03, 0.1], "max_iter": [50, 100, 300], "max_leaf_nodes": [3, 8, 31]},
        scoring="neg_log_loss",
        cv=folds,
    )
    linear = LogisticRegressionCV(
        Cs=5, cv=folds, scoring="neg_log_loss", max_iter=2000, l1_ratios=(0.0,), use_legacy_attributes=False
    )
    found = {
        "gpclass, nearest": NearestNeighborGPClassifier(random_state=0),
        "gpclass, sparse": SparseGPClassifier(random_state=0),
        "logistic regression": make_pipeline(StandardScaler(), linear),
        "gradient boosting": boosting,
    }
    if with_lightgbm:
        from lightgbm import LGBMClassifier

        grid = {"learning_rate": [0.03, 0.1], "n_estimators": [50, 100, 300], "num_leaves": [3, 8, 31]}
        light = LGBMClassifier(random_state=0, verbose=-1, n_jobs=1)
        found["LightGBM"] = GridSearchCV(light, grid, scoring="neg_log_loss", cv=folds)
    return found


def cross_validated(model, X, y):
    """Predictions of rows by models without them; settings of a search are chosen once, on all rows."""
    model = clone(model).fit(X, y)
    chosen = model.best_estimator_ if isinstance(model, GridSearchCV) else model
    p = np.empty(len(y))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        p[test] = clone(chosen).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    return model, p


def calibrations(p, y):
    """None, a temperature and a sigmoid on the log odds, by maximum likelihood; the one with the best log loss."""
    odds = logit(np.clip(p, 1e-9, 1.0 - 1e-9))

    def fitted(names):
        def apply(t, odds):
            a, b = np.exp(t[0]), t[1] if len(names) > 1 else 0.0
            return expit(a * odds + b)

        found = minimize(lambda t: log_loss(y, apply(t, odds)), np.zeros(len(names)), method="Nelder-Mead")
        return lambda q: apply(found.x, logit(np.clip(q, 1e-9, 1.0 - 1e-9)))

    choices = [lambda q: q, fitted(("temperature",)), fitted(("temperature", "offset"))]
    # Two numbers on 4000 rows: their own log loss is fair enough to choose by, plus one for each number (Akaike 1974).
    return min(choices, key=lambda one: log_loss(y, one(p)) + choices.index(one) / len(y))


def cost(y, decided, miss):
    return float(np.mean(miss * ((y == 1) & ~decided) + ((y == 0) & decided)))


def measured(name, model, generator, seed):
    X, y, _ = table(generator, ROWS, seed)
    X_new, y_new, truth = table(generator, NEW_ROWS, 1000 + seed)
    start = time.perf_counter()
    fitted, p = cross_validated(model, X, y)
    seconds = time.perf_counter() - start
    calibrate = calibrations(p, y)
    p, q = calibrate(p), calibrate(fitted.predict_proba(X_new)[:, 1])
    row = {"model": name, "generator": generator, "seed": seed, "positives": int(y.sum())}
    row |= {"log_loss": log_loss(y_new, q), "roc_auc": roc_auc_score(y_new, q)}
    row |= {"average_precision": average_precision_score(y_new, q), "seconds": seconds}
    for miss in COSTS:
        threshold = best_threshold(y, p, 1, false_negative=miss).value
        row[f"cost {miss:g} tuned"] = cost(y_new, q >= threshold, miss)
        row[f"cost {miss:g} by costs"] = cost(y_new, q >= 1.0 / (1.0 + miss), miss)
        row[f"cost {miss:g} best possible"] = cost(y_new, truth >= 1.0 / (1.0 + miss), miss)
        row[f"cost {miss:g} constant"] = min(cost(y_new, np.full(NEW_ROWS, said), miss) for said in (False, True))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--lightgbm", action="store_true")
    given = parser.parse_args()
    rows = []
    for generator in GENERATORS:
        for seed in range(given.seeds):
            for name, model in models(given.lightgbm).items():
                rows.append(measured(name, model, generator, seed))
                own = rows[-1]
                shown = ", ".join(f"{key} {own[key]:.3f}" for key in own if key.startswith(("cost", "log", "roc")))
                print(f"{generator:13} {seed} {name:20} {shown} ({own['seconds']:.0f} s)", flush=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    means = defaultdict(list)
    for row in rows:
        for key in row:
            if key.startswith("cost"):
                means[row["model"], key].append(row[key])
    for (name, key), values in means.items():
        print(f"{name:20} {key:24} {np.mean(values):.4f} ± {np.std(values) / np.sqrt(len(values)):.4f}")


if __name__ == "__main__":
    main()

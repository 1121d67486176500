"""Coverage and size of prediction sets on five tables whose labels are hard to predict, beside MAPIE's.

python benchmarks/bench_sets.py [SET ...] [--splits 40] [--cross 5] [--rows 200] [--coverage 0.9] [--kernel matern]
                               [--first-seed 0]

Each split draws training rows, stratified, and at most 1000 others to test on. The model is GPClassifier(kernel).
Text columns are indicators. "leave-one-out" is ``predict_set``: all training rows are fitted, and calibrate too. "rows
aside" fits two thirds and calibrates on the others, by ``PredictionSets`` and by MAPIE's split conformal classifier
around the same model. "CV+" is MAPIE's cross conformal classifier around five models, on the first ``--cross`` splits.
Other scores on the same leave-one-out predictions: "adaptive" adds up probabilities down to the label (APS), "with
draws" a random part of the last one. MAPIE takes part where it is installed.

Means over the splits: coverage, with its standard error; labels in a set; share of sets that would be empty without the
most probable label; coverage of the class that has the least, and of the third of the test rows whose most probable
label is the least probable. The class with the least coverage is that of the means over splits.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from bench_tables import load
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder

from gpclass import GPClassifier
from gpclass.datasets import load_pima
from gpclass.evaluation.decisions import PredictionSets

SETS = ("german", "led7", "pima", "waveform", "cleveland")
MOST_TEST_ROWS = 1000
MAPIE = find_spec("mapie") is not None


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "pima":
        X, y = load_pima(return_X_y=True)
    else:
        table, y = load(name)
        X = pd.get_dummies(table, dtype=float).to_numpy(dtype=float)  # MAPIE takes numbers alone
    return X, LabelEncoder().fit_transform(y)


def adaptive(p: np.ndarray, share: Any) -> np.ndarray:
    """1 minus the sum of the probabilities above that of each label (n, K) and this ``share`` of its own (APS): what
    takes the place of a probability, above which labels are in the set."""
    order = np.argsort(-p, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(p, order, axis=1), axis=1)
    found = np.empty_like(p)
    np.put_along_axis(found, order, sums, axis=1)
    return np.clip(1.0 - found + (1.0 - share) * p, 0.0, 1.0)


def ours(model: Any, loo: Any, y: np.ndarray, proba: np.ndarray, coverage: float, seed: int) -> dict[str, Any]:
    """Sets by leave-one-out predictions, and the coverage of the threshold alone."""
    draws = np.random.default_rng(seed)
    found = {"leave-one-out": PredictionSets.calibrate(y, loo, model.classes_, coverage).of(proba)}
    try:
        by_class = PredictionSets.calibrate(y, loo, model.classes_, coverage, by_class=True)
        found["leave-one-out, by class"] = by_class.of(proba)
    except ValueError:  # a class with too few rows
        pass
    for name, shares in (
        ("adaptive", (1.0, 1.0)),
        ("adaptive, with draws", (draws.uniform(size=(len(loo), 1)), draws.uniform(size=(len(proba), 1)))),
    ):
        sets = PredictionSets.calibrate(y, adaptive(loo, shares[0]), model.classes_, coverage)
        found[name] = sets.of(adaptive(proba, shares[1]))
    return found


def mapie_split(model: Any, X: Any, y: np.ndarray, X_test: Any, coverage: float, score: str) -> np.ndarray:
    from mapie.classification import SplitConformalClassifier

    peer = SplitConformalClassifier(model, confidence_level=coverage, prefit=True, conformity_score=score)
    return peer.conformalize(X, y).predict_set(X_test)[1][:, :, 0]


def mapie_cross(X: Any, y: np.ndarray, X_test: Any, asked: Any, seed: int) -> np.ndarray:
    from mapie.classification import CrossConformalClassifier

    model = GPClassifier(asked.kernel)
    peer = CrossConformalClassifier(model, confidence_level=asked.coverage, cv=5, random_state=seed)
    return peer.fit_conformalize(X, y).predict_set(X_test, agg_scores="crossval")[1][:, :, 0]


def measured(sets: np.ndarray, y: np.ndarray, proba: np.ndarray) -> dict[str, Any]:
    inside = sets[np.arange(len(y)), y]
    unsure = np.argsort(proba.max(axis=1), kind="stable")[: len(y) // 3]
    rows = np.bincount(y, minlength=proba.shape[1])
    return {
        "coverage": inside.mean(),
        "size": sets.sum(axis=1).mean(),
        "empty": (~sets.any(axis=1)).mean(),
        "unsure": inside[unsure].mean(),
        "classes": np.bincount(y, inside, minlength=proba.shape[1]) / rows,
    }


def one_split(X: Any, y: np.ndarray, seed: int, asked: Any) -> dict[str, dict[str, Any]]:
    train, test = train_test_split(np.arange(len(y)), train_size=asked.rows, stratify=y, random_state=seed)
    test, coverage = test[:MOST_TEST_ROWS], asked.coverage
    X_train, X_test, y_train = X[train], X[test], y[train]
    model = GPClassifier(asked.kernel).fit(X_train, y_train)
    proba = model.predict_proba(X_test)
    found = ours(model, model.loo_proba_, y_train, proba, coverage, seed)
    np.testing.assert_array_equal(found["leave-one-out"], model.predict_set(X_test, coverage))
    fitted, aside = train_test_split(np.arange(len(train)), train_size=2 / 3, stratify=y_train, random_state=seed)
    part = GPClassifier(asked.kernel).fit(X_train[fitted], y_train[fitted])
    X_aside, y_aside = X_train[aside], y_train[aside]
    sets = PredictionSets.calibrate(y_aside, part.predict_proba(X_aside), part.classes_, coverage)
    found["rows aside"] = sets.of(part.predict_proba(X_test))
    if MAPIE:
        for score in ("lac", "aps") if len(model.classes_) > 2 else ("lac",):  # it has no other for two
            found[f"MAPIE, rows aside, {score}"] = mapie_split(part, X_aside, y_aside, X_test, coverage, score)
        if seed - asked.first_seed < asked.cross:
            found["MAPIE, CV+"] = mapie_cross(X_train, y_train, X_test, asked, seed)
            found["leave-one-out, splits of CV+"] = found["leave-one-out"]
    figures = {name: measured(np.asarray(sets, bool), y[test], proba) for name, sets in found.items()}
    loo_threshold = PredictionSets.calibrate(y_train, model.loo_proba_, model.classes_, coverage).thresholds
    figures["leave-one-out"]["empty"] = (proba < loo_threshold).all(axis=1).mean()
    figures["leave-one-out"]["error"] = np.mean(proba.argmax(axis=1) != y[test])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--splits", type=int, default=40)
    parser.add_argument("--cross", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--kernel", default="matern")
    parser.add_argument("--first-seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.sets:
        (X, y), start = data(name), time.process_time()
        splits: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for seed in range(asked.first_seed, asked.first_seed + asked.splits):
            for method, figures in one_split(X, y, seed, asked).items():
                splits[method].append(figures)
        seconds = time.process_time() - start
        error = np.mean([one["error"] for one in splits["leave-one-out"]])
        print(f"{name}: {len(np.unique(y))} classes, error {error:.3f}, {seconds:.0f} s")
        for method, rows in splits.items():
            coverage, size, empty, unsure = (
                np.array([one[key] for one in rows]) for key in ("coverage", "size", "empty", "unsure")
            )
            least = np.nanmean([one["classes"] for one in rows], axis=0).min()
            se = coverage.std(ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.nan
            print(
                f"  {method:30}{coverage.mean():.3f} ± {se:.3f}  size {size.mean():.2f}  empty {empty.mean():.3f}  "
                f"least class {least:.3f}  unsure third {unsure.mean():.3f}  {len(rows)} splits",
                flush=True,
            )


if __name__ == "__main__":
    main()

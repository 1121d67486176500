"""From how many rows on the nearest-neighbour classifier is the better choice than the exact one.

python benchmarks/bench_crossing.py [--sets satimage,letter] [--rows 250,500,1000,2000,4000] [--seeds 3] [--jobs 1]

Random training rows of each set, at most 4000 others to test on: error in per cent, log loss, and seconds of fitting.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from gpclass import GPClassifier, NearestNeighborGPClassifier
from gpclass.papers.data import load

SETS = ("satimage", "letter", "usps", "covtype", "waveform", "mnist")


def rows_of(name: str, n: int, seed: int) -> tuple[np.ndarray, ...]:
    stored = load(name)
    parts = ("X_train", "y_train") if "X_train" in stored else ("X", "y")
    X, y = stored[parts[0]], stored[parts[1]]
    rows = np.random.default_rng(seed).permutation(len(y))
    train, test = rows[:n], rows[n : n + 4000]
    seen = np.isin(y[test], y[train])
    return X[train].astype(float), y[train], X[test][seen].astype(float), y[test][seen]


def measure(name: str, n: int, seed: int, label: str) -> tuple[Any, ...]:
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = rows_of(name, n, seed)
    model: Any = NearestNeighborGPClassifier(random_state=seed) if label == "nearest" else GPClassifier()
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    log_p = np.log(np.maximum(model.predict_proba(X_test), 1e-300))
    truth = np.searchsorted(model.classes_, y_test)
    error, loss = 100.0 * np.mean(log_p.argmax(axis=1) != truth), -np.mean(log_p[np.arange(len(truth)), truth])
    print(f"| {name} | {n} | {seed} | {label} | {error:.2f} | {loss:.4f} | {seconds:.1f} |", flush=True)
    return name, n, label, error, loss, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", default="250,500,1000,2000,4000")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    cases = [
        (name, int(n), seed, label)
        for n in asked.rows.split(",")
        for seed in range(asked.seeds)
        for name in asked.sets.split(",")
        for label in ("exact", "nearest")
    ]
    print("| data | rows | seed | model | error % | log loss | fit s |\n|" + " --- |" * 7)
    found = Parallel(n_jobs=asked.jobs)(delayed(measure)(*case) for case in cases)
    print("\n| data | rows | exact | nearest |\n|" + " --- |" * 4)
    for name, n in dict.fromkeys((case[0], case[1]) for case in cases):
        means = [
            np.mean([own[3:] for own in found if own[:3] == (name, n, label)], axis=0) for label in ("exact", "nearest")
        ]
        cells = [f"{error:.2f}, {loss:.4f}, {seconds:.1f} s" for error, loss, seconds in means]
        print(f"| {name} | {n} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main()

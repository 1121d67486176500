"""Learning curves: what to label next, by gpclass.query and by rivals.

python benchmarks/bench_query.py [--tables letter-ABE ...] [--seeds 6] [--figure docs/_static/query_curves.svg]

Each seed splits a table into a pool of at most 400 rows and test rows. Ten labels to begin with, one of each class
among them, then ten batches of ten. After each batch GPClassifier("matern") is fitted anew to all labels so far and
scored on the test rows. All strategies start from the same labels. Rivals:

    random      rows at random
    top entropy the ten labels of largest entropy (uncertainty sampling)
    top margin  the ten labels of smallest margin
    k-centre    each row the farthest from those labelled or chosen, in standardised inputs (core-set, Sener and
                Savarese 2018)

Printed are the means over the batches of log loss and error (the area under the curve), with standard errors over the
seeds, and the paired differences between gpclass.query and the best rival.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from gpclass import GPClassifier, query
from gpclass.datasets import load_table
from gpclass.datasets.bundled import TABLES
from gpclass.papers.data import whole

REPORTED = ("ionosphere", "tictactoe", "letter-IJ", "satimage-47")
BATCHES, BATCH, POOL, TEST = 10, 10, 400, 600


#: Some classes of larger tables; those of three are slower.
SOME: dict[str, tuple[str, list]] = {
    "letter-IJ": ("letter", ["I", "J"]),
    "letter-ABE": ("letter", ["A", "B", "E"]),
    "satimage-47": ("satimage", [4, 7]),
    "satimage-347": ("satimage", [3, 4, 7]),
    "segmentation-3": ("segmentation", ["BRICKFACE", "CEMENT", "FOLIAGE"]),
}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows, with a column for each value of a text column, and labels."""
    if name in TABLES:
        table, target = load_table(name, return_X_y=True)
        return pd.get_dummies(table).to_numpy(float), target.to_numpy()
    source, classes = SOME.get(name, (name, None))
    X, y = whole(source)
    kept = np.isin(y, np.unique(y) if classes is None else classes)
    return X[kept].astype(float), y[kept]


def split(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """Pool, its labels, test rows and their labels, inputs in units of the pool."""
    n_test = min(TEST, len(y) // 2)
    n_pool = min(POOL, len(y) - n_test)
    X, X_test, y, y_test = train_test_split(X, y, train_size=n_pool, test_size=n_test, stratify=y, random_state=seed)
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    return (X - X.mean(axis=0)) / scale, y, (X_test - X.mean(axis=0)) / scale, y_test


def first_labels(y: np.ndarray, rng: np.random.Generator) -> list[int]:
    """Ten random rows, each class among them."""
    order = rng.permutation(len(y))
    first = [int(order[y[order] == label][0]) for label in np.unique(y)]
    return first + [int(row) for row in order if row not in first][: BATCH - len(first)]


def largest(score: np.ndarray) -> np.ndarray:
    return np.argsort(-score, kind="stable")[:BATCH]


def entropy(proba: np.ndarray) -> np.ndarray:
    return -np.sum(proba * np.log(np.maximum(proba, 1e-300)), axis=1)


def margin(proba: np.ndarray) -> np.ndarray:
    second, first = np.sort(proba, axis=1)[:, -2:].T
    return second - first


def k_centre(X: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    nearest = np.min(np.linalg.norm(X[:, None] - labelled, axis=2), axis=1)
    chosen = []
    for _ in range(BATCH):
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, np.linalg.norm(X - X[chosen[-1]], axis=1))
    return np.array(chosen)


#: Strategy: model, rows of the pool without label, labelled rows, generator -> positions among the former
STRATEGIES: dict[str, Callable[..., np.ndarray]] = {
    "query bald": lambda model, X, labelled, rng: query(model, X, BATCH, "bald"),
    "query entropy": lambda model, X, labelled, rng: query(model, X, BATCH, "entropy"),
    "query margin": lambda model, X, labelled, rng: query(model, X, BATCH, "margin"),
    "random": lambda model, X, labelled, rng: rng.choice(len(X), BATCH, replace=False),
    "top entropy": lambda model, X, labelled, rng: largest(entropy(model.predict_proba(X))),
    "top margin": lambda model, X, labelled, rng: largest(margin(model.predict_proba(X))),
    "k-centre": lambda model, X, labelled, rng: k_centre(X, labelled),
}
OURS, RIVALS = ("query bald", "query entropy", "query margin"), ("random", "top entropy", "top margin", "k-centre")

#: Dashed, because it is the same curve as another where there are two classes.
DASHES = {"top margin": "--"}


def curve(name: str, strategy: str, seed: int) -> np.ndarray:
    """Log loss and error (2, BATCHES + 1) on the test rows."""
    X, y, X_test, y_test = split(*load(name), seed)
    rng = np.random.default_rng(seed)
    labelled, found = first_labels(y, rng), []
    for batch in range(BATCHES + 1):
        model = GPClassifier("matern", standardize=False, random_state=0).fit(X[labelled], y[labelled])
        proba = model.predict_proba(X_test)
        truth = np.searchsorted(model.classes_, y_test)
        found.append([-np.log(proba[np.arange(len(truth)), truth]).mean(), np.mean(proba.argmax(axis=1) != truth)])
        if batch < BATCHES:
            rest = np.setdiff1d(np.arange(len(y)), labelled)
            labelled += rest[STRATEGIES[strategy](model, X[rest], X[labelled], rng)].tolist()
    return np.array(found).T


def mean_and_error(values: np.ndarray) -> str:
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def report(name: str, curves: dict[str, np.ndarray]) -> None:
    """Areas under the curves of a table, (seeds, 2, BATCHES + 1) for each strategy."""
    areas = {strategy: found[:, :, 1:].mean(axis=2) for strategy, found in curves.items()}
    for strategy, area in areas.items():
        print(f"| {name} | {strategy} | {mean_and_error(area[:, 0])} | {mean_and_error(area[:, 1])} |")
    ours, rivals = ([strategy for strategy in some if strategy in areas] for some in (OURS, RIVALS))
    for k, measure in enumerate(("log loss", "error")):
        best = min(rivals, key=lambda rival: areas[rival][:, k].mean(), default=None)
        for strategy in ours if best else []:
            difference = mean_and_error(areas[strategy][:, k] - areas[best][:, k])
            print(f"{name}, {measure}: {strategy} - {best} = {difference}")


def draw(path: Path, curves: dict[str, dict[str, np.ndarray]]) -> None:
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "gpclass"
    figure, axes = plt.subplots(1, len(curves), figsize=(3.1 * len(curves), 3.2), layout="constrained")
    labels = BATCH * np.arange(1, BATCHES + 2)
    for axis, (name, found) in zip(np.atleast_1d(axes), curves.items(), strict=True):
        for strategy, values in found.items():
            mean = values[:, 0].mean(axis=0)
            axis.plot(
                labels, mean, DASHES.get(strategy, "-"), label=strategy, linewidth=2.2 if strategy in OURS else 1.2
            )
        axis.set(title=name, xlabel="labels")
        axis.grid(alpha=0.3)
    np.atleast_1d(axes)[0].set_ylabel("log loss of test rows")
    lines, names = np.atleast_1d(axes)[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=REPORTED)
    parser.add_argument("--strategies", nargs="*", default=("query margin", "query bald", *RIVALS), choices=STRATEGIES)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    start, curves = time.process_time(), {}
    print("| table | strategy | log loss | error |\n|" + " --- |" * 4)
    for name in asked.tables:
        curves[name] = {
            strategy: np.stack([curve(name, strategy, seed) for seed in range(asked.seeds)])
            for strategy in asked.strategies
        }
        report(name, curves[name])
        print(f"{name}: {time.process_time() - start:.0f} s of CPU so far", flush=True)
        if asked.figure:
            draw(asked.figure, curves)


if __name__ == "__main__":
    main()

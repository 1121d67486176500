"""The same rows in six orders: how far the log loss of new rows and their labels depend on it.

python benchmarks/bench_order.py [SET ...]

Stratified splits, half of the rows to learn from and at most 300, at most 1000 to test; 60 active rows or inducing
points. The null-category model has a quarter of the labels, and takes the sets of two and three classes.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from bench_peers import load as load_small
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from gpclass import IVMClassifier, NullCategoryClassifier, SparseGPClassifier
from gpclass.papers.data import MissingDataError

SETS = ("breast cancer", "crabs", "iris", "wine", "new_thyroid", "fgl", "digits")
MODELS = (IVMClassifier(n_active=60), SparseGPClassifier(n_inducing=60), NullCategoryClassifier(n_active=60))
N_ORDERS = 6


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    return load_digits(return_X_y=True) if name == "digits" else load_small(name)


def measure(model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> tuple[float, ...]:
    """Mean and range of the log loss, and the share of labels that are not the same in all orders."""
    losses, labels = [], []
    for seed in range(N_ORDERS):
        order = np.random.default_rng(seed).permutation(len(y))
        proba = model.fit(X[order], y[order]).predict_proba(X_test)
        losses.append(log_loss(y_test, proba, labels=model.classes_))
        labels.append(proba.argmax(axis=1))
    return float(np.mean(losses)), float(np.ptp(losses)), float(np.mean(np.ptp(labels, axis=0) > 0))


def main() -> None:
    warnings.simplefilter("ignore")
    print("| data | classes | model | log loss | its range | labels that change % |\n|" + " --- |" * 6)
    for name in sys.argv[1:] or SETS:
        try:
            X, y = load(name)
        except (FileNotFoundError, MissingDataError) as missing:
            print(f"| {name} | {missing} | | | | |")
            continue
        y = np.unique(y, return_inverse=True)[1]
        X, X_test, y, y_test = train_test_split(X, y, train_size=min(len(y) // 2, 300), random_state=0, stratify=y)
        few = np.where(np.random.default_rng(0).random(len(y)) < 0.25, y, -1)
        for model in MODELS:
            given = few if isinstance(model, NullCategoryClassifier) else y
            if given is few and y.max() > 2:
                continue
            mean, spread, changed = measure(model, X, given, X_test[:1000], y_test[:1000])
            kind = type(model).__name__
            print(f"| {name} | {y.max() + 1} | {kind} | {mean:.4f} | {spread:.2g} | {100 * changed:.1f} |", flush=True)


if __name__ == "__main__":
    main()

"""What the learned share of lapses is worth: log loss of new rows with calibration as it is, and with that share 0.

Stratified splits, seeds 0 to 2, half of the rows to learn from and at most 300, at most 1500 to test. The made-up set
has three classes and draws 15 % of its labels anew.
"""

from __future__ import annotations

import warnings

import numpy as np
from bench_peers import load as load_small
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split

from gpclass import GPClassifier
from gpclass.papers.data import MissingDataError, whole

SETS = ("iris", "wine", "new_thyroid", "fgl", "crabs", "breast cancer", "toy", "segmentation", "digits", "made-up")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "made-up":
        return make_classification(2000, 10, n_informative=5, n_classes=3, flip_y=0.15, random_state=0)
    return whole(name) if name == "segmentation" else load_small(name)


def losses(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float, float]:
    """With the share of lapses, without it, and the worst row without it."""
    n = min(len(y) // 2, 300)
    X, X_test, y, y_test = train_test_split(X, y, train_size=n, random_state=seed, stratify=y)
    X_test, y_test = X_test[:1500], y_test[:1500]
    model = GPClassifier().fit(X, y)
    own = np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)
    mixed = -model.predict_log_proba(X_test)[own]
    model.calibration_ = model.calibration_._replace(lapse_rate=0.0)
    plain = -model.predict_log_proba(X_test)[own]
    return float(mixed.mean()), float(plain.mean()), float(plain.max())


def main() -> None:
    warnings.simplefilter("ignore")
    print("| data | with | without | worst row without |\n| --- | --- | --- | --- |")
    for name in SETS:
        try:
            X, y = load(name)
        except (FileNotFoundError, MissingDataError) as missing:
            print(f"| {name} | {missing} | | |")
            continue
        mixed, plain, worst = np.array([losses(X, y, seed) for seed in range(3)]).T
        print(f"| {name} | {mixed.mean():.4f} | {plain.mean():.4f} | {worst.max():.1f} |", flush=True)


if __name__ == "__main__":
    main()

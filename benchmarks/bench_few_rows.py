"""Ten rows of imbalanced problems: the default classifier beside the shares of the classes in the training rows.

python benchmarks/bench_few_rows.py [SET ...] [--rows 10] [--draws 200] [--kernel KERNEL]

Rows are drawn at random, and again where a class is missing. Prints mean log losses of the other rows, how far the
classifier is behind the shares on average, in the worst ten consecutive draws and in the worst draw, and CPU seconds.
"noise" has inputs that say nothing of the label.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from bench_tables import load
from sklearn.preprocessing import LabelEncoder

from gpclass import GPClassifier

SETS = ("noise", "german", "new_thyroid", "breast_cancer", "ionosphere", "cleveland")
MOST_TEST_ROWS = 300


def data(name: str):
    if name == "noise":
        rng = np.random.default_rng(0)
        return rng.standard_normal((600, 5)), (rng.uniform(size=600) < 0.2).astype(int)
    X, y = load(name)
    return X, LabelEncoder().fit_transform(y)


def draw(y: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    while True:
        order = rng.permutation(len(y))
        if len(np.unique(y[order[:n]])) == len(np.unique(y)):
            return order[:n], order[n : n + MOST_TEST_ROWS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kernel")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.sets:
        X, y = data(name)
        take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
        ours, shares, start = [], [], time.process_time()
        for seed in range(asked.first_seed, asked.first_seed + asked.draws):
            train, test = draw(y, asked.rows, np.random.default_rng(seed))
            model = GPClassifier(asked.kernel, random_state=seed).fit(take(train), y[train])
            ours.append(-model.predict_log_proba(take(test))[np.arange(len(test)), y[test]].mean())
            shares.append(-np.log(np.bincount(y[train])[y[test]] / len(train)).mean())
        seconds = (time.process_time() - start) / asked.draws
        behind = np.array(ours) - shares
        tens = behind[: len(behind) // 10 * 10].reshape(-1, 10).mean(axis=1)
        print(
            f"{name:14}{np.mean(ours):.3f}, shares {np.mean(shares):.3f}: behind by {behind.mean():+.3f} on average, "
            f"{tens.max():+.3f} in the worst ten draws, {behind.max():+.3f} in the worst; {seconds:.2f} s a fit",
            flush=True,
        )


if __name__ == "__main__":
    main()

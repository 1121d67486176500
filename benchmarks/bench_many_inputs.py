"""Classifiers where three of hundreds of inputs matter.

python benchmarks/bench_many_inputs.py [--seeds 5] [--first-seed 0] [--rows 400] [--columns 300]

One input has a linear effect, one a periodic and one a quadratic, of equal variance; all are standard normal. Prints
the log loss on 2000 new rows, CPU seconds of fitting, and the ranks of the three by ``relevance_``: 1 2 3 where they
come first (and 1 1 1 where all inputs have the same). "isotropic" and "given ARD" are the default kernel with one
length-scale and with one for each input, as given.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss

from gpclass import GPClassifier
from gpclass.kernels import Matern

TEST_ROWS = 2000


def make(seed: int, n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, labels and the three columns that matter."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows + TEST_ROWS, n_columns))
    relevant = rng.choice(n_columns, 3, replace=False)
    linear, periodic, quadratic = X[:, relevant].T
    f = linear + np.sqrt(2.0) * np.sin(2.0 * periodic) + (quadratic**2 - 1.0) / np.sqrt(2.0)
    return X, (f + 0.3 * rng.standard_normal(len(X)) > 0.0).astype(int), relevant


def models(n_columns: int) -> dict[str, Any]:
    start = np.sqrt(n_columns)
    isotropic, ard = (100.0 * Matern(scale, nu=2.5) for scale in (start, np.full(n_columns, start)))
    return {
        "default": GPClassifier(random_state=0),
        "matern": GPClassifier("matern", random_state=0),
        "given ARD": GPClassifier(ard, standardize=True, random_state=0),
        "isotropic": GPClassifier(isotropic, standardize=True, random_state=0),
        "L1 logistic": LogisticRegressionCV(
            Cs=10, l1_ratios=(1.0,), solver="liblinear", scoring="neg_log_loss", use_legacy_attributes=False
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--columns", type=int, default=300)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    losses: dict[str, list[float]] = {}
    print(f"{'seed':>4}  {'model':12} {'log loss':>8} {'seconds':>8}   ranks")
    for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
        X, y, relevant = make(seed, asked.rows, asked.columns)
        for name, model in models(asked.columns).items():
            start = time.process_time()
            model.fit(X[: asked.rows], y[: asked.rows])
            seconds = time.process_time() - start
            loss = log_loss(y[asked.rows :], model.predict_proba(X[asked.rows :]))
            relevance = model.relevance_ if hasattr(model, "relevance_") else np.abs(model.coef_[0])
            ranks = sorted(1 + int(np.sum(relevance > relevance[j])) for j in relevant)
            losses.setdefault(name, []).append(loss)
            print(f"{seed:4}  {name:12} {loss:8.3f} {seconds:8.2f}   {' '.join(map(str, ranks))}", flush=True)
    for name, found in losses.items():
        print(f"mean  {name:12} {np.mean(found):8.3f}")


if __name__ == "__main__":
    main()

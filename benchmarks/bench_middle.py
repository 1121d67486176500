"""Thousands to hundreds of thousands of rows: the nearest-neighbour classifier beside trees, in one run.

python benchmarks/bench_middle.py [satimage] [usps] [letter] [covtype-50000] [isolet] [mnist] [covtype-500000]
                                  [--models gpclass,local,extra-trees,boosting,ivm,sparse,exact] [--seed 0]

Error in per cent and mean log loss on the test rows, and seconds of fitting and predicting. Peers get a temperature
fitted on a tenth of the training rows, which are set aside for it; their time includes that. "local" is the
nearest-neighbour model without the global one; "ivm", "sparse" and "exact" are the defaults of ``IVMClassifier``,
``SparseGPClassifier`` and ``GPClassifier``, which take minutes for many rows. covtype: random rows, 10,000 others to
test on.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from gpclass import GPClassifier, IVMClassifier, NearestNeighborGPClassifier, SparseGPClassifier
from gpclass.papers import data

SETS = ("satimage", "usps", "letter", "covtype-50000")


class WithTemperature:
    """A classifier whose log probabilities are multiplied by a number fitted on rows set aside."""

    def __init__(self, model: Any, seed: int) -> None:
        self.model, self.seed = model, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> WithTemperature:
        X, X_aside, y, y_aside = train_test_split(X, y, test_size=0.1, stratify=y, random_state=self.seed)
        self.model.fit(X, y)
        truth = np.searchsorted(self.model.classes_, y_aside)
        log_p = self._log_proba(X_aside)

        def loss(log_t: float) -> float:
            return -float(log_softmax(np.exp(log_t) * log_p, axis=1)[np.arange(len(truth)), truth].mean())

        self.temperature = float(np.exp(minimize_scalar(loss, bounds=(-4.0, 4.0), method="bounded").x))
        return self

    def _log_proba(self, X: np.ndarray) -> np.ndarray:
        # Trees that agree give probabilities of 0.
        return np.log(np.maximum(self.model.predict_proba(X), 1e-3 / self.model.classes_.size))

    def predict_log_proba(self, X: np.ndarray) -> np.ndarray:
        return log_softmax(self.temperature * self._log_proba(X), axis=1)

    @property
    def classes_(self) -> np.ndarray:
        return self.model.classes_


def models(seed: int) -> dict[str, Any]:
    return {
        "gpclass": NearestNeighborGPClassifier(random_state=seed),
        "local": NearestNeighborGPClassifier(global_model=False, random_state=seed),
        "ivm": IVMClassifier(random_state=seed),
        "sparse": SparseGPClassifier(random_state=seed),
        "exact": GPClassifier(random_state=seed),
        "extra-trees": WithTemperature(ExtraTreesClassifier(500, n_jobs=-1, random_state=seed), seed),
        "boosting": WithTemperature(HistGradientBoostingClassifier(random_state=seed), seed),
    }


def load(name: str, seed: int) -> tuple[np.ndarray, ...]:
    name, _, size = name.partition("-")
    stored = data.load(name)
    if name != "covtype":
        X, y, X_test, y_test = (stored[part] for part in ("X_train", "y_train", "X_test", "y_test"))
        return X.astype(float), y, X_test.astype(float), y_test
    X, y = stored["X"], stored["y"]
    rows = np.random.default_rng(seed).permutation(len(y))[: int(size) + 10_000]
    X, y = X[rows].astype(float), y[rows]
    return X[: int(size)], y[: int(size)], X[int(size) :], y[int(size) :]


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--models", default="gpclass,local,extra-trees,boosting")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("| data | model | error % | log loss | fit s | predict s | peak GiB |")
    print("|" + " --- |" * 7)
    NearestNeighborGPClassifier(max_iter=1).fit(np.eye(4).repeat(5, 0), np.arange(4).repeat(5))  # compiles
    for name in asked.sets:
        X, y, X_test, y_test = load(name, asked.seed)
        for label in asked.models.split(","):
            model, start = models(asked.seed)[label], time.perf_counter()
            model.fit(X, y)
            fitted = time.perf_counter()
            log_p = model.predict_log_proba(X_test)
            done, truth = time.perf_counter(), np.searchsorted(model.classes_, y_test)
            error, loss = np.mean(log_p.argmax(axis=1) != truth), -np.mean(log_p[np.arange(len(truth)), truth])
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"| {name} | {label} | {100 * error:.2f} | {loss:.4f} | {fitted - start:.1f} | {done - fitted:.1f} | "
                f"{peak:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Digits, 800 rows: the default classifier against scikit-learn with constant * RBF, whole learned fits in one run."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from gpclass import GPClassifier


def main() -> None:
    warnings.simplefilter("ignore")
    X, y = load_digits(return_X_y=True)
    X = X / 16
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:800], order[800:]
    GPClassifier(hyper="fixed").fit(X[:60], y[:60]).predict_proba(X[:5])  # compile, once for all later runs
    results = []
    models = {"gpclass": GPClassifier(), "scikit-learn": GaussianProcessClassifier(ConstantKernel(1.0) * RBF(1.0))}
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(X[train], y[train])
        seconds = time.perf_counter() - start
        proba = model.predict_proba(X[test])
        loss = -np.mean(np.log(proba[np.arange(len(test)), y[test]]))
        error = 100 * np.mean(proba.argmax(axis=1) != y[test])
        results.append((seconds, loss))
        print(f"{name:13} fit {seconds:6.1f} s, error {error:5.2f} %, log loss {loss:.3f}", flush=True)
    (ours, our_loss), (theirs, their_loss) = results
    print(f"{theirs / ours:.1f} times faster at {our_loss / their_loss:.2f} of the log loss")
    if theirs < 10 * ours or our_loss > 0.25 * their_loss:
        raise SystemExit("expected 10 times the speed at no more than a quarter of the log loss")


if __name__ == "__main__":
    main()

"""Digits, 400 rows: one joint model against scikit-learn's one-vs-rest, same kernel, same rows, one run."""

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
    train, test = order[:400], order[400:1100]
    GPClassifier(hyper="fixed").fit(X[:60], y[:60]).predict_proba(X[:5])  # compile, once for all later runs
    print(f"{'start':>22} {'model':16} {'fit s':>7} {'predict s':>10} {'error %':>8} {'neg log prob':>13}")
    missed = False
    for kernel in (ConstantKernel(1.0) * RBF(1.0), ConstantKernel(10.0) * RBF(3.0)):
        results = {}
        for name, model in (
            ("gpclass", GPClassifier(kernel)),
            ("scikit-learn", GaussianProcessClassifier(kernel)),
        ):
            start = time.perf_counter()
            model.fit(X[train], y[train])
            fitted = time.perf_counter()
            proba = model.predict_proba(X[test])
            done = time.perf_counter()
            loss = -np.mean(np.log(proba[np.arange(len(test)), y[test]]))
            error = 100 * np.mean(proba.argmax(axis=1) != y[test])
            results[name] = (done - start, loss)
            print(
                f"{kernel!s:>22} {name:16} {fitted - start:7.2f} {done - fitted:10.2f} {error:8.2f} {loss:13.3f}",
                flush=True,
            )
        times, losses = zip(*results.values(), strict=True)
        print(f"{'':22} {'ratio':16} {times[0] / times[1]:7.2f} {'':10} {'':8} {losses[0] / losses[1]:13.3f}")
        missed = missed or times[0] > 0.5 * times[1] or losses[0] > 0.5 * losses[1]
    if missed:
        raise SystemExit("expected at most half of scikit-learn's time and log loss")


if __name__ == "__main__":
    main()

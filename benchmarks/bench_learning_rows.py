"""How many rows kernel parameters are worth learning from: error, log loss and seconds of one exact model.

python benchmarks/bench_learning_rows.py [SET ...] [--rows 3000] [--learn 350 1000 2000] [--device cpu]

The same training rows and kernel each time; only ``Evidence(max_rows=...)`` differs.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from bench_gpu import data

from gpclass import GPClassifier
from gpclass.hyper import Evidence
from gpclass.kernels import Matern

SETS = ("satimage", "usps", "isolet", "mnist")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--learn", type=int, nargs="+", default=[350, 1000, 2000])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--test", type=int, default=3000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.sets:
        X, y, X_test, y_test = data(name, asked.rows)
        X_test, y_test = X_test[: asked.test], y_test[: asked.test]
        kernel = 10.0 * Matern(float(np.sqrt(X.shape[1])) * float(X.std()), nu=2.5)
        for n_rows in asked.learn:
            start = time.perf_counter()
            hyper = Evidence(max_rows=n_rows)
            model = GPClassifier(kernel, hyper=hyper, inference="vb", device=asked.device, random_state=0).fit(X, y)
            seconds = time.perf_counter() - start
            proba = model.predict_proba(X_test)
            own = proba[np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)]
            wrong = 100.0 * np.mean(model.classes_[proba.argmax(axis=1)] != y_test)
            print(
                f"{name:10} {n_rows:6} rows: {wrong:6.2f} %, log loss {-np.log(own).mean():.4f}, {seconds:7.1f} s, "
                f"{model.hyper_.n_evaluations} evaluations, theta {np.round(model.hyper_.theta, 3)}",
                flush=True,
            )


if __name__ == "__main__":
    main()

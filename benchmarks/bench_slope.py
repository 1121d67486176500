"""How time and memory of the nearest-neighbour classifier grow with the number of rows.

python benchmarks/bench_slope.py [--rows 10000,100000,1000000] [--columns 10]

Generated rows: three classes by the sine of a random projection, with noise. Seconds of fitting and of predicting
10,000 rows, log loss, peak memory, and the slope of log time in log rows between the first and the last.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np

from gpclass import NearestNeighborGPClassifier


def generated(n: int, d: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 10_000, d))
    values = np.sin(2.0 * X[:, 0]) + np.sin(2.0 * X[:, 1]) + 0.3 * rng.normal(size=len(X))
    y = np.digitize(values, [-0.5, 0.5])
    return X[:n], y[:n], X[n:], y[n:]


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="10000,100000,1000000")
    parser.add_argument("--columns", type=int, default=10)
    asked = parser.parse_args()
    sizes, times = [int(n) for n in asked.rows.split(",")], []
    NearestNeighborGPClassifier(max_iter=1).fit(np.eye(4).repeat(5, 0), np.arange(4).repeat(5))  # compiles
    print("| rows | steps | fit s | predict s | log loss | peak GiB |\n|" + " --- |" * 6)
    for n in sizes:
        X, y, X_test, y_test = generated(n, asked.columns)
        start = time.perf_counter()
        model = NearestNeighborGPClassifier(random_state=0).fit(X, y)
        fitted = time.perf_counter()
        loss = -np.mean(model.predict_log_proba(X_test)[np.arange(len(y_test)), y_test])
        done, peak = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        times.append(fitted - start)
        print(
            f"| {n} | {model.n_iter_} | {times[-1]:.1f} | {done - fitted:.1f} | {loss:.4f} | {peak:.2f} |", flush=True
        )
    slope = np.log(times[-1] / times[0]) / np.log(sizes[-1] / sizes[0])
    print(f"slope of fitting time from {sizes[0]} to {sizes[-1]} rows: {slope:.2f}")


if __name__ == "__main__":
    main()

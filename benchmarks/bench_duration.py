"""How long fits take, for the cost model of ``gpclass.tabular.duration``.

Prints the CPU seconds of fits to tables of n rows, d columns and K classes, and the constants of
log seconds = a + b log n + c log d + e log K for each estimator, by least squares; sizes that do not vary are left out.

    python benchmarks/bench_duration.py [GPClassifier ...]
    python benchmarks/bench_duration.py --tables
"""

from __future__ import annotations

import sys
import time
import warnings
from itertools import product

import numpy as np

import gpclass as gp
from gpclass.datasets import load_table
from gpclass.datasets.bundled import TABLES
from gpclass.tabular import TableModel

#: Estimator, numbers of rows, of columns and of classes (1: regression).
GRIDS = {
    "GPClassifier": (gp.GPClassifier, (100, 300, 1000), (4, 20), (2, 5)),
    "GPRegressor": (gp.GPRegressor, (100, 300, 1000), (4, 20), (1,)),
    "GPOrdinalClassifier": (gp.GPOrdinalClassifier, (100, 300, 1000), (4, 20), (3,)),
    "NearestNeighborGPClassifier": (gp.NearestNeighborGPClassifier, (1500, 10000), (4, 20), (2, 5)),
    "NearestNeighborGPRegressor": (gp.NearestNeighborGPRegressor, (1500, 10000), (4, 20), (1,)),
    "SparseGPClassifier": (gp.SparseGPClassifier, (1000, 4000), (10,), (2, 5)),
    "IVMClassifier": (gp.IVMClassifier, (300, 2000), (10,), (2, 5)),
    "IVMRegressor": (gp.IVMRegressor, (300, 2000), (10,), (1,)),
    "NullCategoryClassifier": (gp.NullCategoryClassifier, (100, 400), (10,), (2,)),
}


def table(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose target depends on half of the columns, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = np.sin(X[:, 0]) + X[:, : max(d // 2, 1)].mean(axis=1) * np.sqrt(d // 2) + 0.5 * rng.standard_normal(n)
    if n_classes == 1:
        return X, f
    return X, np.digitize(f, np.quantile(f, np.arange(1, n_classes) / n_classes))


def seconds(make: type, n: int, d: int, n_classes: int) -> tuple[float, float]:
    X, y = table(n, d, n_classes)
    settings = {"order": list(range(n_classes))} if make is gp.GPOrdinalClassifier else {}
    if make is gp.NullCategoryClassifier:
        y = np.where(np.random.default_rng(1).random(n) < 0.7, -1, y)
        settings = {"unlabelled": -1}
    model = make(random_state=0, **settings)
    cpu, wall = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return time.process_time() - cpu, time.perf_counter() - wall


def tables() -> None:
    """The estimate beside the CPU seconds of fits of the ten packaged tables."""
    ratios = []
    for name in TABLES:
        expected: list[float] = []
        cpu = time.process_time()
        model = TableModel("target").fit(load_table(name).frame, on_estimate=expected.append, clock=time.process_time)
        cpu = time.process_time() - cpu
        ratios.append(expected[0] / cpu)
        print(f"{name:12} {model.about_['rows']:5} rows: {expected[0]:6.1f} s expected, {cpu:6.1f} s", flush=True)
    factor = np.exp(np.abs(np.log(ratios)))
    print(f"off by a factor of {np.median(factor):.1f}, at most {factor.max():.1f}")


def main() -> None:
    if sys.argv[1:] == ["--tables"]:
        tables()
        return
    seconds(gp.GPClassifier, 60, 2, 2)  # compile
    for name in sys.argv[1:] or GRIDS:
        make, rows, columns, classes = GRIDS[name]
        seconds(make, rows[0], columns[0], classes[0])
        features, logs = [], []
        for n, d, k in product(rows, columns, classes):
            cpu, wall = seconds(make, n, d, k)
            varied = [np.log(size) for size, grid in ((n, rows), (d, columns), (k, classes)) if len(grid) > 1]
            features.append([1.0, *varied])
            logs.append(np.log(cpu))
            print(f"{name:28} n={n:6} d={d:3} K={k}: {cpu:7.2f} s of CPU, {wall:7.2f} s in all", flush=True)
        found, *_ = np.linalg.lstsq(np.array(features), np.array(logs), rcond=None)
        error = np.exp(np.abs(np.array(features) @ found - logs))
        print(
            f"{name}: {found.round(2).tolist()}, off by a factor of {np.median(error):.2f}, at most {error.max():.2f}"
        )


if __name__ == "__main__":
    main()

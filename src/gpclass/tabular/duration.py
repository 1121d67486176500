"""A rough estimate of how long a fit takes, from the size of a table and the speed of the machine."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr

#: Constants of log seconds = a + b log n + c log d + e log K for n rows, d columns and K classes, in CPU seconds of one
#: machine (benchmarks/bench_duration.py, docs/decisions/0081-how-long-a-fit-takes.md).
_CONSTANTS = {
    "GPClassifier": (-7.22, 0.83, 0.18, 2.13),
    "GPRegressor": (-7.34, 0.77, 0.41, 0.0),
    "GPOrdinalClassifier": (-8.21, 1.27, 0.49, 0.0),
    "NearestNeighborGPClassifier": (-3.63, 0.60, 0.17, 0.08),
    "NearestNeighborGPRegressor": (-3.00, 0.50, 0.29, 0.0),
    "SparseGPClassifier": (-4.27, 0.64, 0.0, 1.01),
    "IVMClassifier": (-4.63, 0.56, 0.0, 1.27),
    "NullCategoryClassifier": (-6.18, 1.25, 0.0, 0.0),
}
#: Most classes that were measured; with more of them kernels are learned with less effort.
_CLASSES = 5
#: CPU seconds that the probe took on that machine, and the bounds of what another one may differ by.
_PROBE_SECONDS, _FACTORS = 0.02, (0.2, 10.0)


def expected_seconds(estimator: Any, X: Any, y: np.ndarray) -> float | None:
    """About how many seconds the estimator takes to fit rows X (n, d) with targets y on the machine of the constants,
    usually to a factor of two, at worst of five; None for an estimator that was not measured."""
    name = type(estimator).__name__
    if name not in _CONSTANTS or getattr(estimator, "inference", None) == "ivm":
        return None
    constant, by_rows, by_columns, by_classes = _CONSTANTS[name]
    n, d = X.shape
    n_classes = 1 if "Regressor" in name else len({label for label in y.tolist() if label is not None})
    return float(np.exp(constant) * n**by_rows * d**by_columns * min(max(n_classes, 1), _CLASSES) ** by_classes)


def slowness(clock: Callable[[], float] = time.monotonic) -> float:
    """How many times longer than on the machine of the constants a computation takes here and now."""
    x = np.linspace(-3.0, 3.0, 200_000)
    start = clock()
    for _ in range(10):
        ndtr(x)
    return float(np.clip((clock() - start) / _PROBE_SECONDS, *_FACTORS))

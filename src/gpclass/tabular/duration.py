"""A rough estimate of how long a fit takes, from the size of a table."""

from typing import Any

import numpy as np

#: Constants of log seconds = a + b log n + c log d + e log K for n rows, d columns and K classes, measured on one core
#: (benchmarks/bench_duration.py, docs/decisions/0081-how-long-a-fit-takes.md). Tables that are learned easily take a
#: third of that, others three times as long.
_CONSTANTS: dict[str, tuple[float, float, float, float]] = {}


def expected_seconds(estimator: Any, X: Any, y: np.ndarray) -> float:
    """About how many seconds the estimator takes to fit rows X (n, d) with targets y; to a factor of three."""
    name = type(estimator).__name__
    constant, by_rows, by_columns, by_classes = _CONSTANTS[name]
    n, d = X.shape
    n_classes = 1 if "Regressor" in name else len({label for label in y.tolist() if label is not None})
    return float(np.exp(constant) * n**by_rows * d**by_columns * max(n_classes, 1) ** by_classes)

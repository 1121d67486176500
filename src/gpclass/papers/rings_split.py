"""The toy data of GR06 figures 3 and 4: rings and blob, in the two inputs that matter."""

from __future__ import annotations

import numpy as np

from ..datasets import make_rings
from .base import Size, Task

#: Range of log phi, printed in GR06 section 6.2.
LOG_PHI = (-1.0, 5.0)


def sizes(size: Size) -> Task:
    n_train, n_test = (60, 120) if size == "tiny" else (100, 240)
    return {"n_train": n_train, "n_test": n_test, "seed": 0}


def split(n_train: int, n_test: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y, X_test, y_test."""
    X, y = make_rings(n_train + n_test, n_irrelevant=0, random_state=seed)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]

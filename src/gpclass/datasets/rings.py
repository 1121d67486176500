"""The toy problem of GR06 section 6.1: two rings around a blob, hidden among irrelevant inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def make_rings(n_samples: int = 240, n_irrelevant: int = 8, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Three balanced classes in the first two inputs; the others are standard normal noise.

    Class 1 has 0.1 < x_1^2 + x_2^2 < 0.5, class 2 has 0.6 < x_1^2 + x_2^2 < 1, both uniform in area, and class 3 is
    normal with variance 0.01.

    Returns
    -------
    X : (n_samples, 2 + n_irrelevant), y : (n_samples,) labels 1, 2, 3
    """
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    y = rng.integers(1, 4, n_samples)
    inner = np.select([y == 1, y == 2], [0.1, 0.6], 0.0)
    outer = np.select([y == 1, y == 2], [0.5, 1.0], 0.0)
    radius = np.sqrt(rng.uniform(inner, outer))
    angle = rng.uniform(0.0, 2.0 * np.pi, n_samples)
    plane = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    blob = 0.1 * rng.standard_normal((n_samples, 2))
    plane = np.where((y == 3)[:, None], blob, plane)
    return np.column_stack([plane, rng.standard_normal((n_samples, n_irrelevant))]), y

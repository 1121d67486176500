"""Two crescents that reach into each other, most rows without a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def make_crescents(
    n_samples: int = 400, labelled: float = 0.1, noise: float = 0.8, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Interlocking crescents in two dimensions, as in figure 5 of Lawrence, Platt and Jordan (2005).

    Parameters
    ----------
    n_samples : int
        Number of rows, half of them in each crescent.
    labelled : float
        Probability that a row has a label; of each crescent at least one row has.
    noise : float
        Standard deviation about the middle line of a crescent, whose radius is 5.

    Returns
    -------
    X (n_samples, 2), y (n_samples,) with -1 where there is no label, and truth (n_samples,)
    """
    if not 0.0 < labelled <= 1.0:
        raise ValueError(f"labelled must be above 0 and at most 1, got {labelled!r}")
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2, got {n_samples!r}")
    rng = check_random_state(random_state)
    truth = np.arange(n_samples) % 2
    side = 2.0 * truth - 1.0
    angle = np.pi * rng.uniform(size=n_samples)
    middle = np.stack([5.0 * np.cos(angle) + 2.0 * side, side * (5.0 * np.sin(angle) - 1.0)], axis=1)
    X = middle + noise * rng.standard_normal((n_samples, 2))
    known = rng.uniform(size=n_samples) < labelled
    for k in (0, 1):
        known[rng.choice(np.flatnonzero(truth == k))] = True
    return X, np.where(known, truth, -1), truth

"""Synthetic data with known truth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def make_rings(n_samples: int = 240, n_irrelevant: int = 8, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Two rings around a blob in the first two inputs, the others standard normal noise (GR06 section 6.1).

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


def make_crescents(
    n_samples: int = 400, labelled: float = 0.1, noise: float = 0.8, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Interlocking crescents in two dimensions, as in figure 5 of Lawrence, Platt and Jordan (2005).

    Parameters
    ----------
    n_samples : int
        Number of rows, half of them in each crescent.
    labelled : float
        Probability that a row has a label; at least one row of each crescent has one.
    noise : float
        Standard deviation around the centre line of a crescent, whose radius is 5.

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
    centre = np.stack([5.0 * np.cos(angle) + 2.0 * side, side * (5.0 * np.sin(angle) - 1.0)], axis=1)
    X = centre + noise * rng.standard_normal((n_samples, 2))
    known = rng.uniform(size=n_samples) < labelled
    for k in (0, 1):
        known[rng.choice(np.flatnonzero(truth == k))] = True
    return X, np.where(known, truth, -1), truth


def make_views(
    n_samples: int = 200,
    shares: Sequence[float] = (0.6, 0.3, 0.1, 0.0),
    n_features: int = 3,
    n_classes: int = 3,
    amplitude: float = 5.0,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray, dict[str, slice]]:
    """Draws from the model of Girolami (2006): latent functions are sums of functions of each view.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    shares : sequence of float
        Share of each view in the latent variance, scaled to sum to 1; a view of share 0 is noise.
    n_features : int
        Columns of each view, independent standard normal; functions of them have an RBF covariance of length-scale
        sqrt(n_features).
    n_classes : int
        A row's label is the class whose latent function, with unit noise, is largest.
    amplitude : float
        Standard deviation of the latent functions.

    Returns
    -------
    X (n_samples, views * n_features), y (n_samples,), and the columns of each view: "view_1", "view_2", ...
    """
    parts = np.asarray(shares, dtype=float)
    if parts.ndim != 1 or not len(parts) or np.any(parts < 0.0) or not np.sum(parts) > 0.0:
        raise ValueError(f"shares must be numbers >= 0, not all 0, got {shares!r}")
    for name, value, least in (("n_samples", n_samples, 2), ("n_features", n_features, 1), ("n_classes", n_classes, 2)):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value!r}")
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, len(parts) * n_features))
    columns = {f"view_{j + 1}": slice(j * n_features, (j + 1) * n_features) for j in range(len(parts))}
    latent = rng.standard_normal((n_samples, n_classes))
    for share, view in zip(parts / parts.sum(), columns.values(), strict=True):
        squared = np.sum((X[:, None, view] - X[None, :, view]) ** 2, axis=2) / n_features
        values, vectors = np.linalg.eigh(np.exp(-0.5 * squared))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        latent += amplitude * np.sqrt(share) * root @ rng.standard_normal((n_samples, n_classes))
    return X, latent.argmax(axis=1), columns

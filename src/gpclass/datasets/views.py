"""Objects seen through several sources, of which some say more than others about the label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def make_views(
    n_samples: int = 200,
    shares: Sequence[float] = (0.6, 0.3, 0.1, 0.0),
    n_features: int = 3,
    n_classes: int = 3,
    amplitude: float = 5.0,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray, dict[str, slice]]:
    """Draws from the model of Girolami (2006): latent functions that are sums of functions of each view.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    shares : sequence of float
        How much of the latent variance each view makes up; a view of share 0 is noise. They are scaled to sum to 1.
    n_features : int
        Columns of each view, independent standard normal; the functions of them have an RBF covariance of length-scale
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
    for share, own in zip(parts / parts.sum(), columns.values(), strict=True):
        squared = np.sum((X[:, None, own] - X[None, :, own]) ** 2, axis=2) / n_features
        values, vectors = np.linalg.eigh(np.exp(-0.5 * squared))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        latent += amplitude * np.sqrt(share) * root @ rng.standard_normal((n_samples, n_classes))
    return X, latent.argmax(axis=1), columns

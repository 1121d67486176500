"""Nine Gaussians in the plane with three labels at random: the data of CC05 section 5."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.decomposition import PCA

from .. import GPClassifier
from ..kernels import RBF, Constant

N_GAUSSIANS, N_CLASSES = 9, 3
#: Offset b and amplitude a of the paper's kernel b + a exp(-v |x - x'|^2 / 2); not printed.
OFFSET, AMPLITUDE = 1.0, 1.0


@dataclass(frozen=True)
class Draw:
    """Training and test rows of nine Gaussians of unit variance, which is not printed, whitened on the training rows.

    ``centres`` (9, 2) are uniform in [0, 10]^2, ``labels`` (9,) at random, each class at least once.
    """

    centres: np.ndarray
    labels: np.ndarray
    whiten: PCA
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def best_labels(self, X: np.ndarray) -> np.ndarray:
        """Labels of whitened rows by the Bayes rule, which has the lowest possible error."""
        X = self.whiten.inverse_transform(X)
        log_density = -0.5 * np.sum((X[:, None] - self.centres) ** 2, axis=2)
        return np.stack([logsumexp(log_density[:, self.labels == c], axis=1) for c in range(N_CLASSES)]).argmax(axis=0)


def make_draw(seed: int, n_train: int, n_test: int) -> Draw:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0.0, 10.0, (N_GAUSSIANS, 2))
    labels = rng.integers(N_CLASSES, size=N_GAUSSIANS)
    while len(np.unique(labels)) < N_CLASSES:
        labels = rng.integers(N_CLASSES, size=N_GAUSSIANS)

    def sample(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        source = rng.integers(N_GAUSSIANS, size=n_rows)
        return centres[source] + rng.standard_normal((n_rows, 2)), labels[source]

    X, y = sample(n_train)
    X_test, y_test = sample(n_test)
    whiten = PCA(whiten=True).fit(X)
    return Draw(centres, labels, whiten, whiten.transform(X), y, whiten.transform(X_test), y_test)


def softmax_gp(v: float, inference: Any) -> GPClassifier:
    """One latent function for each class, the softmax, and the paper's kernel at a fixed scale parameter."""
    fixed: dict[str, Any] = {"likelihood": "softmax", "hyper": "fixed", "standardize": False, "calibration": None}
    return GPClassifier(Constant(OFFSET) + AMPLITUDE * RBF(v**-0.5), inference=inference, **fixed)

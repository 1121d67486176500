"""Nine Gaussians in the plane with three labels at random: the data of CC05 section 5."""

from __future__ import annotations

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
class NineGaussians:
    """Centres (9, 2) and labels (9,); variances are not printed, here they are 1."""

    centres: np.ndarray
    labels: np.ndarray

    @classmethod
    def at_random(cls, rng: np.random.Generator) -> NineGaussians:
        """Centres uniform in [0, 10]^2; labels drawn again where one of them has no centre."""
        centres = rng.uniform(0.0, 10.0, (N_GAUSSIANS, 2))
        labels = rng.integers(N_CLASSES, size=N_GAUSSIANS)
        while len(np.unique(labels)) < N_CLASSES:
            labels = rng.integers(N_CLASSES, size=N_GAUSSIANS)
        return cls(centres, labels)

    def sample(self, n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        source = rng.integers(N_GAUSSIANS, size=n_rows)
        return self.centres[source] + rng.standard_normal((n_rows, 2)), self.labels[source]

    def best_labels(self, X: np.ndarray) -> np.ndarray:
        """What somebody who knows the Gaussians would say: nobody errs less."""
        log_density = -0.5 * np.sum((X[:, None] - self.centres) ** 2, axis=2)
        return np.stack([logsumexp(log_density[:, self.labels == c], axis=1) for c in range(N_CLASSES)]).argmax(axis=0)


@dataclass(frozen=True)
class Draw:
    """A problem, rows to learn from and rows to test on, and the whitening of the former."""

    problem: NineGaussians
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    whiten: PCA


def make_draw(seed: int, n_train: int, n_test: int) -> Draw:
    """Whitened rows of a problem of their own."""
    rng = np.random.default_rng(seed)
    problem = NineGaussians.at_random(rng)
    X, y = problem.sample(n_train, rng)
    X_test, y_test = problem.sample(n_test, rng)
    whiten = PCA(whiten=True).fit(X)
    return Draw(problem, whiten.transform(X), y, whiten.transform(X_test), y_test, whiten)


def softmax_gp(v: float, inference: Any) -> GPClassifier:
    """One latent function for each class, the softmax, and the paper's kernel at a fixed scale parameter."""
    kernel = Constant(OFFSET) + AMPLITUDE * RBF(v**-0.5)
    return GPClassifier(
        kernel, likelihood="softmax", inference=inference, hyper="fixed", standardize=False, calibration=None
    )

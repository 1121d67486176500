"""Regression on noisy values of sin(x) / x, for CC05 figure 1 and for the slides of G06."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..inference import Exact
from ..inference.posteriors import make_posterior
from ..kernels import Kernel
from ..likelihoods import Gaussian

#: Printed in G06; CC05 print neither.
NOISE_VARIANCE, N_ROWS = 0.1, 100
#: G06 draw from the prior over this range; that of the regression is not printed.
RANGE = (-8.0, 8.0)
#: Where functions are shown and compared.
LINE = np.linspace(*RANGE, 161)
TRUTH = np.sinc(LINE / np.pi)


class Regression(NamedTuple):
    """Posterior mean and standard deviation of the function on ``LINE``, the mean at the rows, and log p(t)."""

    mean: np.ndarray
    sd: np.ndarray
    fitted: np.ndarray
    log_evidence: float

    def coverage(self) -> float:
        """Share of ``LINE``, in per cent, on which the truth is within two standard deviations of the mean."""
        return 100.0 * float(np.mean(np.abs(TRUTH - self.mean) <= 2.0 * self.sd))

    def distance_from_truth(self) -> float:
        return root_mean_square(self.mean - TRUTH)


def noisy_sinc(seed: int, n_rows: int = N_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Places x, uniform in ``RANGE``, and observations t."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(*RANGE, n_rows)
    return x, np.sinc(x / np.pi) + np.sqrt(NOISE_VARIANCE) * rng.standard_normal(n_rows)


def regress(x: np.ndarray, t: np.ndarray, kernel: Kernel) -> Regression:
    """Exact inference with the true noise; neither x nor t is scaled."""
    X = x[:, None]
    fit = Exact()(kernel(X), t, Gaussian(NOISE_VARIANCE))
    posterior = make_posterior(kernel, X, fit.weights)
    on_line = posterior.latent(LINE[:, None])
    fitted = posterior.latent(X).mean[:, 0]
    return Regression(on_line.mean[:, 0], np.sqrt(on_line.cov[:, 0]), fitted, fit.log_evidence)


def root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))

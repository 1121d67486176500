"""Regression on noisy values of sin(x) / x, shared by CC05 figure 1 and G06."""

from typing import Any, NamedTuple

import numpy as np

from ..inference import DensePrior, Exact
from ..kernels import Kernel
from ..likelihoods import Gaussian
from .base import Row
from .figures import COLOURS

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

    def scores(self) -> Row:
        """Coverage is the share of ``LINE``, in per cent, on which the truth is within two standard deviations."""
        coverage = 100.0 * float(np.mean(np.abs(TRUTH - self.mean) <= 2.0 * self.sd))
        distance = root_mean_square(self.mean - TRUTH)
        return {"distance_from_truth": distance, "log_evidence": self.log_evidence, "coverage": coverage}


def noisy_sinc(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs x, uniform in ``RANGE``, and observations t."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(*RANGE, N_ROWS)
    return x, np.sinc(x / np.pi) + np.sqrt(NOISE_VARIANCE) * rng.standard_normal(N_ROWS)


def regress(x: np.ndarray, t: np.ndarray, kernel: Kernel) -> Regression:
    """Exact inference with the true noise; neither x nor t is scaled."""
    X = x[:, None]
    fit = Exact()(DensePrior.at(kernel, X), t, Gaussian(NOISE_VARIANCE))
    on_line, fitted = fit.posterior.latent(LINE[:, None]), fit.posterior.latent(X).mean[:, 0]
    return Regression(on_line.mean[:, 0], np.sqrt(on_line.cov[:, 0]), fitted, fit.log_evidence)


def root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def plot_data(ax: Any, row: Row) -> None:
    """Observations and the true function."""
    ax.plot(row["x"], row["t"], ".", color=COLOURS[6], markersize=4, label="rows")
    ax.plot(LINE, TRUTH, "--", color="black", linewidth=1.0, label="sin(x) / x")
    ax.set_xlabel("x")


def plot_posterior(ax: Any, row: Row, label: str) -> None:
    """Posterior mean and two standard deviations."""
    mean, sd = np.array(row["mean"]), np.array(row["sd"])
    ax.plot(LINE, mean, color=COLOURS[0], label=label)
    ax.fill_between(LINE, mean - 2.0 * sd, mean + 2.0 * sd, color=COLOURS[0], alpha=0.25, label="2 sd")

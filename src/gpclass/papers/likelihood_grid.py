"""Predictive likelihood over a grid of amplitudes and inverse squared scales: a Gibbs sampler, and who comes near it.

The kernel is s exp(-phi |x - x'|^2). Shared by GR06 figures 3 and 4 and by the wine data of G06.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..inference import EP, VB, Gibbs, Laplace, GaussianTerms
from ..inference.calibration import Calibration
from ..inference.dense.gibbs import Draws
from ..inference.posteriors import make_posterior
from ..kernels import RBF
from ..likelihoods import Likelihood, MultinomialProbit, Probit
from .base import Comparison, Records, Size, Task
from .figures import panels

#: In the order of the papers' panels, EP last: it is not in them.
METHODS = ("Gibbs", "VB", "Laplace", "EP")
APPROXIMATIONS = METHODS[1:]
#: Two halves of the sampler's draws: what they differ by is its own noise.
HALVES = ("Gibbs, first half", "Gibbs, second half")
#: Range of log s, printed in GR06 section 6.2.
LOG_S = (-1.0, 5.0)
#: Sweeps from one kept draw to the next; draws in between say little that is new and cost a prediction each.
THIN = 10


def rows_of_grid(size: Size, log_phi: tuple[float, float], n_full: int) -> list[Task]:
    """One task for each value of log phi: all of log s, and sweeps as in the paper or fewer."""
    n_steps = {"tiny": 3, "quick": 7, "full": n_full}[size]
    burn_in, n_sweeps = {"tiny": (100, 100), "quick": (500, 500), "full": (2000, 1000)}[size]
    return [
        {"log_phi": round(value, 6), "n_steps": n_steps, "burn_in": burn_in, "n_sweeps": n_sweeps}
        for value in np.linspace(*log_phi, n_steps).tolist()
    ]


def responses(
    data: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    laplace: Likelihood,
    log_phi: float,
    n_steps: int,
    burn_in: int,
    n_sweeps: int,
) -> Iterator[dict[str, Any]]:
    """Error and predictive log likelihood of every method along log s, for ``data`` X, y, X_test, y_test.

    ``laplace`` is the likelihood of Laplace's method; the others have the probit.
    """
    X, y, X_test, y_test = data
    classes, y = np.unique(y, return_inverse=True)
    right = np.searchsorted(classes, y_test)
    probit = Probit() if len(classes) == 2 else MultinomialProbit()
    n_latent = probit.n_latent(len(classes))
    # All grid points have the same random numbers: noise common to neighbours leaves contours smooth.
    sampler = Gibbs(n_draws=n_sweeps // THIN, burn_in=burn_in, thin=THIN, n_chains=1, evidence=False)
    for log_s in np.linspace(*LOG_S, n_steps).tolist():
        kernel = np.exp(log_s) * RBF(np.sqrt(0.5 * np.exp(-log_phi)))
        K = kernel(X)
        halves = _halves(sampler(K, y, probit, n_latent).weights)
        beliefs: dict[str, tuple[GaussianTerms | Draws, Likelihood]] = {
            **{name: (draws, probit) for name, draws in zip(HALVES, halves, strict=True)},
            "VB": (VB()(K, y, probit, n_latent).weights, probit),
            "Laplace": (Laplace()(K, y, laplace, n_latent).weights, laplace),
            "EP": (EP()(K, y, probit, n_latent).weights, probit),
        }
        log_p = {
            method: make_posterior(kernel, X, weights).predict_log(likelihood, X_test, Calibration())
            for method, (weights, likelihood) in beliefs.items()
        }
        log_p["Gibbs"] = np.logaddexp(*(log_p[half] for half in HALVES)) - np.log(2.0)
        for method, own in log_p.items():
            yield {
                "log_s": round(log_s, 6),
                "method": method,
                "error": 100.0 * np.mean(own.argmax(axis=1) != right),
                "log_likelihood": own[np.arange(len(right)), right].sum(),
            }


def _halves(draws: Draws) -> list[Draws]:
    """First and second half of a chain's draws."""
    middle = draws.alpha.shape[1] // 2
    parts = (slice(None, middle), slice(middle, 2 * middle))
    return [draws._replace(alpha=draws.alpha[:, part], latent=draws.latent[:, part]) for part in parts]


def surface(records: Records, method: str) -> np.ndarray:
    """Predictive log likelihood, a row for each log s and a column for each log phi."""
    own = {(row["log_s"], row["log_phi"]): row["log_likelihood"] for row in records.where(method=method)}
    return np.array([[own[s, phi] for phi in records.distinct("log_phi")] for s in records.distinct("log_s")])


def distance(records: Records, method: str, other: str = "Gibbs") -> float:
    """Mean absolute difference over the grid, in nats over the whole test set."""
    return float(np.mean(np.abs(surface(records, method) - surface(records, other))))


def at_unit_amplitude(records: Records) -> Records:
    """The grid's row that is nearest to s = 1."""
    return records.where(log_s=min(records.distinct("log_s"), key=abs))


def compare(records: Records) -> list[Comparison]:
    apart = "mean distance from Gibbs in log likelihood"
    found = [Comparison(method, apart, distance(records, method)) for method in APPROXIMATIONS]
    found.append(Comparison("Gibbs, one half of its draws from the other", apart, distance(records, *HALVES)))
    found += [
        Comparison(method, f"{apart}, s nearest to 1", distance(at_unit_amplitude(records), method))
        for method in APPROXIMATIONS
    ]
    found += [Comparison(method, "best log likelihood", float(surface(records, method).max())) for method in METHODS]
    return found


def preserved(records: Records) -> dict[str, bool]:
    """What all these figures are there to show."""
    laplace = distance(records, "Laplace")
    return {
        "Over the grid variational Bayes is nearer than Laplace to the sampler's predictive likelihood": distance(
            records, "VB"
        )
        < laplace,
        "Ours: over the grid EP is nearer than Laplace to the sampler's predictive likelihood": distance(records, "EP")
        < laplace,
    }


def reasonable_at_unit_amplitude(records: Records) -> dict[str, bool]:
    """GR06 say so of figures 3 and 4."""
    near = distance(at_unit_amplitude(records), "Laplace")
    return {
        "Laplace is nearer to the sampler at unit amplitude than over the grid": near < distance(records, "Laplace")
    }


def round_levels(lowest: float, highest: float) -> np.ndarray:
    """About a dozen round numbers that reach from below the lowest value to above the highest."""
    from matplotlib.ticker import MaxNLocator

    return np.asarray(MaxNLocator(12).tick_values(lowest, highest))


def draw(records: Records) -> dict[str, Any]:
    surfaces = {method: surface(records, method) for method in METHODS}
    every = np.stack(list(surfaces.values()))
    levels = round_levels(every.min(), every.max())
    figure, axes = panels(len(METHODS), size=(3.0, 3.2), sharex=True, sharey=True)
    for ax, (method, own) in zip(axes, surfaces.items(), strict=True):
        grid = (records.distinct("log_phi"), records.distinct("log_s"), own)
        filled = ax.contourf(*grid, levels=levels, cmap="cividis")
        lines = ax.contour(*grid, levels=levels, colors="black", linewidths=0.6, linestyles="solid")
        # The map is dark where the likelihood is low.
        inks = np.where(levels < levels.mean(), "white", "black")
        ax.clabel(lines, levels[1::2], colors=inks[1::2].tolist(), fmt="%.0f", fontsize=7)
        ax.set_title(method)
        ax.set_xlabel("log φ")
    axes[0].set_ylabel("log s")
    figure.colorbar(filled, ax=list(axes), label="predictive log likelihood", format="%.0f")
    return {"contours": figure}

"""Predictive likelihood over a grid of amplitudes and inverse squared scales: a Gibbs sampler and approximations.

The kernel is s exp(-phi |x - x'|^2). Shared by GR06 figures 3 and 4 and by the wine data of G06.
"""

from dataclasses import replace

import numpy as np

from ..datasets import make_rings
from ..inference import EP, VB, DensePrior, Gibbs, Laplace
from ..inference.calibration import Calibration
from ..inference.posteriors import DrawsPosterior
from ..kernels import RBF
from ..likelihoods import Likelihood, MultinomialProbit, Probit
from .base import Claims, Figures, Quantity, Records, Rows, Size, Task, by_size
from .data import Split
from .figures import panels

#: Ranges of log s, and of log phi for the toy data, printed in GR06 section 6.2.
LOG_S, LOG_PHI = (-1.0, 5.0), (-1.0, 5.0)
#: In the order of the papers' panels, EP last: it is not in them.
METHODS = ("Gibbs", "VB", "Laplace", "EP")
APPROXIMATIONS = METHODS[1:]
#: Two halves of the sampler's draws, whose difference measures its noise.
HALVES = ("Gibbs, first half", "Gibbs, second half")
#: Sweeps between two kept draws; draws in between are strongly correlated, and each costs a prediction.
THIN = 10


def grid_tasks(size: Size, log_phi: tuple[float, float], n_full: int) -> list[Task]:
    """One task for each value of log phi: all of log s, and sweeps as in the paper or fewer."""
    sizes = by_size(size, n_steps=(3, 7, n_full), burn_in=(100, 500, 2000), n_sweeps=(100, 500, 1000))
    return [{"log_phi": round(value, 6), **sizes} for value in np.linspace(*log_phi, sizes["n_steps"]).tolist()]


def ring_tasks(size: Size) -> list[Task]:
    """The tasks of GR06 figures 3 and 4."""
    n_train, n_test = (60, 120) if size == "tiny" else (100, 240)
    return [{**task, "n_train": n_train, "n_test": n_test, "seed": 0} for task in grid_tasks(size, LOG_PHI, 25)]


def ring_split(n_train: int, n_test: int, seed: int) -> Split:
    """X, y, X_test, y_test of the toy data, in the two relevant inputs."""
    X, y = make_rings(n_train + n_test, n_irrelevant=0, random_state=seed)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def responses(data: Split, laplace: Likelihood, log_phi: float, n_steps: int, burn_in: int, n_sweeps: int) -> Rows:
    """Error and predictive log likelihood of every method along log s.

    ``laplace`` is the likelihood of Laplace's method; the others have the probit.
    """
    X, y, X_test, y_test = data
    classes, y = np.unique(y, return_inverse=True)
    true = np.searchsorted(classes, y_test)
    probit = Probit() if len(classes) == 2 else MultinomialProbit()
    n_latent = probit.n_latent(len(classes))
    # All grid points share their random numbers: noise common to neighbours leaves contours smooth.
    sampler = Gibbs(n_draws=n_sweeps // THIN, burn_in=burn_in, thin=THIN, n_chains=1, evidence=False)
    for log_s in np.linspace(*LOG_S, n_steps).tolist():
        kernel = np.exp(log_s) * RBF(np.sqrt(0.5 * np.exp(-log_phi)))
        prior = DensePrior.at(kernel, X, n_latent)
        halves = _halves(sampler(prior, y, probit).posterior)
        log_p = {
            name: half.predict_log(probit, X_test, Calibration()) for name, half in zip(HALVES, halves, strict=True)
        }
        for method, engine, likelihood in (("VB", VB(), probit), ("Laplace", Laplace(), laplace), ("EP", EP(), probit)):
            log_p[method] = engine(prior, y, likelihood).posterior.predict_log(likelihood, X_test, Calibration())
        log_p["Gibbs"] = np.logaddexp(*(log_p[half] for half in HALVES)) - np.log(2.0)
        for method, values in log_p.items():
            yield {
                "log_s": round(log_s, 6),
                "method": method,
                "error": 100.0 * np.mean(values.argmax(axis=1) != true),
                "log_likelihood": values[np.arange(len(true)), true].sum(),
            }


def _halves(posterior: DrawsPosterior) -> list[DrawsPosterior]:
    """First and second half of a chain's draws."""
    draws = posterior.draws
    middle = draws.alpha.shape[1] // 2
    parts = (slice(None, middle), slice(middle, 2 * middle))
    halves = [draws._replace(alpha=draws.alpha[:, part], latent=draws.latent[:, part]) for part in parts]
    return [replace(posterior, draws=half) for half in halves]


def surface(records: Records, method: str) -> np.ndarray:
    """Predictive log likelihood, a row for each log s and a column for each log phi."""
    cells = {(row["log_s"], row["log_phi"]): row["log_likelihood"] for row in records.where(method=method)}
    return np.array([[cells[s, phi] for phi in records.distinct("log_phi")] for s in records.distinct("log_s")])


def distance(records: Records, method: str, other: str = "Gibbs") -> float:
    """Mean absolute difference over the grid, in nats over the whole test set."""
    return float(np.mean(np.abs(surface(records, method) - surface(records, other))))


def at_unit_amplitude(records: Records) -> Records:
    """The row of the grid that is nearest to s = 1."""
    return records.where(log_s=min(records.distinct("log_s"), key=abs))


def compare(records: Records) -> list[Quantity]:
    column = "mean distance from Gibbs in log likelihood"
    near = at_unit_amplitude(records)
    return [
        *(Quantity(method, column, distance(records, method)) for method in APPROXIMATIONS),
        Quantity("Gibbs, one half of its draws from the other", column, distance(records, *HALVES)),
        *(Quantity(method, f"{column}, s nearest to 1", distance(near, method)) for method in APPROXIMATIONS),
        *(Quantity(method, "best log likelihood", float(surface(records, method).max())) for method in METHODS),
    ]


def claims(records: Records) -> Claims:
    """What all these figures show."""
    vb, ep, laplace = (distance(records, method) for method in ("VB", "EP", "Laplace"))
    return {
        "Over the grid variational Bayes is nearer than Laplace to the sampler's predictive likelihood": vb < laplace,
        "Ours: over the grid EP is nearer than Laplace to the sampler's predictive likelihood": ep < laplace,
    }


def claims_at_unit_amplitude(records: Records) -> Claims:
    """What GR06 show in figures 3 and 4."""
    near, over_grid = distance(at_unit_amplitude(records), "Laplace"), distance(records, "Laplace")
    return {"Laplace is nearer to the sampler at unit amplitude than over the grid": near < over_grid}


def draw(records: Records) -> Figures:
    from matplotlib.ticker import MaxNLocator

    surfaces = {method: surface(records, method) for method in METHODS}
    values = np.stack(list(surfaces.values()))
    levels = np.asarray(MaxNLocator(12).tick_values(values.min(), values.max()))
    figure, axes = panels(len(METHODS), size=(3.0, 3.2), sharex=True, sharey=True)
    for ax, (method, shown) in zip(axes, surfaces.items(), strict=True):
        grid = (records.distinct("log_phi"), records.distinct("log_s"), shown)
        filled = ax.contourf(*grid, levels=levels, cmap="cividis")
        lines = ax.contour(*grid, levels=levels, colors="black", linewidths=0.6, linestyles="solid")
        # The map is dark where the likelihood is low.
        label_colours = np.where(levels < levels.mean(), "white", "black")
        ax.clabel(lines, levels[1::2], colors=label_colours[1::2].tolist(), fmt="%.0f", fontsize=7)
        ax.set(title=method, xlabel="log φ")
    axes[0].set_ylabel("log s")
    figure.colorbar(filled, ax=list(axes), label="predictive log likelihood", format="%.0f")
    return {"contours": figure}

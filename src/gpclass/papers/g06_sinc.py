"""G06, regression: draws from Gaussian-process priors, and posterior bands for noisy values of sin(x) / x."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kernels import RBF, Kernel
from .base import Comparison, Experiment, Records, Size, Task
from .figures import COLOURS, panels
from .sinc_regression import LINE, RANGE, TRUTH, noisy_sinc, regress

#: phi of the draws from the prior and of the regressions, theta and the points of the draws: all printed.
PRIOR_PHI, PHI = (0.1, 1.0, 10.0), (1.0, 5.0)
THETA, N_POINTS = 1.0, 30


def kernel(phi: float) -> Kernel:
    """theta exp(-phi (x - x')^2)."""
    return THETA * RBF((2.0 * phi) ** -0.5)


def tasks(size: Size) -> list[Task]:
    return [{"seed": seed} for seed in range({"tiny": 5, "quick": 50, "full": 500}[size])]


def run(seed: int) -> Iterator[dict[str, Any]]:
    # One draw of the data is enough for a figure.
    shown = seed == 0
    rng = np.random.default_rng([seed, 1])
    places = np.linspace(*RANGE, N_POINTS)
    for phi in PRIOR_PHI:
        K = kernel(phi)(places[:, None])
        draws = rng.multivariate_normal(np.zeros(N_POINTS), K, size=3, method="eigh", check_valid="ignore")
        turns = np.mean(np.diff(np.sign(draws), axis=1) != 0.0)
        yield {"what": "prior", "phi": phi, "sign_changes": 100.0 * turns, **({"draws": draws} if shown else {})}
    x, t = noisy_sinc(seed)
    for phi in PHI:
        found = regress(x, t, kernel(phi))
        yield {
            "what": "posterior",
            "phi": phi,
            "coverage": found.coverage(),
            "distance_from_truth": found.distance_from_truth(),
            "width": 4.0 * found.sd.mean(),
            "log_evidence": found.log_evidence,
            **({"x": x, "t": t, "mean": found.mean, "sd": found.sd} if shown else {}),
        }


def compare(records: Records) -> list[Comparison]:
    columns = {
        "coverage": "truth within 2 sd, %",
        "distance_from_truth": "rms distance from the truth",
        "width": "mean width of the band",
        "log_evidence": "log evidence",
    }
    found = []
    for phi in PRIOR_PHI:
        own = records.where(what="prior", phi=phi)
        row = f"prior, phi = {phi:g}"
        found.append(
            Comparison(row, "sign changes, % of steps", own.mean("sign_changes"), own.standard_error("sign_changes"))
        )
    for phi in PHI:
        own = records.where(what="posterior", phi=phi)
        found += [
            Comparison(f"posterior, phi = {phi:g}", label, own.mean(key), own.standard_error(key))
            for key, label in columns.items()
        ]
    return found


def claims(records: Records) -> dict[str, bool]:
    turns = [records.where(what="prior", phi=phi).mean("sign_changes") for phi in PRIOR_PHI]
    wide, narrow = (records.where(what="posterior", phi=phi) for phi in PHI)
    return {
        "The larger phi, the more often draws from the prior change sign": bool(np.all(np.diff(turns) > 0.0)),
        "Ours: the band of two standard deviations holds at least 90 per cent of the true function": min(
            wide.mean("coverage"), narrow.mean("coverage")
        )
        >= 90.0,
        "Ours: the evidence prefers the wide kernel, phi = 1, for every draw of the data": bool(
            np.all(wide.values("log_evidence") > narrow.values("log_evidence"))
        ),
        "Ours: the wide kernel leaves a narrower band, and its mean is nearer to the true function": (
            wide.mean("width") < narrow.mean("width")
            and wide.mean("distance_from_truth") < narrow.mean("distance_from_truth")
        ),
    }


def draw(records: Records) -> dict[str, Any]:
    shown = records.where(seed=0)
    prior, axes = panels(len(PRIOR_PHI), size=(3.4, 3.0), sharey=True)
    for ax, phi in zip(axes, PRIOR_PHI, strict=True):
        for values, colour in zip(shown.where(what="prior", phi=phi)[0]["draws"], COLOURS, strict=False):
            ax.plot(np.linspace(*RANGE, N_POINTS), values, ".-", color=colour)
        ax.set_title(f"prior, φ = {phi:g}")
        ax.set_xlabel("x")
    axes[0].set_ylabel("f(x)")
    posterior, axes = panels(len(PHI), size=(4.6, 3.2), sharey=True)
    for ax, phi in zip(axes, PHI, strict=True):
        own = shown.where(what="posterior", phi=phi)[0]
        mean, sd = np.array(own["mean"]), np.array(own["sd"])
        ax.plot(own["x"], own["t"], ".", color=COLOURS[6], markersize=4, label="rows")
        ax.plot(LINE, TRUTH, "--", color="black", linewidth=1.0, label="sin(x) / x")
        ax.plot(LINE, mean, color=COLOURS[0], label="posterior mean")
        ax.fill_between(LINE, mean - 2.0 * sd, mean + 2.0 * sd, color=COLOURS[0], alpha=0.25, label="2 sd")
        ax.set_title(f"φ = {phi:g}, log evidence {own['log_evidence']:.1f}")
        ax.set_xlabel("x")
    axes[0].set_ylabel("f(x)")
    axes[0].legend(fontsize=7)
    return {"prior": prior, "posterior": posterior}


EXPERIMENT = Experiment(
    "g06-sinc",
    "Gaussian-process priors and regression on noisy sinc data",
    "Draws from the prior theta exp(-phi (x - x')^2) at 30 points on [-8, 8] with theta = 1 and phi = 0.1, 1 and 10; "
    "regression on 100 rows of sin(x) / x with noise of variance 0.1, theta = 1 and phi = 1 and 5, all as printed. "
    "The rows are uniform in [-8, 8], a range that the slides print for the prior alone. 500 draws of the data and "
    "three times as many of each prior (quick: 50) where the slides show one. The slides print no results in numbers.",
    tasks,
    run,
    compare,
    claims,
    draw,
)

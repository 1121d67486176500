"""G06 sinc: Gaussian-process priors and regression on noisy sinc data

Draws from the prior theta exp(-phi (x - x')^2) at 30 points on [-8, 8] with theta = 1 and phi = 0.1, 1 and 10;
regression on 100 rows of sin(x) / x with noise of variance 0.1, theta = 1 and phi = 1 and 5, all as printed. The rows
are uniform in [-8, 8], a range that the slides print for the prior alone. 500 draws of the data and three times as many
of each prior (quick: 50) where the slides show one. The slides print no results in numbers.
"""

import numpy as np

from ..kernels import RBF, Kernel
from .base import Claims, Figures, Quantities, Records, Rows, Size, Task
from .figures import COLOURS, panels
from .sinc_regression import RANGE, noisy_sinc, plot_data, plot_posterior, regress

#: phi of the draws from the prior and of the regressions, theta and the points of the draws: all printed.
PRIOR_PHI, PHI = (0.1, 1.0, 10.0), (1.0, 5.0)
THETA, N_POINTS = 1.0, 30


def kernel(phi: float) -> Kernel:
    """theta exp(-phi (x - x')^2)."""
    return THETA * RBF((2.0 * phi) ** -0.5)


def tasks(size: Size) -> list[Task]:
    return [{"seed": seed} for seed in range({"tiny": 5, "quick": 50, "full": 500}[size])]


def run(seed: int) -> Rows:
    shown = seed == 0  # the figure shows one draw
    rng = np.random.default_rng([seed, 1])
    inputs = np.linspace(*RANGE, N_POINTS)
    for phi in PRIOR_PHI:
        K = kernel(phi)(inputs[:, None])
        draws = rng.multivariate_normal(np.zeros(N_POINTS), K, size=3, method="eigh", check_valid="ignore")
        sign_changes = 100.0 * np.mean(np.diff(np.sign(draws), axis=1) != 0.0)
        yield {"what": "prior", "phi": phi, "sign_changes": sign_changes, **({"draws": draws} if shown else {})}
    x, t = noisy_sinc(seed)
    for phi in PHI:
        fit = regress(x, t, kernel(phi))
        row = {"what": "posterior", "phi": phi, **fit.scores(), "width": 4.0 * fit.sd.mean()}
        yield {**row, "x": x, "t": t, "mean": fit.mean, "sd": fit.sd} if shown else row


def compare(records: Records) -> Quantities:
    columns = {
        "coverage": "truth within 2 sd, %",
        "distance_from_truth": "rms distance from the truth",
        "width": "mean width of the band",
        "log_evidence": "log evidence",
    }
    for phi, draws in records.where(what="prior").by("phi").items():
        yield draws.quantity(f"prior, phi = {phi:g}", "sign changes, % of steps", "sign_changes")
    for phi, fits in records.where(what="posterior").by("phi").items():
        yield from (fits.quantity(f"posterior, phi = {phi:g}", label, key) for key, label in columns.items())


def claims(records: Records) -> Claims:
    sign_changes = [records.where(what="prior", phi=phi).mean("sign_changes") for phi in PRIOR_PHI]
    wide, narrow = (records.where(what="posterior", phi=phi) for phi in PHI)
    covered = min(wide.mean("coverage"), narrow.mean("coverage")) >= 90.0
    preferred = np.all(wide.values("log_evidence") > narrow.values("log_evidence"))
    nearer = all(wide.mean(key) < narrow.mean(key) for key in ("width", "distance_from_truth"))
    return {
        "The larger phi, the more often draws from the prior change sign": np.all(np.diff(sign_changes) > 0.0),
        "Ours: the band of two standard deviations holds at least 90 per cent of the true function": covered,
        "Ours: the evidence prefers the wide kernel, phi = 1, for every draw of the data": preferred,
        "Ours: the wide kernel leaves a narrower band, and its mean is nearer to the true function": nearer,
    }


def draw(records: Records) -> Figures:
    shown = records.where(seed=0)
    prior, axes = panels(len(PRIOR_PHI), size=(3.4, 3.0), sharey=True)
    for ax, phi in zip(axes, PRIOR_PHI, strict=True):
        for values, colour in zip(shown.where(what="prior", phi=phi)[0]["draws"], COLOURS, strict=False):
            ax.plot(np.linspace(*RANGE, N_POINTS), values, ".-", color=colour)
        ax.set(title=f"prior, φ = {phi:g}", xlabel="x")
    axes[0].set_ylabel("f(x)")
    posterior, axes = panels(len(PHI), size=(4.6, 3.2), sharey=True)
    for ax, phi in zip(axes, PHI, strict=True):
        row = shown.where(what="posterior", phi=phi)[0]
        plot_data(ax, row)
        plot_posterior(ax, row, "posterior mean")
        ax.set_title(f"φ = {phi:g}, log evidence {row['log_evidence']:.1f}")
    axes[0].set_ylabel("f(x)")
    axes[0].legend(fontsize=7)
    return {"prior": prior, "posterior": posterior}

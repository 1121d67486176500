"""CC05 figure 1: Over-fitting and smooth fitting of noisy sinc data

100 rows with noise of variance 0.1: the paper prints neither, these are those of G06. They are uniform in [-8, 8], our
choice, as neither paper prints a range for the regression. Kernel b + a exp(-v (x - x')^2 / 2) with b = 0.1 and a = 1,
exact inference with the true noise. Scale parameters v = 1 for the smooth fit and v = 100 for over-fitting, neither
printed; eleven from 0.01 to 1000 for the curve of distances. 100 draws of the data (quick: 20) where the paper shows
one. The paper prints no numbers.
"""

import numpy as np

from ..kernels import RBF, Constant
from .base import Claims, Figures, Quantity, Records, Rows, Size, Task
from .figures import COLOURS, panels
from .sinc_regression import LINE, noisy_sinc, plot_data, plot_posterior, regress, root_mean_square

#: b and a.
OFFSET, AMPLITUDE = 0.1, 1.0
#: Length-scales of 1 and of a tenth, where neighbours are 0.16 apart.
SMOOTH, ROUGH = 1.0, 100.0
NAMES = {SMOOTH: "smooth, v = 1", ROUGH: "over-fitting, v = 100"}
SCALES = (0.01, 0.03, 0.1, 0.3, SMOOTH, 3.0, 10.0, 30.0, ROUGH, 300.0, 1000.0)


def tasks(size: Size) -> list[Task]:
    return [{"seed": seed} for seed in range({"tiny": 3, "quick": 20, "full": 100}[size])]


def run(seed: int) -> Rows:
    x, t = noisy_sinc(seed)
    for v in SCALES:
        fit = regress(x, t, Constant(OFFSET) + AMPLITUDE * RBF(v**-0.5))
        yield {
            "v": v,
            "distance_from_rows": root_mean_square(fit.fitted - t),
            **fit.scores(),
            "largest_sd": fit.sd.max(),
            # The figure shows one draw of the data.
            **({"x": x, "t": t, "mean": fit.mean, "sd": fit.sd} if seed == 0 and v in NAMES else {}),
        }


def compare(records: Records) -> list[Quantity]:
    columns = {
        "distance_from_rows": "rms distance from the rows",
        "distance_from_truth": "rms distance from the truth",
        "log_evidence": "log evidence",
        "coverage": "truth within 2 sd, %",
    }
    cells = [(records.where(v=v), name) for v, name in NAMES.items()]
    return [runs.quantity(name, label, key) for runs, name in cells for key, label in columns.items()]


def claims(records: Records) -> Claims:
    smooth, rough = (records.where(v=v) for v in NAMES)

    def smaller(key: str, one: Records, other: Records) -> bool:
        """For every draw of the data."""
        return bool(np.all(one.values(key) < other.values(key)))

    return {
        "A large scale parameter over-fits: always nearer to the rows than the smooth fit, further from the truth": (
            smaller("distance_from_rows", rough, smooth) and smaller("distance_from_truth", smooth, rough)
        ),
        "Ours: the evidence always prefers the smooth fit": smaller("log_evidence", rough, smooth),
    }


def draw(records: Records) -> Figures:
    figure, axes = panels(3, size=(4.2, 3.4))
    smooth, rough = (records.where(v=v)[0] for v in NAMES)
    for ax in axes[:2]:
        plot_data(ax, smooth)
    for row, colour in ((smooth, COLOURS[0]), (rough, COLOURS[1])):
        axes[0].plot(LINE, row["mean"], color=colour, label=NAMES[row["v"]])
    plot_posterior(axes[1], smooth, "posterior mean, v = 1")
    for name, colour in (("rows", COLOURS[6]), ("truth", COLOURS[2])):
        means = [records.where(v=v).mean(f"distance_from_{name}") for v in SCALES]
        axes[2].semilogx(SCALES, means, "o-", color=colour, label=f"from the {name}")
    axes[2].set(xlabel="scale parameter v", ylabel="rms distance of the posterior mean")
    for ax in axes:
        ax.legend(fontsize=7)
    return {"fits": figure}

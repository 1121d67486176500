"""CC05 figure 1: over-fitting and smooth fitting of noisy sinc data, and the posterior of the regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kernels import RBF, Constant
from .base import Comparison, Experiment, Records, Size, Task
from .figures import COLOURS, panels
from .sinc_regression import LINE, TRUTH, noisy_sinc, regress, root_mean_square

#: Kernel b + a exp(-v (x - x')^2 / 2); amplitudes are not printed.
OFFSET, AMPLITUDE = 0.1, 1.0
#: Scale parameters v, not printed: length-scales of 1 and of a tenth, where neighbours are 0.16 apart.
SMOOTH, ROUGH = 1.0, 100.0
NAMES = {SMOOTH: "smooth, v = 1", ROUGH: "over-fitting, v = 100"}
SCALES = (0.01, 0.03, 0.1, 0.3, SMOOTH, 3.0, 10.0, 30.0, ROUGH, 300.0, 1000.0)


def tasks(size: Size) -> list[Task]:
    return [{"seed": seed} for seed in range({"tiny": 3, "quick": 20, "full": 100}[size])]


def run(seed: int) -> Iterator[dict[str, Any]]:
    x, t = noisy_sinc(seed)
    for v in SCALES:
        found = regress(x, t, Constant(OFFSET) + AMPLITUDE * RBF(v**-0.5))
        yield {
            "v": v,
            "distance_from_rows": root_mean_square(found.fitted - t),
            "distance_from_truth": found.distance_from_truth(),
            "log_evidence": found.log_evidence,
            "coverage": found.coverage(),
            "largest_sd": found.sd.max(),
            # One draw of the data is enough for a figure.
            **({"x": x, "t": t, "mean": found.mean, "sd": found.sd} if seed == 0 and v in NAMES else {}),
        }


def compare(records: Records) -> list[Comparison]:
    columns = {
        "distance_from_rows": "rms distance from the rows",
        "distance_from_truth": "rms distance from the truth",
        "log_evidence": "log evidence",
        "coverage": "truth within 2 sd, %",
    }
    return [
        Comparison(name, label, records.where(v=v).mean(key), records.where(v=v).standard_error(key))
        for v, name in NAMES.items()
        for key, label in columns.items()
    ]


def claims(records: Records) -> dict[str, bool]:
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


def draw(records: Records) -> dict[str, Any]:
    figure, axes = panels(3, size=(4.2, 3.4))
    shown = {v: records.where(v=v)[0] for v in NAMES}
    for ax in axes[:2]:
        ax.plot(shown[SMOOTH]["x"], shown[SMOOTH]["t"], ".", color=COLOURS[6], markersize=4, label="rows")
        ax.plot(LINE, TRUTH, "--", color="black", linewidth=1.0, label="sin(x) / x")
        ax.set_xlabel("x")
    for (v, own), colour in zip(shown.items(), COLOURS[:2], strict=True):
        axes[0].plot(LINE, own["mean"], color=colour, label=NAMES[v])
    mean, sd = np.array(shown[SMOOTH]["mean"]), np.array(shown[SMOOTH]["sd"])
    axes[1].plot(LINE, mean, color=COLOURS[0], label="posterior mean, v = 1")
    axes[1].fill_between(LINE, mean - 2.0 * sd, mean + 2.0 * sd, color=COLOURS[0], alpha=0.25, label="2 sd")
    for (key, label), colour in zip(
        {"distance_from_rows": "from the rows", "distance_from_truth": "from the truth"}.items(),
        (COLOURS[6], COLOURS[2]),
        strict=True,
    ):
        axes[2].semilogx(SCALES, [records.where(v=v).mean(key) for v in SCALES], "o-", color=colour, label=label)
    axes[2].set_xlabel("scale parameter v")
    axes[2].set_ylabel("rms distance of the posterior mean")
    for ax in axes:
        ax.legend(fontsize=7)
    return {"fits": figure}


EXPERIMENT = Experiment(
    "cc05-figure1",
    "Over-fitting and smooth fitting of noisy sinc data",
    "100 rows with noise of variance 0.1: the paper prints neither, these are those of G06. They are uniform in [-8, "
    "8], which is our choice, as neither paper prints a range for the regression. Kernel b + a exp(-v (x - x')^2 / 2) "
    "with b = 0.1 and a = 1, exact inference with the true noise. Scale parameters v = 1 for the smooth fit and v = "
    "100 for over-fitting, neither printed; eleven from 0.01 to 1000 for the curve of distances. 100 draws of the "
    "data (quick: 20) where the paper shows one. The paper prints no numbers.",
    tasks,
    run,
    compare,
    claims,
    draw,
)

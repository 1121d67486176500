"""LPJ05 figure 7: Rows of three sine waves kept by the multi-task informative vector machine

Three tasks of 30 rows: sine waves of frequency pi/5 with offsets drawn anew, which we read as phases, values without
noise. Inputs are bimodal (-8 or 8, standard deviation 0.5; the paper says only strongly bimodal), narrow (zero mean,
standard deviation 2) and wide (uniform from -15 to 15). Of all 90 rows 15 are kept under an RBF of length-scale 1 that
is not learned and a Gaussian noise of 0.1 (it is not printed), in units of the variance of the values, which are
standardised over all tasks together. The tasks share the budget, but each gets at least one row. The paper shows one
draw, here are 200 (40 in quick runs), seeds from 0 on, and the figure shows the first.
"""

import numpy as np

from ..estimators.multitask_ivm_regressor import MultiTaskIVMRegressor
from ..kernels import RBF
from .base import Claims, Figures, Quantity, Records, Rows, Size, Task
from .figures import COLOURS, panels

#: Rows of each task, and rows kept of all of them.
N_ROWS, N_ACTIVE = 30, 15
INPUTS = ("bimodal", "narrow", "wide")
#: All but six of the rows kept were of the wide task, in one draw.
PUBLISHED_WIDE = 9
FREQUENCY = np.pi / 5.0


def tasks(size: Size) -> list[Task]:
    return [{"seed": seed} for seed in range({"tiny": 10, "quick": 40, "full": 200}[size])]


def sines(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, values and tasks of the rows, and the offset of each task's wave."""
    inputs = (
        rng.choice([-8.0, 8.0], N_ROWS) + 0.5 * rng.standard_normal(N_ROWS),
        2.0 * rng.standard_normal(N_ROWS),
        rng.uniform(-15.0, 15.0, N_ROWS),
    )
    offsets = rng.uniform(0.0, 2.0 * np.pi, 3)
    x, task = np.concatenate(inputs), np.repeat([0, 1, 2], N_ROWS)
    return x, np.sin(FREQUENCY * x + offsets[task]), task, offsets


def run(seed: int) -> Rows:
    x, y, task, offsets = sines(np.random.default_rng(seed))
    model = MultiTaskIVMRegressor(RBF(1.0), n_active=N_ACTIVE, hyper="fixed").fit(x[:, None], y, task=task)
    counts = np.bincount(model.active_task_, minlength=3)
    shown = {"x": x, "y": y, "task": task, "active": model.active_, "offsets": offsets}
    yield {**dict(zip(INPUTS, counts, strict=True)), **shown}


def compare(records: Records) -> list[Quantity]:
    # One draw is published, so its error is the standard deviation of a draw.
    published = {"wide": (PUBLISHED_WIDE, records.sd("wide"))}
    return [records.quantity(name, "rows kept", name, *published.get(name, ())) for name in reversed(INPUTS)]


def claims(records: Records) -> Claims:
    wide = records.values("wide")
    others = np.maximum(records.values("bimodal"), records.values("narrow"))
    half, most = wide.mean() > N_ACTIVE / 2, np.mean(wide > others) >= 0.9
    return {
        "Of 15 rows kept for three tasks, more than half are of the one with the widest inputs, on average": half,
        "Ours: the task with the widest inputs has more rows than either other one in nine draws of ten": most,
    }


def draw(records: Records) -> Figures:
    figure, axes = panels(4, size=(3.1, 3.2))
    first = records[0]
    x, y, task = (np.array(first[name]) for name in ("x", "y", "task"))
    chosen = np.isin(np.arange(len(x)), first["active"])
    line = np.linspace(-16.0, 16.0, 400)
    for k, (ax, name) in enumerate(zip(axes, INPUTS, strict=False)):
        member = task == k
        ax.plot(line, np.sin(FREQUENCY * line + first["offsets"][k]), color="0.8", zorder=0, label="sine wave")
        ax.plot(x[member], y[member], ".", color=COLOURS[0], label="rows")
        kept = member & chosen
        ax.plot(x[kept], y[kept], "o", ms=9, mfc="none", mec=COLOURS[1], mew=1.6, label="rows kept")
        ax.set(title=f"{name} inputs: {kept.sum()} of {N_ACTIVE} kept", xlabel="input", ylim=(-1.25, 1.25))
        ax.title.set_fontsize("medium")
    axes[0].set_ylabel("value")
    kept = np.arange(N_ACTIVE + 1)
    for k, name in enumerate(INPUTS):
        share = np.bincount(records.values(name), minlength=N_ACTIVE + 1) / len(records)
        axes[3].bar(kept + 0.3 * (k - 1), 100.0 * share, 0.3, color=COLOURS[k + 2], label=name)
    axes[3].axvline(PUBLISHED_WIDE, color="k", ls="--", lw=1, label="wide, published")
    axes[3].set(xlabel="rows kept", ylabel="% of draws", xlim=(0, N_ACTIVE))
    axes[3].set_title(f"{len(records)} draws", fontsize="medium")
    handles, labels = axes[0].get_legend_handles_labels()
    more, names = axes[3].get_legend_handles_labels()
    figure.legend(handles + more, labels + names, loc="outside lower center", ncols=7)
    return {"tasks": figure}

"""CC05 figure 3: error of multi-class Gaussian processes over the kernel's scale parameter, against 5-NN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from .base import Comparison, Experiment, Records, Size, Task
from .figures import COLOURS, MARKERS, panels
from .nine_gaussians import make_draw, softmax_gp

#: With sites by mode and curvature of cavity times label, every site is the expansion of the log likelihood at the
#: posterior mean: EP's fixed point is then Laplace's own posterior, so Laplace's method gives it.
ENGINES = {"EP, quadrature": "ep", "EP, local Laplace": "laplace"}
#: Range of log v; not printed.
LOG_V = (-4.0, 6.0)
#: Not extreme: length-scales from the spread of the whitened rows down to about a third of it.
MODERATE = (0.0, 2.0)


def tasks(size: Size) -> list[Task]:
    n_seeds, n_scales, n_train, n_test = {
        "tiny": (1, 3, 250, 400),
        "quick": (2, 6, 500, 500),
        "full": (20, 11, 500, 500),
    }[size]
    return [{"seed": seed, "n_scales": n_scales, "n_train": n_train, "n_test": n_test} for seed in range(n_seeds)]


def run(seed: int, n_scales: int, n_train: int, n_test: int) -> Iterator[dict[str, Any]]:
    draw = make_draw(seed, n_train, n_test)

    def error(labels: np.ndarray) -> float:
        return 100.0 * float(np.mean(labels != draw.y_test))

    neighbours = KNeighborsClassifier(5).fit(draw.X, draw.y)
    yield {"method": "5-NN", "log_v": None, "error": error(neighbours.predict(draw.X_test))}
    best = draw.problem.best_labels(draw.whiten.inverse_transform(draw.X_test))
    yield {"method": "best possible", "log_v": None, "error": error(best)}
    for log_v in np.linspace(*LOG_V, n_scales).tolist():
        for method, inference in ENGINES.items():
            model = softmax_gp(np.exp(log_v), inference).fit(draw.X, draw.y)
            yield {"method": method, "log_v": log_v, "error": error(model.predict(draw.X_test))}


def is_moderate(log_v: float | None) -> bool:
    return log_v is not None and MODERATE[0] <= log_v <= MODERATE[1]


def moderate(records: Records, method: str) -> Records:
    return Records(row for row in records.where(method=method) if is_moderate(row["log_v"]))


def compare(records: Records) -> list[Comparison]:
    found = []
    for method in ("5-NN", "best possible"):
        own = records.where(method=method)
        found.append(Comparison(method, "error %", own.mean("error"), own.standard_error("error")))
    for method in ENGINES:
        for log_v in records.distinct("log_v")[1:]:
            own = records.where(method=method, log_v=log_v)
            found.append(
                Comparison(f"{method}, log v = {log_v:g}", "error %", own.mean("error"), own.standard_error("error"))
            )
    return found


def claims(records: Records) -> dict[str, bool]:
    neighbours = records.where(method="5-NN").mean("error")
    exact, local = ENGINES
    ends = [records.where(method=method, log_v=end) for method in ENGINES for end in LOG_V]
    return {
        "Where the scale parameter is not extreme both Gaussian processes err less than 5-NN": all(
            moderate(records, method).mean("error") < neighbours for method in ENGINES
        ),
        "Ours: with extreme scale parameters both Gaussian processes err more than 5-NN": all(
            own.mean("error") > neighbours for own in ends
        ),
        "Ours: local Laplace moments err within a percentage point of quadrature where the scale is not extreme": abs(
            moderate(records, exact).mean("error") - moderate(records, local).mean("error")
        )
        < 1.0,
    }


def draw(records: Records) -> dict[str, Any]:
    figure, ax = panels(size=(6.0, 3.8))
    scales = records.distinct("log_v")[1:]
    for method, marker, colour in zip(ENGINES, MARKERS, COLOURS, strict=False):
        own = [records.where(method=method, log_v=log_v) for log_v in scales]
        means, errors = [part.mean("error") for part in own], [part.standard_error("error") or 0.0 for part in own]
        ax.errorbar(scales, means, errors, marker=marker, color=colour, capsize=2, label=method)
    for method, style in (("5-NN", "dashed"), ("best possible", "dotted")):
        level = records.where(method=method).mean("error")
        ax.axhline(level, color="black", linestyle=style, label=method)
    ax.axvspan(*MODERATE, color=COLOURS[6], alpha=0.12, label="not extreme")
    ax.set_xlabel("log v")
    ax.set_ylabel("error %")
    ax.legend(fontsize=8)
    return {"errors": figure}


EXPERIMENT = Experiment(
    "cc05-figure3",
    "Multi-class Gaussian processes against 5-NN over the scale parameter",
    "Nine Gaussians of unit variance (it is not printed), means uniform in the square [0, 10]^2, as we read the "
    "paper, labels of three classes at random; 1000 rows, a half of them to learn from, whitened on these. 20 draws "
    "of everything (quick: 2), where the paper seems to have one. Softmax with a latent function for each class and "
    "the kernel b + a exp(-v |x - x'|^2 / 2) with a = b = 1 (not printed) and log v from -4 to 6 in steps of 1 "
    "(quick: of 2). EP with quadrature has a rule of 32 x 32 nodes laid around the tilted distribution where the "
    "paper has 7 a side around the cavity. EP with local Laplace moments has Laplace's posterior as its fixed point, "
    "and is computed as that. The sparse approximation of the authors' toolbox is not used. The paper prints a figure "
    "and no numbers.",
    tasks,
    run,
    compare,
    claims,
    draw,
)

"""G06: handwritten digits seen through four sets of features, combined by rules and by learned weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from .base import Comparison, Experiment, Records, Size, Task
from .data import load
from .data_integration import LEARNED, PRODUCT, SUM, apart, measured_apart, measured_together, side_by_side, together
from .figures import COLOURS, panels

#: Zernike moments, Karhunen-Loeve coefficients, means of pixels, Fourier coefficients; the slides show pictures only.
VIEWS = ("zer", "kar", "pix", "fou")


def tasks(size: Size) -> list[Task]:
    n_seeds = {"tiny": 1, "quick": 2, "full": 10}[size]
    n_digits, n_rows = (4, 40) if size == "tiny" else (10, 200)
    return [{"seed": seed, "n_digits": n_digits, "n_rows": n_rows} for seed in range(n_seeds)]


def run(seed: int, n_digits: int, n_rows: int) -> Iterator[dict[str, Any]]:
    stored = load("mfeat")
    kept = np.flatnonzero(stored["y"] < n_digits)
    X, views = side_by_side({name: stored[f"X_{name}"][kept] for name in VIEWS})
    y = stored["y"][kept].astype(int)
    few, rest = train_test_split(np.arange(len(y)), train_size=n_rows, stratify=y, random_state=seed)
    yield from measured_apart(apart(X[few], y[few], views), X[rest], y[rest])
    yield measured_together(together(X[few], y[few], views), X[rest], y[rest])


def gain(records: Records, method: str, key: str) -> np.ndarray:
    """What the learned combination has more of than a method, in each resampling."""
    return records.where(method=LEARNED).values(key) - records.where(method=method).values(key)


def compare(records: Records) -> list[Comparison]:
    found = []
    for method in records.distinct("method"):
        own = records.where(method=method)
        for key, label, better in (
            ("error", "error %", "lower"),
            ("log_probability", "log probability a row", "higher"),
        ):
            found.append(Comparison(method, label, own.mean(key), own.standard_error(key), better=better))  # type: ignore[arg-type]
            if method != LEARNED:
                more = Records({"more": value} for value in gain(records, method, key))
                found.append(
                    Comparison(method, f"{label}, {LEARNED} less this", more.mean("more"), more.standard_error("more"))
                )
    return found


def claims(records: Records) -> dict[str, bool]:
    def best(key: str, sign: float) -> str:
        return max(VIEWS, key=lambda name: sign * records.where(method=name).mean(key))

    return {
        "Ours: the learned combination makes fewer errors than the best view alone": bool(
            np.mean(gain(records, best("error", -1.0), "error")) < 0.0
        ),
        "Ours: the learned combination has a higher log probability than the best view alone": bool(
            np.mean(gain(records, best("log_probability", 1.0), "log_probability")) > 0.0
        ),
        **{
            f"The learned combination makes no more errors than the {rule}": bool(
                np.mean(gain(records, rule, "error")) <= 0.0
            )
            for rule in (SUM, PRODUCT)
        },
        **{
            f"The learned combination has a higher log probability than the {rule}": bool(
                np.mean(gain(records, rule, "log_probability")) > 0.0
            )
            for rule in (SUM, PRODUCT)
        },
    }


def draw(records: Records) -> dict[str, Any]:
    methods = records.distinct("method")
    figure, axes = panels(3, size=(4.2, 3.4))
    for ax, key, label in zip(
        axes, ("error", "log_probability"), ("test error %", "log probability a row"), strict=False
    ):
        values = [records.where(method=method).values(key) for method in methods]
        ax.boxplot(values, orientation="horizontal", tick_labels=methods, medianprops={"color": COLOURS[1]})
        ax.set_xlabel(label)
        ax.invert_yaxis()
        ax.grid(axis="x", alpha=0.3)
    joint = records.where(method=LEARNED)
    shares = joint.values("shares")
    axes[2].boxplot(
        shares, orientation="horizontal", tick_labels=joint[0]["views_in_order"], medianprops={"color": COLOURS[1]}
    )
    axes[2].set_xlabel("share in the learned combination")
    axes[2].invert_yaxis()
    axes[2].grid(axis="x", alpha=0.3)
    return {"views": figure}


EXPERIMENT = Experiment(
    "g06-digits",
    "Handwritten digits: four views alone, combined by rules, and with learned weights",
    "Multiple-features digits, four of their six sets of features as they come; 200 rows to learn from, evenly over "
    "the digits, and 1800 to test on; 10 resamplings (quick 2). Each view alone has an RBF with an amplitude and a "
    "length-scale of its own; the sum and the product rule combine these four. The joint model has in each view an "
    "RBF as wide as the median distance of its rows and learns the four weights by the evidence, where the slides "
    "average over draws. Expectation propagation throughout, where the slides have variational Bayes; all models are "
    "calibrated by leave-one-out. The slides show their results as pictures without numbers.",
    tasks,
    run,
    compare,
    claims,
    draw,
    data=("mfeat",),
)

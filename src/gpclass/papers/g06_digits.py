"""G06 digits: Handwritten digits: four views alone, combined by rules, and with learned weights

Multiple-features digits, four of their six sets of features as they come; 200 rows to learn from, evenly over the
digits, and 1800 to test on; 10 resamplings (quick 2). Each view alone has an RBF with an amplitude and a length-scale
of its own; the sum and the product rule combine these four. The joint model has in each view an RBF as wide as the
median distance of its rows and learns the four weights by the evidence, where the slides average over draws.
Expectation propagation throughout, where the slides have variational Bayes; all models are calibrated by leave-one-out.
The slides show their results as pictures without numbers.
"""

import numpy as np
from sklearn.model_selection import train_test_split

from .base import Better, Claims, Figures, Quantities, Records, Rows, Size, Task
from .data import load
from .data_integration import LEARNED, PRODUCT, SUM, joint_record, separate_records, side_by_side
from .figures import COLOURS, panels

COLUMNS: tuple[tuple[str, str, Better], ...] = (
    ("error", "error %", "lower"),
    ("log_probability", "log probability a row", "higher"),
)

DATA = ("mfeat",)
#: Zernike moments, Karhunen-Loeve coefficients, means of pixels, Fourier coefficients; the slides show pictures only.
VIEWS = ("zer", "kar", "pix", "fou")


def tasks(size: Size) -> list[Task]:
    n_seeds = {"tiny": 1, "quick": 2, "full": 10}[size]
    n_digits, n_rows = (4, 40) if size == "tiny" else (10, 200)
    return [{"seed": seed, "n_digits": n_digits, "n_rows": n_rows} for seed in range(n_seeds)]


def run(seed: int, n_digits: int, n_rows: int) -> Rows:
    stored = load("mfeat")
    kept = np.flatnonzero(stored["y"] < n_digits)
    X, views = side_by_side({name: stored[f"X_{name}"][kept] for name in VIEWS})
    y = stored["y"][kept].astype(int)
    train, test = train_test_split(np.arange(len(y)), train_size=n_rows, stratify=y, random_state=seed)
    data = (X[train], y[train], X[test], y[test])
    yield from separate_records(data, views)
    yield joint_record(data, views)


def gain(records: Records, method: str, key: str) -> Records:
    """Learned combination minus a method, in each resampling."""
    learned, other = (records.where(method=name).values(key) for name in (LEARNED, method))
    return Records({"gain": value} for value in learned - other)


def compare(records: Records) -> Quantities:
    for method, runs in records.by("method").items():
        for key, label, better in COLUMNS:
            yield runs.quantity(method, label, key, better=better)
            if method != LEARNED:
                yield gain(records, method, key).quantity(method, f"{label}, {LEARNED} less this", "gain")


def claims(records: Records) -> Claims:
    def best(key: str, sign: float) -> str:
        return max(VIEWS, key=lambda name: sign * records.where(method=name).mean(key))

    def gained(key: str, method: str) -> float:
        return gain(records, method, key).mean("gain")

    more, rules = "higher log probability than the", (SUM, PRODUCT)
    best_view = gained("log_probability", best("log_probability", 1.0))
    return {
        "Ours: the learned combination makes fewer errors than the best view alone": (
            gained("error", best("error", -1.0)) < 0.0
        ),
        f"Ours: the learned combination has a {more} best view alone": best_view > 0.0,
        **{f"The learned combination makes no more errors than the {r}": gained("error", r) <= 0.0 for r in rules},
        **{f"The learned combination has a {more} {r}": gained("log_probability", r) > 0.0 for r in rules},
    }


def draw(records: Records) -> Figures:
    methods, learned = records.by("method"), records.where(method=LEARNED)
    figure, axes = panels(3, size=(4.2, 3.4))
    panel_contents = (
        ([runs.values("error") for runs in methods.values()], list(methods), "test error %"),
        ([runs.values("log_probability") for runs in methods.values()], list(methods), "log probability a row"),
        (learned.values("shares"), learned[0]["views_in_order"], "share in the learned combination"),
    )
    for ax, (values, names, label) in zip(axes, panel_contents, strict=True):
        ax.boxplot(values, orientation="horizontal", tick_labels=names, medianprops={"color": COLOURS[1]})
        ax.set_xlabel(label)
        ax.invert_yaxis()
        ax.grid(axis="x", alpha=0.3)
    return {"views": figure}

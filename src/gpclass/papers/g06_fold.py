"""G06 fold: Folds of proteins from several sources: views alone, rules, and learned weights

The customary split without the four proteins that have no sequence, 311 and 383 rows where Ding & Dubchak have 313 and
385; 27 folds (quick: the 8 with most training rows). Six views of Ding & Dubchak and one of 20 standard normal columns,
a number that is ours; then six more views, of which alignment scores are taken in logarithms. Columns standardised on
the training rows. Views alone have an RBF with an amplitude and a length-scale of its own; the sum and the product rule
combine them. The joint model has in each view an RBF as wide as the median distance of its rows and learns the weights
by the evidence, where the slides have Gram matrices of RBFs and of inner products, a Dirichlet prior on the weights,
and an average over draws. Expectation propagation throughout: with 27 classes variational Bayes learns too small an
amplitude. All models are calibrated by leave-one-out. Of the published numbers none is of a Gaussian process: 43.5 %
are votes of support vector machines, beside our sum rule, 56.5 % combinations chosen by hand, beside our six views, and
62 % another study, beside our twelve. Their test rows are ours but for two, so the binomial error enters once.
"""

import numpy as np
from sklearn.preprocessing import StandardScaler

from .base import Claims, Figures, Quantities, Quantity, Records, Rows, Size, Task, counted
from .data import Split, load
from .data_integration import LEARNED, PRODUCT, SUM, Views, joint_record, separate_records, side_by_side
from .figures import COLOURS, panels

DATA = ("protein_fold",)
#: Correct test rows in per cent: votes of support vector machines (Ding & Dubchak), the best combination of views by
#: hand, and the best of July 2006.
VOTES, BY_HAND, BEST_2006 = 43.5, 56.5, 62.0
#: Composition, secondary structure, hydrophobicity, polarity, polarizability, volume (Ding & Dubchak).
SIX = ("C", "S", "H", "P", "Z", "V")
#: Pseudo-amino-acid compositions, and alignment scores against the training proteins.
TWELVE = (*SIX, "L1", "L4", "L14", "L30", "SWblosum62", "SWpam50")
SETS = {"six": SIX, "twelve": TWELVE}
NOISE, N_NOISE = "noise", 20
N_FOLDS = 27


def tasks(size: Size) -> list[Task]:
    n_folds = {"tiny": 3, "quick": 8, "full": N_FOLDS}[size]
    sets = ("six",) if size == "tiny" else tuple(SETS)
    return [{"views": views, "part": part, "n_folds": n_folds} for views in sets for part in ("together", "apart")]


def proteins(names: tuple[str, ...], n_folds: int) -> tuple[Split, Views]:
    """X, y, X_test, y_test of the largest folds, standardised, and the columns of each view, noise among them."""
    stored = load("protein_fold")
    folds, counts = np.unique(stored["y_train"], return_counts=True)
    largest = folds[np.argsort(-counts, kind="stable")[:n_folds]]
    rng = np.random.default_rng(0)
    halves, labels = [], []
    for half in ("train", "test"):
        y = stored[f"y_{half}"]
        noise = rng.standard_normal((len(y), N_NOISE))
        kept = np.isin(y, largest)
        parts = {name: stored[f"X_{name}_{half}"][kept] for name in names}
        # Scores of alignments are above 0 and have a long tail.
        parts |= {name: np.log(part) for name, part in parts.items() if name.startswith("SW")}
        X, views = side_by_side({**parts, NOISE: noise[kept]})
        halves.append(X)
        labels.append(y[kept])
    scaler = StandardScaler().fit(halves[0])
    return (scaler.transform(halves[0]), labels[0], scaler.transform(halves[1]), labels[1]), views


def run(views: str, part: str, n_folds: int) -> Rows:
    data, columns = proteins(SETS[views], n_folds)
    if part == "together":
        yield joint_record(data, columns)
    else:
        yield from separate_records(data, columns)


def compare(records: Records) -> Quantities:
    published = {("six", SUM): VOTES, ("six", LEARNED): BY_HAND, ("twelve", LEARNED): BEST_2006}
    for record in records:
        correct, row = 100.0 - record["error"], f"{record['views']} views and noise, {record['method']}"
        theirs = published.get((record["views"], record["method"])) if record["n_folds"] == N_FOLDS else None
        yield counted(row, "correct %", correct, record["n_test"], theirs, better="higher")
        yield Quantity(row, "log probability a row", record["log_probability"], better="higher")
        if "shares" in record:
            noise = record["shares"][record["views_in_order"].index(NOISE)]
            yield Quantity(row, "share of noise %", 100.0 * noise)


def claims(records: Records) -> Claims:
    found: Claims = {}
    for joint in records.where(method=LEARNED):
        views, error, log_p = joint["views"], joint["error"], joint["log_probability"]
        others = records.where(views=views, part="apart")
        rules = Records(row for row in others if row["method"] in (SUM, PRODUCT))
        single = Records(row for row in others if row["method"] not in (SUM, PRODUCT))
        # The slides describe the rules in words, single views and noise in pictures, and twelve views not at all.
        the = "The" if views == "six" else "Ours: the"
        combination = f"learned combination of {views} views"
        more, least = "has a higher log probability than", joint["views_in_order"][int(np.argmin(joint["shares"]))]
        best_single, best_rule = (part.values("log_probability").max() for part in (single, rules))
        fewest = rules.values("error").min()
        found |= {
            f"Ours: noise gets the smallest weight beside {views} views": least == NOISE,
            f"Ours: the {combination} is right more often than every single one": error < single.values("error").min(),
            f"Ours: the {combination} {more} every single one": log_p > best_single,
            f"{the} {combination} makes no more errors than the sum and the product rule": error <= fewest,
            f"{the} {combination} {more} the sum and the product rule": log_p > best_rule,
        }
    return found


def draw(records: Records) -> Figures:
    sets = records.distinct("views")
    figure, axes = panels(2, len(sets), size=(5.0, 4.2), squeeze=False)
    for line, views in zip(axes, sets, strict=True):
        rows = Records([*records.where(views=views, part="apart"), *records.where(views=views, part="together")])
        colours = [COLOURS[0] if row["method"] in SETS[views] else COLOURS[6] for row in rows[:-1]] + [COLOURS[1]]
        line[0].barh(rows.values("method"), 100.0 - rows.values("error"), color=colours)
        line[0].set(xlabel=f"correct test rows %, {views} views and noise")
        if rows[0]["n_folds"] == N_FOLDS:
            for theirs, style in ((VOTES, ":"), (BY_HAND, "--"), (BEST_2006, "-")):
                line[0].axvline(theirs, color="black", linewidth=0.9, linestyle=style, label=f"published {theirs}")
            line[0].legend(fontsize=8, loc="lower left")
        line[1].plot(rows[-1]["shares"], rows[-1]["views_in_order"], "o", color=COLOURS[1])
        line[1].set(xlabel="share in the learned combination", xscale="log")
        line[1].grid(axis="x", alpha=0.3)
        for ax in line:
            ax.invert_yaxis()
    return {"folds": figure}

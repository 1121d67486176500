"""GR06 figure 6: The multi-class informative vector machine on Isolet

The customary split, 6238 and 1559 rows, 617 inputs standardised on the training rows. One RBF with inverse length-scale
0.001, unit amplitude and unit noise for all 26 classes. 2000 rows come in one at a time, every row being scored each
time by the probability of its label, or at random; log likelihood and error of the test rows after every 50. Three
random first rows, where the paper seems to have one. The test rows are those of the paper, so the binomial error enters
once. Quick runs stop at 600 rows.
"""

import time

import numpy as np

from ..inference.active.active_set import ActiveSet
from ..inference.active.selection import Selector
from ..kernels import RBF
from ..likelihoods import MultinomialProbit
from .base import Claims, Figures, Quantities, Records, Rows, Size, Task, by_size, counted
from .data import Split, halves
from .figures import COLOURS, MARKERS, panels

DATA = ("isolet",)
#: Section 6.4: test error in per cent with 2000 active rows.
PUBLISHED, PUBLISHED_ROWS = 3.52, 2000
#: exp(-0.001 |x - x'|^2).
KERNEL = RBF((2.0 * 0.001) ** -0.5)
CRITERIA = {"probability": "informative", "random": "random"}
LIKELIHOOD = MultinomialProbit()


def tasks(size: Size) -> list[Task]:
    sizes = by_size(size, n_letters=(6, 26, 26), n_active=(150, 600, PUBLISHED_ROWS), every=(50, 50, 50))
    seeds = range(3 if size == "full" else 1)
    return [{"criterion": criterion, "seed": seed, **sizes} for seed in seeds for criterion in CRITERIA]


def letters(n_letters: int) -> Split:
    """X, y, X_test, y_test of the first letters of the alphabet, standardised."""
    X, y, X_test, y_test = halves("isolet")
    known = np.unique(y)[:n_letters]
    train, test = np.isin(y, known), np.isin(y_test, known)
    X, X_test = X[train], X_test[test]
    centre, scale = X.mean(axis=0), X.std(axis=0)
    labels, test_labels = np.searchsorted(known, y[train]), np.searchsorted(known, y_test[test])
    return (X - centre) / scale, labels, (X_test - centre) / scale, test_labels


def run(criterion: str, seed: int, n_letters: int, n_active: int, every: int) -> Rows:
    X, y, X_test, y_test = letters(n_letters)
    rng = np.random.default_rng(seed)
    active = ActiveSet(KERNEL, X, n_letters, n_active, shared=True)
    seconds = 0.0
    for size in range(every, n_active + 1, every):
        start = time.perf_counter()
        Selector(criterion, "vb").grow(active, y, LIKELIHOOD, size, rng)
        seconds += time.perf_counter() - start
        mean, variance = active.posterior().latent(X_test)
        yield {
            "n_included": size,
            "n_test": len(y_test),
            # All classes have the same variance, so the largest mean is the most probable.
            "error": 100.0 * float(np.mean(mean.argmax(axis=1) != y_test)),
            "log_likelihood": float(LIKELIHOOD.tilted(y_test, mean, variance)[0].sum()),
            "seconds": seconds,
        }


def compare(records: Records) -> Quantities:
    largest = max(records.distinct("n_included"))
    for criterion, name in CRITERIA.items():
        runs, row = records.where(criterion=criterion, n_included=largest), f"{name}, {largest} active rows"
        published = PUBLISHED if criterion == "probability" and largest == PUBLISHED_ROWS else None
        yield counted(row, "error %", runs.mean("error"), runs[0]["n_test"], published, better="lower")
        yield runs.quantity(row, "log likelihood", "log_likelihood", better="higher")
        yield runs.quantity(row, "seconds to choose", "seconds")


def claims(records: Records) -> Claims:
    last = records.where(n_included=max(records.distinct("n_included")))
    informative, at_random = (last.where(criterion=criterion) for criterion in CRITERIA)
    fewer = informative.mean("error") < at_random.mean("error")
    higher = informative.mean("log_likelihood") > at_random.mean("log_likelihood")
    return {
        "With the last row included informative rows make fewer errors than random ones": fewer,
        "With the last row included informative rows give a higher predictive likelihood than random ones": higher,
    }


def draw(records: Records) -> Figures:
    figure, axes = panels(2, size=(4.8, 3.6))
    sizes = records.distinct("n_included")
    for (criterion, name), colour, marker in zip(CRITERIA.items(), COLOURS, MARKERS, strict=False):
        cells = [records.where(criterion=criterion, n_included=size) for size in sizes]
        line = {"color": colour, "marker": marker, "markersize": 4, "label": name}
        axes[0].plot(sizes, [part.mean("log_likelihood") for part in cells], **line)
        axes[1].plot(sizes, [100.0 - part.mean("error") for part in cells], **line)
    axes[1].axhline(100.0 - PUBLISHED, color="black", linewidth=0.8, linestyle="--", label="published, 2000 rows")
    for ax, label in zip(axes, ("log likelihood of the test rows", "correct test rows %"), strict=True):
        ax.set(xlabel="active rows", ylabel=label)
        ax.legend(loc="lower right")
    return {"inclusions": figure}

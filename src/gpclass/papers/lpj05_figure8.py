"""LPJ05 figure 8: One phoneme of a new speaker: error against time to learn the kernel from other speakers

Deterding's vowels: 15 speakers say 11 phonemes six times. One model for each phoneme against the others. Each speaker
is left out in turn; from the other 14 (924 rows) a kernel is learned (RBF and linear, each with a relevance for every
input, constant and white noise; the paper shares the relevances and counts 15 parameters) by eight rounds of algorithm
2 with 30 steps of the optimiser each, from 28, 112, 224 and 448 active rows, chosen across speakers, at random, or with
all rows pooled. Then a Gaussian process with that kernel learns from one example of each phoneme of the new speaker, by
variational Bayes with calibration where the paper has assumed density filtering, and is tested on the other 55 rows.
Inputs standardised over all rows, as no label is needed for it. The error is a mean over phonemes and speakers, the
time that of one processor core for learning the kernel, the final selection and refinement included. The paper prints
no numbers but an error of about 10 %, and that the multi-task machine comes to it ten times sooner than the pooled one.
That level is reached here with the fewest rows already, and always predicting 'no' has an error of 9.1 %, so neither
number is compared: seconds are set side by side at equal numbers of rows. Quick runs: three speakers, the first six
phonemes, 28 to 224 rows.
"""

import time
from itertools import product
from typing import Any

import numpy as np

from ..estimators.gp_classifier import GPClassifier
from ..estimators.ivm_classifier import IVMClassifier
from ..estimators.multitask_ivm_classifier import MultiTaskIVMClassifier
from ..hyper import Alternating
from ..kernels import RBF, Constant, Linear, White
from .base import Claims, Figures, Quantities, Quantity, Records, Rows, Size, Task
from .data import load
from .figures import COLOURS, MARKERS, panels

DATA = ("vowel",)
METHODS = ("multi-task IVM", "rows at random", "pooled IVM")
#: Approximate final error of the published curves, in per cent.
PUBLISHED_ERROR = 10.0
#: Error of always predicting that it is not this one of eleven phonemes.
BASELINE = 100.0 / 11.0


def tasks(size: Size) -> list[Task]:
    n_phonemes, n_speakers, n_rounds = {"tiny": (2, 2, 2), "quick": (6, 3, 8), "full": (11, 15, 8)}[size]
    n_active = {"tiny": (28, 224), "quick": (28, 112, 224), "full": (28, 112, 224, 448)}[size]
    sizes = {"n_speakers": n_speakers, "n_rounds": n_rounds}
    return [{"phoneme": phoneme, "n_active": d, **sizes} for d in n_active for phoneme in range(n_phonemes)]


def speech() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Standardised features, phonemes, speakers and repetitions of all rows."""
    arrays = load("vowel")
    names = ("X", "y", "speaker", "repetition")
    X, y, speaker, repetition = (np.concatenate([arrays[f"{n}_train"], arrays[f"{n}_test"]]) for n in names)
    return (X - X.mean(axis=0)) / X.std(axis=0), y, speaker, repetition


def fit_others(
    method: str, n_active: int, n_rounds: int, X: np.ndarray, y: np.ndarray, speaker: np.ndarray
) -> IVMClassifier | MultiTaskIVMClassifier:
    """A model whose kernel is learned from ``n_active`` rows of the other speakers, selected by this method."""
    learner = Alternating(n_rounds=n_rounds, max_iter=30)
    settings: dict[str, Any] = {"n_active": n_active, "hyper": learner, "calibration": None}
    kernel = RBF(2.0, ard=True) * 1.0 + Linear(0.1, ard=True) + Constant(0.1) + White(0.1)
    if method == "pooled IVM":
        return IVMClassifier(kernel, **settings).fit(X, y)
    criterion = "entropy" if method == "multi-task IVM" else "random"
    return MultiTaskIVMClassifier(kernel, criterion=criterion, **settings).fit(X, y, task=speaker)


def run(phoneme: int, n_active: int, n_speakers: int, n_rounds: int) -> Rows:
    X, y, speaker, repetition = speech()
    label = (y == phoneme).astype(int)
    for method in METHODS:  # load compiled code before the clock starts
        fit_others(method, 15, 1, X, label, speaker)
    for new in range(n_speakers):
        others = speaker != new
        example, rest = ~others & (repetition == 0), ~others & (repetition > 0)
        for method in METHODS:
            start = time.process_time()
            model = fit_others(method, n_active, n_rounds, X[others], label[others], speaker[others])
            seconds = time.process_time() - start
            # A model of the examples alone, with the learned kernel and the learned scale of the inputs.
            scaled = (X - model.input_mean_) / model.input_scale_
            adapted = GPClassifier(model.kernel_, hyper="fixed").fit(scaled[example], label[example])
            error = 100.0 * np.mean(adapted.predict(scaled[rest]) != label[rest])
            yield {"speaker": new, "method": method, "error": error, "seconds": seconds}


def curve(records: Records, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean seconds and mean errors of a method, by the number of active rows."""
    sizes = [records.where(method=method, n_active=d) for d in records.distinct("n_active")]
    return np.array([cell.mean("seconds") for cell in sizes]), np.array([cell.mean("error") for cell in sizes])


def compare(records: Records) -> Quantities:
    for d, method in product(records.distinct("n_active"), METHODS):
        cell, row = records.where(method=method, n_active=d), f"{method}, {d} rows"
        yield cell.quantity(row, "error %", "error", better="lower")
        yield cell.quantity(row, "seconds", "seconds")
    pooled, multi_task = (curve(records, method)[0] for method in ("pooled IVM", "multi-task IVM"))
    for d, ratio in zip(records.distinct("n_active"), pooled / multi_task, strict=True):
        yield Quantity(f"pooled over multi-task, {d} rows", "ratio of seconds", float(ratio))


def claims(records: Records) -> Claims:
    def seconds(method: str, d: int) -> float:
        return records.where(method=method, n_active=d).mean("seconds")

    multi_task, at_random = (records.where(method=method).mean("error") for method in METHODS[:2])
    better = multi_task < at_random
    return {
        "Ours: for a new speaker informative rows of the others teach a better kernel than as many at random": better,
        "With 224 active rows or more speakers as tasks take less time to learn from than their rows pooled": all(
            seconds("multi-task IVM", d) < seconds("pooled IVM", d) for d in records.distinct("n_active") if d >= 224
        ),
        "Ours: with the kernel of others, one example of each phoneme beats refusing every row": multi_task < BASELINE,
    }


def draw(records: Records) -> Figures:
    figure, ax = panels(size=(6.4, 4.2))
    for i, method in enumerate(METHODS):
        seconds, errors = curve(records, method)
        ax.plot(seconds, errors, color=COLOURS[i], marker=MARKERS[i], label=method)
        for x, y, d in zip(seconds, errors, records.distinct("n_active"), strict=True):
            ax.annotate(str(d), (x, y), xytext=(4, 5), textcoords="offset points", fontsize="small", color=COLOURS[i])
    ax.axhline(BASELINE, color="0.5", ls="--", lw=1, label="saying 'not this one' every time")
    ax.axhline(PUBLISHED_ERROR, color="0.5", ls=":", lw=1, label="where the published curves end, about")
    ax.set(xlabel="seconds to learn the kernel", ylabel="error % of one phoneme, new speaker")
    ax.set(xscale="log", ylim=(0, None))
    low, high = ax.get_xlim()
    ticks = [tick for tick in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10) if low < tick < high]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    ax.set_title("numbers: active rows", fontsize="medium")
    ax.legend(fontsize="small")
    return {"time-and-error": figure}

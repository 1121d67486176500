"""Vowels of a new speaker from one example of each, all eleven at once, kernel by the sum of the tasks' evidences.

LPJ05's own experiments are ``gpclass reproduce lpj05-figure7`` and ``lpj05-figure8``.
"""

import time
import warnings

import numpy as np

from gpclass import GPClassifier, IVMClassifier, MultiTaskIVMClassifier
from gpclass.papers.data import load


def vowel_data():
    z = load("vowel")
    both = {
        name: np.concatenate([z[f"{name}_train"], z[f"{name}_test"]]) for name in ("X", "y", "speaker", "repetition")
    }
    X = both["X"].astype(float)
    return (X - X.mean(axis=0)) / X.std(axis=0), both["y"].astype(int), both["speaker"], both["repetition"]


def new_speaker(fit, y, speakers):
    """Mean error on a new speaker, with one example of each phoneme, and seconds to learn the kernel."""
    X, _, speaker, repetition = vowel_data()
    errors, seconds = [], []
    for s in speakers:
        others, example, rest = speaker != s, (speaker == s) & (repetition == 0), (speaker == s) & (repetition > 0)
        started = time.perf_counter()
        model = fit(X[others], y[others], speaker[others])
        seconds.append(time.perf_counter() - started)
        # A model of the examples alone, with the kernel and the scale of the inputs that were learned.
        scaled = (X - model.input_mean_) / model.input_scale_
        adapted = GPClassifier(model.kernel_, hyper="fixed").fit(scaled[example], y[example])
        errors.append(np.mean(adapted.predict(scaled[rest]) != y[rest]))
    return np.mean(errors), np.std(errors, ddof=1) / np.sqrt(len(errors)), np.mean(seconds)


def vowels(speakers=range(0, 15, 2)):
    _, y, _, _ = vowel_data()
    for name, fit in (
        ("multi-task", lambda X, y, t: MultiTaskIVMClassifier(n_active=300).fit(X, y, task=t)),
        ("pooled", lambda X, y, t: IVMClassifier(n_active=300).fit(X, y)),
    ):
        error, sem, seconds = new_speaker(fit, y, speakers)
        print(f"vowels, 11 at once: {name:12s} {100 * error:6.2f} +- {100 * sem:.2f} % {seconds:7.2f} s", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    vowels()

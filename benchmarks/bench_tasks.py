"""Learning to learn (LPJ05 section 5): three sine tasks, and vowels of a new speaker from one example of each.

python benchmarks/bench_tasks.py [sines] [phonemes] [vowels]

sines     figure 7: how the 15 active rows are shared out over tasks that see different inputs, 20 draws
phonemes  figure 8, as published: one binary problem for each phoneme, 14 speakers as tasks, kernel by algorithm 2;
          error against seconds is drawn into figure8.png
vowels    all eleven vowels at once, kernel by the sum of the tasks' evidences
"""

import sys
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from gpclass import GPClassifier, IVMClassifier, MultiTaskIVM
from gpclass.hyper import Alternating
from gpclass.kernels import RBF, Constant, Linear, White

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def sine_tasks(seed):
    """Figure 7: bimodal inputs, a narrow Gaussian, and uniform ones; sine waves with different offsets."""
    rng = np.random.default_rng(seed)
    inputs = [
        rng.choice([-8.0, 8.0], 30) + 0.5 * rng.standard_normal(30),
        2.0 * rng.standard_normal(30),
        rng.uniform(-15.0, 15.0, 30),
    ]
    X, task = np.concatenate(inputs)[:, None], np.repeat([0, 1, 2], 30)
    y = np.sin(np.pi / 5.0 * X[:, 0] + rng.uniform(0.0, 2.0 * np.pi, 3)[task])
    return X, y, task


def sines():
    counts = []
    for seed in range(20):
        X, y, task = sine_tasks(seed)
        model = MultiTaskIVM(RBF(1.0), n_active=15, hyper="fixed").fit(X, y, task=task)
        counts.append(np.bincount(model.active_task_, minlength=3))
    print("sines: rows of 15 for the bimodal, narrow and wide task, mean of 20 draws:", np.mean(counts, axis=0))
    print("       draws in which the wide task has the majority:", int(np.sum(np.array(counts)[:, 2] > 7)))


def vowel_data():
    z = np.load(DATA / "vowel.npz")
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


def phoneme_kernel():
    return RBF(2.0, ard=True) * 1.0 + Linear(0.1, ard=True) + Constant(0.1) + White(0.1)


def one_phoneme(name, d, k, speakers):
    """Mean error, its standard error and seconds to learn of one way to choose d rows, for phoneme k."""
    warnings.simplefilter("ignore")
    learner = Alternating(n_rounds=8, max_iter=30)

    def fit(X, y, task):
        if name == "pooled IVM":
            return IVMClassifier(phoneme_kernel(), n_active=d, hyper=learner, calibration=None).fit(X, y)
        criterion = "entropy" if name == "multi-task IVM" else "random"
        model = MultiTaskIVM(phoneme_kernel(), n_active=d, hyper=learner, criterion=criterion, calibration=None)
        return model.fit(X, y, task=task)

    with threadpool_limits(1):  # two phonemes at a time, each on one core
        return new_speaker(fit, (vowel_data()[1] == k).astype(int), speakers)


def phonemes(speakers=range(15), sizes=(28, 112, 224, 448)):
    names = ("multi-task IVM", "rows at random", "pooled IVM")
    print("phonemes: error %, seconds to learn, mean over 11 phonemes and", len(speakers), "speakers left out in turn")
    curves = {name: [] for name in names}
    parallel = Parallel(n_jobs=2)
    parallel(delayed(one_phoneme)(name, 28, 0, [0, 1]) for name in names for _ in range(2))  # compile first
    for d in sizes:
        for name in names:
            own = np.array(parallel(delayed(one_phoneme)(name, d, k, speakers) for k in range(11)))
            error, seconds = own[:, 0].mean(), own[:, 2].mean()
            curves[name].append((seconds, 100 * error))
            print(f"  d = {d:4d}  {name:15s} {100 * error:6.2f} {seconds:8.3f}", flush=True)
    figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for name, curve in curves.items():
        ax.plot(*np.array(curve).T, marker="o", label=name)
    ax.set(xscale="log", xlabel="seconds to learn", ylabel="error % of one phoneme, new speaker")
    ax.set_xticks([0.2, 0.5, 1, 2, 5], labels=["0.2", "0.5", "1", "2", "5"])
    ax.minorticks_off()
    ax.set_title(f"d = {', '.join(map(str, sizes))} active rows", fontsize="medium")
    ax.legend()
    figure.savefig("figure8.png", dpi=130)


def vowels(speakers=range(0, 15, 2)):
    _, y, _, _ = vowel_data()
    for name, fit in (
        ("multi-task", lambda X, y, t: MultiTaskIVM(n_active=300).fit(X, y, task=t)),
        ("pooled", lambda X, y, t: IVMClassifier(n_active=300).fit(X, y)),
    ):
        error, sem, seconds = new_speaker(fit, y, speakers)
        print(f"vowels, 11 at once: {name:12s} {100 * error:6.2f} +- {100 * sem:.2f} % {seconds:7.2f} s", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or ["sines", "phonemes", "vowels"]:
        {"sines": sines, "phonemes": phonemes, "vowels": vowels}[name]()

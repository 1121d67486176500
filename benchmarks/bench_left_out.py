"""Leave-one-out predictions against refits without each row, for several classes.

python benchmarks/bench_left_out.py [SET ...] [--rows 200] [--refits 100] [--jobs 1]

Tables of several classes, the kernel that ``GPClassifier`` learns (nothing calibrated), at the learned amplitude and at
1, 10, 100 and 1000. Mean log loss over some rows: by the leave-one-out predictions of the fit, without solving the rows
around each again ("linear"), and by refits; and the seconds that the fit takes with and without.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from bench_tables import load, numbers
from joblib import Parallel, delayed
from sklearn.preprocessing import FunctionTransformer, LabelEncoder

from gpclass import GPClassifier
from gpclass.inference import EP, VB, DensePrior
from gpclass.inference.dense import left_out
from gpclass.likelihoods import MultinomialProbit

SETS = ("led7", "balance", "cleveland", "fgl", "zoo", "dermatology", "car")


def measure(name: str, n_rows: int, n_refits: int, engine: Any) -> list[str]:
    warnings.simplefilter("ignore")
    X, y = load(name)
    chosen = np.random.default_rng(0).permutation(len(y))[:n_rows]
    X = numbers(FunctionTransformer()).fit_transform(X.iloc[chosen])
    y = LabelEncoder().fit_transform(y[chosen])
    C, rows, likelihood = int(y.max()) + 1, np.arange(len(y)), MultinomialProbit()
    model = GPClassifier(inference=engine, standardize=False, random_state=0).fit(X, y)
    learned = float(model.kernel_.diag(X[:1])[0])
    some = np.random.default_rng(1).permutation(len(y))[:n_refits]
    lines, most = [], left_out._MOST_NUMBERS
    for amplitude in (learned, 1.0, 10.0, 100.0, 1000.0):
        kernel = amplitude / learned * model.kernel_
        prior, losses, seconds = DensePrior.at(kernel, X, C), [], []
        for limit in (most, 0.0):
            left_out._MOST_NUMBERS = limit
            start = time.perf_counter()
            fit = engine(prior, y, likelihood).settled()
            seconds.append(time.perf_counter() - start)
            losses.append(-likelihood.predict_log(*fit.loo)[rows, y][some].mean())
        left_out._MOST_NUMBERS = most
        refits = []
        for row in some:
            rest = rows != row
            again = engine(DensePrior.at(kernel, X[rest], C), y[rest], likelihood, gradient=True)
            refits.append(likelihood.predict_log(*again.posterior.latent(X[row : row + 1]))[0, y[row]])
        truth = -np.mean(refits)
        label = f"learned, {amplitude:.3g}" if amplitude == learned else f"{amplitude:g}"
        lines.append(
            f"| {name} | {type(engine).__name__} | {label} | {truth:.4f} | {losses[0] - truth:+.4f} | "
            f"{losses[1] - truth:+.4f} | {seconds[0]:.2f} | {seconds[1]:.2f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--refits", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    print("| data | engine | amplitude | refits | leave-one-out minus refits | linear minus refits | s | linear s |")
    print("|" + " --- |" * 8)
    jobs = [(name, asked.rows, asked.refits, engine) for name in asked.sets for engine in (VB(), EP())]
    for lines in Parallel(n_jobs=asked.jobs, return_as="generator_unordered")(delayed(measure)(*job) for job in jobs):
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()

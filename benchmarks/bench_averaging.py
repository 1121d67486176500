"""Does averaging over theta predict better than the best theta? Mean log probability of test labels, ten 60/40 splits.

python benchmarks/bench_averaging.py [ENGINE [importance] [nuts]]
"""

import sys
import time
import warnings

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import train_test_split

from gpclass import GPClassifier
from gpclass.hyper import NUTS, Evidence, Importance
from gpclass.hyper.priors import Normal
from gpclass.kernels import Matern
from gpclass.papers.data import load

SAMPLERS = {
    "importance": Importance(prior=Normal(), n_draws=300),
    "nuts": NUTS(n_tune=100, n_draws=100, n_chains=2),
}


def data_sets():
    yield "iris", *load_iris(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    for name in ("new_thyroid", "fgl"):
        stored = load(name)
        yield name, stored["X"].astype(float), stored["y"]


def score(kernel, hyper, engine, X, X_test, y, y_test):
    start = time.perf_counter()
    model = GPClassifier(kernel, hyper=hyper, inference=engine, standardize=True, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    log_proba = model.predict_log_proba(X_test)
    return np.mean(log_proba[np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)]), seconds


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    engine = sys.argv[1] if len(sys.argv) > 1 else "ep"
    chosen = sys.argv[2:] or list(SAMPLERS)
    for name, X, y in data_sets():
        p = X.shape[1]
        for shape, length_scale in (("one length-scale", np.sqrt(p)), ("one for each input", np.full(p, np.sqrt(p)))):
            kernel = 100.0 * Matern(length_scale, nu=2.5)
            methods = {"optimum": Evidence(max_rows=None), **{key: SAMPLERS[key] for key in chosen}}
            scores = {key: [] for key in methods}
            seconds = dict.fromkeys(methods, 0.0)
            for seed in range(10):
                split = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
                for key, hyper in methods.items():
                    value, took = score(kernel, hyper, engine, *split)
                    scores[key].append(value)
                    seconds[key] += took / 10
            line = f"{name:12} {shape:18}"
            for key in methods:
                line += f"  {key} {np.mean(scores[key]):.4f} ({seconds[key]:.0f} s)"
                if key != "optimum":
                    gain = np.subtract(scores[key], scores["optimum"])
                    line += f" gain {gain.mean():+.4f} +- {gain.std(ddof=1) / np.sqrt(10):.4f}"
            print(line, flush=True)

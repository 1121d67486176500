"""SparseGPClassifier and IVMClassifier on large data sets: error, log loss, time and peak memory.

python benchmarks/bench_sparse.py [isolet] [usps] [mnist] [covtype]
"""

import resource
import sys
import time

import numpy as np

from gpclass import IVMClassifier, SparseGPClassifier
from gpclass.kernels import RBF, Linear
from gpclass.papers.data import load


def report(name, model, X, y, X_new, y_new):
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    log_p = model.predict_log_proba(X_new)
    truth = np.searchsorted(model.classes_, y_new)
    wrong, loss = np.mean(log_p.argmax(axis=1) != truth), -np.mean(log_p[np.arange(len(truth)), truth])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name}: error {100 * wrong:.2f} %, log loss {loss:.4f}, {seconds:.0f} s, {model.n_iter_} iterations, "
        f"peak {peak:.2f} GiB\n    {model.kernel_}",
        flush=True,
    )


def official(name, scale=1.0):
    stored = load(name)
    return tuple(
        stored[part] / scale if part[0] == "X" else stored[part] for part in ("X_train", "y_train", "X_test", "y_test")
    )


def isolet():
    data = official("isolet")
    model = IVMClassifier(100.0 * RBF(20.0), n_active=2000, standardize=True)
    report("isolet, IVM, kernel learned", model, *data)
    model = SparseGPClassifier(model.kernel_, n_inducing=1000, hyper="fixed", standardize=True, dtype="float32")
    report("isolet, sparse, the same kernel", model, *data)


def usps():
    data = official("usps")
    kernel = 100.0 * RBF(8.0) + Linear(0.1)
    report("usps, IVM by algorithm 2", IVMClassifier(kernel, n_active=3000, hyper="alternating"), *data)
    report("usps, sparse, default kernel, learned", SparseGPClassifier(n_inducing=1000, dtype="float32"), *data)


def mnist():
    model = SparseGPClassifier(RBF(6.0) * 100.0, n_inducing=1000, dtype="float32")
    report("mnist, sparse, kernel learned", model, *official("mnist", 255.0))


def covtype(n=500000):
    stored = load("covtype")
    order = np.random.default_rng(0).permutation(len(stored["y"]))
    X, y = stored["X"][order].astype(float), stored["y"][order]
    report(f"covtype, {n} rows, sparse", SparseGPClassifier(dtype="float32"), X[:n], y[:n], X[n:], y[n:])


if __name__ == "__main__":
    for name in sys.argv[1:] or ["isolet", "usps", "mnist", "covtype"]:
        {"isolet": isolet, "usps": usps, "mnist": mnist, "covtype": covtype}[name]()

"""The informative vector machine: what it costs, and a peer.

    python benchmarks/bench_ivm.py [scaling] [bandwidth] [digits]

GR06's own experiments are ``gpclass reproduce gr06-figure5`` and ``gr06-figure6``.
"""

import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process import kernels as sk
from sklearn.metrics import log_loss

from gpclass import IVMClassifier
from gpclass.inference.active.active_set import ActiveSet
from gpclass.inference.active.selection import Selector
from gpclass.kernels import RBF
from gpclass.likelihoods import MultinomialProbit, Probit
from gpclass.papers.data import load

LIKELIHOOD = MultinomialProbit()


def _isolet():
    """Standardised, the official split."""
    stored = load("isolet")
    X, X_new = stored["X_train"].astype(float), stored["X_test"].astype(float)
    mean, sd = X.mean(axis=0), X.std(axis=0)
    letters, y = np.unique(stored["y_train"], return_inverse=True)
    return np.ascontiguousarray((X - mean) / sd), y, (X_new - mean) / sd, np.searchsorted(letters, stored["y_test"])


def _select(n, S, K, block_size=1):
    """Seconds to choose S of n rows of K classes, 20 inputs; of two classes by entropy, which scores every row."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    y = np.argmax(X[:, :K] + 0.5 * rng.standard_normal((n, K)), axis=1)
    active = ActiveSet(25.0 * RBF(4.0), X, 1 if K == 2 else K, S, shared=True)
    start = time.perf_counter()
    if K == 2:
        Selector("entropy", "adf", block_size).grow(active, y, Probit(), S)
    else:
        Selector("probability", "vb", block_size).grow(active, y, LIKELIHOOD, S)
    return time.perf_counter() - start


def scaling():
    """Linear in n, and a little less with several classes, because ever fewer rows need their integral; in S between
    linear and quadratic; in K at most linear."""
    _select(2000, 20, 4)
    for name, sizes, run in (
        ("n, two classes", (20000, 40000, 80000, 160000), lambda n: _select(n, 300, 2)),
        ("n, five classes", (20000, 40000, 80000, 160000), lambda n: _select(n, 300, 5)),
        ("S", (125, 250, 500, 1000), lambda S: _select(20000, S, 5)),
        ("K", (3, 6, 12, 20), lambda K: _select(20000, 300, K)),
    ):
        seconds = [min(run(size) for _ in range(2)) for size in sizes]
        slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        print(
            f"scaling in {name} {sizes}: " + ", ".join(f"{s:.2f}" for s in seconds) + f" s, slope {slope:.2f}",
            flush=True,
        )


def bandwidth(S=2000):
    """Selection on Isolet against reading M and X as often as the products with them must."""
    X, y, _, _ = _isolet()
    n = len(X)
    M = np.random.default_rng(0).standard_normal((n, S))
    start = time.perf_counter()
    for k in range(0, S, 20):
        M[:, :k] @ M[0, :k]
        X @ X[0]
    streaming = 20.0 * (time.perf_counter() - start)
    traffic = n * (S / 2 + X.shape[1]) * S * 8 / 1e9
    active = ActiveSet(RBF((2.0 * 0.001) ** -0.5), X, 26, S, shared=True)
    start = time.perf_counter()
    Selector("probability", "vb").grow(active, y, LIKELIHOOD, S)
    seconds = time.perf_counter() - start
    print(
        f"bandwidth: {traffic:.0f} GB in {streaming:.1f} s ({traffic / streaming:.0f} GB/s); selection took "
        f"{seconds:.1f} s, {seconds / streaming:.1f} times that"
    )


def digits(n=1600):
    """The default classifiers on 1600 rows."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] / 16.0, y[order]
    times, losses = [], []
    peer = GaussianProcessClassifier(sk.ConstantKernel(10.0) * sk.RBF(3.0))
    for name, model in (("gpclass IVM", IVMClassifier()), ("scikit-learn", peer)):
        start = time.perf_counter()
        model.fit(X[:n], y[:n])
        times.append(time.perf_counter() - start)
        losses.append(log_loss(y[n:], model.predict_proba(X[n:])))
        print(f"digits, {n} rows, {name}: {times[-1]:.1f} s, log loss {losses[-1]:.4f}", flush=True)
    print(f"digits: {times[1] / times[0]:.0f} times faster, log loss ratio {losses[0] / losses[1]:.3f}")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["scaling", "bandwidth", "digits"]
    for name in wanted:
        {"scaling": scaling, "bandwidth": bandwidth, "digits": digits}[name]()

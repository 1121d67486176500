"""The informative vector machine: GR06's sections 6.3 and 6.4, what it costs, and a peer.

    python benchmarks/bench_ivm.py [toy] [isolet] [scaling] [bandwidth] [digits]

``toy`` draws the error against the number of active rows into gr06_figure5b.png where matplotlib is installed.
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process import kernels as sk
from sklearn.metrics import log_loss

from gpclass import GPClassifier, IVMClassifier
from gpclass.datasets import make_rings
from gpclass.inference.active_set import ActiveSet
from gpclass.inference.selection import Selector
from gpclass.kernels import RBF
from gpclass.likelihoods import MultinomialProbit, Probit
from gpclass.posteriors import GaussianPosterior

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LIKELIHOOD = MultinomialProbit()


def toy(n_repeats=20, sizes=(5, 10, 15, 20, 25, 30, 35, 40, 45, 50)):
    """GR06 6.3: 1000 rows, unit noise, relevances learned from 240 others, error on 2385 new rows as rows come in."""
    kernel = GPClassifier(RBF(1.0, ard=True), standardize=True).fit(*make_rings(240, random_state=1000)).kernel_
    errors = {"probability": [], "random": []}
    for repeat in range(n_repeats):
        X, y = make_rings(1000 + 2385, random_state=repeat)
        mean, sd = X[:1000].mean(axis=0), X[:1000].std(axis=0)
        X, y = (X - mean) / sd, y - 1
        for criterion, found in errors.items():
            rng = np.random.default_rng(repeat)
            active = ActiveSet(kernel, X[:1000], 3, max(sizes), shared=True)
            curve = []
            for size in sizes:
                Selector(criterion, "vb").grow(active, y[:1000], LIKELIHOOD, size, rng)
                posterior = GaussianPosterior(kernel, X[active.rows], active.weights())
                curve.append(np.mean(LIKELIHOOD.predict(*posterior.latent(X[1000:])).argmax(axis=1) != y[1000:]))
            found.append(curve)
    for criterion, found in errors.items():
        means = 100.0 * np.mean(found, axis=0)
        print(
            f"toy, {n_repeats} repeats, {criterion}: "
            + ", ".join(f"{s}: {m:.2f} %" for s, m in zip(sizes, means, strict=True))
        )
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
    for (criterion, found), style in zip(errors.items(), ("-", "--"), strict=True):
        curves = 100.0 * (1.0 - np.array(found))
        axes.errorbar(sizes, curves.mean(axis=0), curves.std(axis=0), linestyle=style, capsize=2, label=criterion)
    axes.set(xlabel="active rows", ylabel="correct predictions (%)", title="GR06 figure 5b")
    axes.legend(title="chosen by")
    figure.savefig("gr06_figure5b.png", dpi=120)


def _isolet():
    """Standardised, the official split."""
    stored = np.load(DATA / "isolet.npz")
    X, X_new = stored["X_train"].astype(float), stored["X_test"].astype(float)
    mean, sd = X.mean(axis=0), X.std(axis=0)
    letters, y = np.unique(stored["y_train"], return_inverse=True)
    return np.ascontiguousarray((X - mean) / sd), y, (X_new - mean) / sd, np.searchsorted(letters, stored["y_test"])


def isolet(n_seeds=3, n_active=2000):
    """GR06 6.4: 26 letters, inverse length-scale 0.001, unit noise, every row judged at every step."""
    X, y, X_new, y_new = _isolet()
    kernel = RBF((2.0 * 0.001) ** -0.5)
    for criterion, block, seed in [
        *(("probability", 1, s) for s in range(n_seeds)),
        ("probability", 16, 0),
        ("random", 1, 0),
    ]:
        start = time.perf_counter()
        active = ActiveSet(kernel, X, 26, n_active, shared=True)
        Selector(criterion, "vb", block).grow(active, y, LIKELIHOOD, n_active, np.random.default_rng(seed))
        seconds = time.perf_counter() - start
        posterior = GaussianPosterior(kernel, X[active.rows], active.weights())
        log_p = LIKELIHOOD.predict_log(*posterior.latent(X_new))
        wrong = np.mean(log_p.argmax(axis=1) != y_new)
        loss = -np.mean(log_p[np.arange(len(y_new)), y_new])
        print(
            f"isolet, {criterion}, blocks of {block}, seed {seed}: error {100 * wrong:.2f} %, "
            f"log loss {loss:.3f}, {seconds:.1f} s",
            flush=True,
        )


def _select(n, S, K, block_size=1):
    """Seconds to choose S of n rows of K classes, 20 inputs; of two classes by entropy, which judges every row."""
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
    wanted = sys.argv[1:] or ["toy", "isolet", "scaling", "bandwidth", "digits"]
    for name in wanted:
        {"toy": toy, "isolet": isolet, "scaling": scaling, "bandwidth": bandwidth, "digits": digits}[name]()

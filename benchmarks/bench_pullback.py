"""ARD RBF, n = 2000, d = 20: our value and pullback against scikit-learn's n x n x d gradient tensor."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from sklearn.gaussian_process import kernels as sk

from gpclass.kernels import RBF


def measure(work: Callable[[], object], repeats: int = 5) -> tuple[float, float]:
    """Seconds (best of several) and peak MiB (measured apart, because tracing slows things down)."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return min(seconds), peak


def main(n: int = 2000, d: int = 20) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    scale = rng.uniform(1.0, 4.0, d)
    G = rng.normal(size=(n, n))

    def ours() -> np.ndarray:
        _, pullback = RBF(scale).vjp(X)
        return pullback(G)

    def theirs() -> tuple[np.ndarray, np.ndarray]:
        return sk.RBF(scale)(X, eval_gradient=True)

    seconds, peak = measure(ours)
    other_seconds, other_peak = measure(theirs)
    difference = np.max(np.abs(ours() / np.einsum("ij,ijd->d", G, theirs()[1]) - 1))
    print(f"gpclass, value and gradient of sum(G * K)    {seconds:7.3f} s {peak:8.0f} MiB")
    print(f"scikit-learn, value and n x n x d derivatives {other_seconds:6.3f} s {other_peak:8.0f} MiB")
    print(f"{other_seconds / seconds:.1f} times faster; gradients differ by {difference:.1e} relative")
    if other_seconds < 10 * seconds or peak > 200:
        raise SystemExit("expected at least 10 times the speed, in at most 200 MiB")


if __name__ == "__main__":
    main()

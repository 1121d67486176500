"""EP evidence and gradient at n = 1000, K = 10, against the factorisations it cannot do without.

With sites that are independent between classes a sweep is K Cholesky factorisations and triangular inversions, and what
comes on top. Coupled sites (the default) need full inverses and a triangular solve for each class: a sweep costs more,
but far fewer are needed.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import lapack
from sklearn.datasets import load_digits

from gpclass.inference import EP
from gpclass.inference.prior import DensePrior
from gpclass.kernels import RBF
from gpclass.likelihoods import MultinomialProbit


def seconds_of_factorisations(K: np.ndarray, n_classes: int) -> float:
    """One round for all classes: the best of five, on all cores."""
    B = np.asfortranarray(K + np.eye(len(K)))
    rounds = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(n_classes):
            L, _ = lapack.dpotrf(B, lower=1)
            lapack.dtrtri(L, lower=1)
        rounds.append(time.perf_counter() - start)
    return min(rounds)


def main(n: int = 1000, n_classes: int = 10) -> None:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[order] / 16, y[order]
    kernel = 100.0 * RBF(10**0.5)
    K = kernel(X)
    few = DensePrior.at(kernel, X[:50], n_classes)
    ratios, totals = {}, {}
    for coupling in ("none", "full"):
        engine = EP(tol=1e-3, coupling=coupling)
        engine(few, y[:50], MultinomialProbit())  # compile
        start = time.perf_counter()
        fit = engine(DensePrior.at(kernel, X, n_classes), y, MultinomialProbit(), gradient=True)
        totals[coupling] = time.perf_counter() - start
        once, sweeps = seconds_of_factorisations(K, n_classes), fit.info.n_iter
        ratios[coupling] = totals[coupling] / (once * sweeps)
        print(
            f"coupling={coupling}: {totals[coupling]:.1f} s, {sweeps} sweeps, converged {fit.info.converged}, log "
            f"evidence {fit.log_evidence:.1f}; {ratios[coupling]:.1f} times {once:.2f} s of factorisations a sweep"
        )
    if ratios["none"] > 3.0:
        raise SystemExit("expected at most 3 times the factorisations without coupling")
    if totals["full"] > 1.5 * totals["none"]:
        raise SystemExit("expected coupled sites to take no more than 1.5 times as long in all")


if __name__ == "__main__":
    main()

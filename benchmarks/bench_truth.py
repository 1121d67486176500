"""How far each engine's probabilities are from long Gibbs chains, at fixed kernel parameters.

``python benchmarks/bench_truth.py`` takes about half an hour on two cores and prints the table of docs/design.md. The
last column is what two halves of the chains differ by: distances below it cannot be told from zero.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.datasets import load_iris, load_wine

from gpclass.datasets import make_rings
from gpclass.inference import EP, VB, Gibbs, Laplace
from gpclass.inference.base import Weights
from gpclass.inference.calibration import Calibration
from gpclass.inference.dense.gibbs import Draws
from gpclass.inference.posteriors import make_posterior
from gpclass.kernels import RBF, Kernel
from gpclass.likelihoods import MultinomialProbit

ENGINES = {"VB": VB(), "EP": EP(coupling="none"), "EP full": EP(coupling="full"), "Laplace": Laplace()}


def problems() -> dict[str, tuple[np.ndarray, np.ndarray, Kernel]]:
    """Standardised inputs, labels from 0, and a kernel of amplitude 1."""

    def scaled(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        order = np.random.default_rng(0).permutation(len(y))
        return ((X - X.mean(axis=0)) / X.std(axis=0))[order], y[order]

    iris, wine = (scaled(*load(return_X_y=True)) for load in (load_iris, load_wine))
    rings, label = make_rings(200, n_irrelevant=0, random_state=0)
    return {
        "toy": (rings, label - 1, RBF(0.5)),
        "iris": (*iris, RBF(np.sqrt(1.0 / 0.6))),
        "wine": (*wine, RBF(np.sqrt(13.0))),
    }


def proba(kernel: Kernel, X: np.ndarray, weights: Weights | Draws, X_new: np.ndarray) -> np.ndarray:
    return np.exp(make_posterior(kernel, X, weights).predict_log(MultinomialProbit(), X_new, Calibration()))


def main(n_draws: int = 1000, thin: int = 100, burn_in: int = 5000, n_train: int = 80) -> None:
    names = list(ENGINES)
    print("| data | amplitude | " + " | ".join(names) + " | R-hat | halves |")
    print("| --- " * (len(names) + 4) + "|")
    for data, (X, y, shape) in problems().items():
        for amplitude in (1.0, 10.0, 100.0):
            kernel = (amplitude * shape).bind(X, 3, None)
            train, test, labels = X[:n_train], X[n_train:], y[:n_train]
            K = kernel(train)

            start = time.perf_counter()
            chains = Gibbs(n_draws=n_draws, thin=thin, burn_in=burn_in, n_chains=4, n_jobs=2)
            long = chains(K, labels, MultinomialProbit(), 3)
            draws: Draws = long.weights
            halves = [proba(kernel, train, draws._replace(alpha=part), test) for part in np.split(draws.alpha, 2)]
            truth = 0.5 * (halves[0] + halves[1])
            cells = []
            for engine in ENGINES.values():
                fit = engine(K, labels, MultinomialProbit(), 3)
                cells.append(f"{np.mean(np.abs(proba(kernel, train, fit.weights, test) - truth)):.4f}")
            apart = np.mean(np.abs(halves[0] - halves[1]))
            print(
                f"| {data} | {amplitude:g} | " + " | ".join(cells) + f" | {long.info.r_hat:.2f} | {apart:.4f} |",
                flush=True,
            )
            print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

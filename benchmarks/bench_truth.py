"""How far each engine's probabilities are from long Gibbs chains, at fixed kernel parameters.

``python benchmarks/bench_truth.py`` takes about half an hour on two cores and prints the table of
docs/decisions/0045-distance-to-gibbs.md. The last column is what two halves of the chains differ by: distances below it
cannot be told from zero.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.datasets import load_iris, load_wine

from gpclass.datasets import make_rings
from gpclass.inference import EP, VB, Gibbs, Laplace
from gpclass.inference.calibration import Calibration
from gpclass.inference.posteriors import DrawsPosterior, GaussianPosterior
from gpclass.inference.prior import DensePrior
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


def proba(posterior: GaussianPosterior | DrawsPosterior, X_new: np.ndarray) -> np.ndarray:
    return np.exp(posterior.predict_log(MultinomialProbit(), X_new, Calibration()))


def main(n_draws: int = 1000, thin: int = 100, burn_in: int = 5000, n_train: int = 80) -> None:
    names = list(ENGINES)
    print("| data | amplitude | " + " | ".join(names) + " | R-hat | halves |")
    print("| --- " * (len(names) + 4) + "|")
    for data, (X, y, shape) in problems().items():
        for amplitude in (1.0, 10.0, 100.0):
            kernel = (amplitude * shape).bind(X, 3, None)
            train, test, labels = X[:n_train], X[n_train:], y[:n_train]
            prior = DensePrior.at(kernel, train, n_latent=3)

            start = time.perf_counter()
            chains = Gibbs(n_draws=n_draws, thin=thin, burn_in=burn_in, n_chains=4, n_jobs=2)
            long = chains(prior, labels, MultinomialProbit())
            draws = long.posterior.draws
            parts = [prior.posterior(draws._replace(alpha=part)) for part in np.split(draws.alpha, 2)]
            halves = [proba(part, test) for part in parts]
            truth = 0.5 * (halves[0] + halves[1])
            cells = []
            for engine in ENGINES.values():
                fit = engine(prior, labels, MultinomialProbit())
                cells.append(f"{np.mean(np.abs(proba(fit.posterior, test) - truth)):.4f}")
            apart = np.mean(np.abs(halves[0] - halves[1]))
            print(
                f"| {data} | {amplitude:g} | " + " | ".join(cells) + f" | {long.info.r_hat:.2f} | {apart:.4f} |",
                flush=True,
            )
            print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

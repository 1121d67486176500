"""Likelihoods for nearest-neighbour classification, with the metric that label regression learned.

python benchmarks/bench_latent.py [satimage] [letter] [--models laplace,vb,ep,vecchia] [--rows 500]

Each row is predicted from its 40 nearest training rows: by label regression with a learned link (the default of
``NearestNeighborGPClassifier``), or by a latent model of these rows alone with Laplace's method, variational Bayes or
EP. "vecchia" is variational Bayes of the multinomial probit over all rows, whose prior is the Vecchia approximation
with 30 earlier neighbours; its latent means are interpolated. Latent models get an amplitude, a factor of the
length-scales and a temperature by 100 rows that are held back, those of the table are other ones; all rows come from
the training part of each set. Differences of log loss are to label regression on the same rows, with their standard
errors. "vecchia" did not end within twenty minutes on letter.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import product
from typing import Any

import numpy as np
from bench_middle import load
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import cg, spsolve_triangular
from scipy.special import log_softmax

from gpclass import NearestNeighborGPClassifier
from gpclass.inference import EP, VB, Laplace
from gpclass.inference.neighbors.search import NeighborIndex
from gpclass.inference.prior import DensePrior
from gpclass.likelihoods import MultinomialProbit, Softmax

N_NEIGHBORS, N_EARLIER, N_HELD_BACK = 40, 30, 100
GRID = tuple(product((30.0, 300.0), (1.0, 1.5)))
ENGINES = {"laplace": (Laplace(), Softmax()), "vb": (VB(), MultinomialProbit()), "ep": (EP(), MultinomialProbit())}


class Local:
    """A latent model of the neighbours of each row, fitted when the row is predicted."""

    def __init__(self, name: str, kernel: Any, X: np.ndarray, y: np.ndarray, n_classes: int) -> None:
        self.engine, self.likelihood = ENGINES[name]
        self.kernel, self.X, self.y, self.n_classes = kernel, X, y, n_classes

    def predict_log(self, rows: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
        found = []
        for row, near in zip(rows, neighbors, strict=True):
            prior = DensePrior.at(self.kernel, self.X[near], self.n_classes)
            fit = self.engine(prior, self.y[near], self.likelihood)
            found.append(self.likelihood.predict_log(*fit.posterior.latent(row[None]))[0])
        return np.array(found)


class Vecchia:
    """GR06 with the prior precision Q = B' D^-1 B: the mean update (K^-1 + I)^-1 y~ is a solve with Q + I."""

    def __init__(self, kernel: Any, X: np.ndarray, y: np.ndarray, n_classes: int) -> None:
        self.kernel, self.X, self.likelihood = kernel, X, MultinomialProbit()
        order = np.random.default_rng(0).permutation(len(y))
        B, D = self._factor(order)
        outer = B.T.tocsr()

        def precondition(v: np.ndarray) -> np.ndarray:
            v = spsolve_triangular(outer, v, lower=False, unit_diagonal=True) / (1.0 / D + 1.0)
            return spsolve_triangular(B, v, lower=True, unit_diagonal=True)

        n = len(y)
        A = sparse.linalg.LinearOperator((n, n), lambda v: outer @ ((B @ v) / D) + v)
        P = sparse.linalg.LinearOperator((n, n), precondition)
        labels, mean = y[order], np.zeros((n, n_classes))
        for _ in range(100):
            target = self.likelihood.augment(labels, mean)
            new = np.column_stack(
                [cg(A, target[:, k], mean[:, k], rtol=1e-4, maxiter=50, M=P)[0] for k in range(n_classes)]
            )
            step, mean = np.abs(new - mean).max(), new
            if step < 0.01 * np.abs(mean).max():
                break
        self.mean = np.empty_like(mean)
        self.mean[order] = mean

    def _factor(self, order: np.ndarray) -> tuple[sparse.csr_matrix, np.ndarray]:
        """Rows of B, 1 on the diagonal and minus the weights of the neighbours before it, and the variances D."""
        points = self.X[order] * np.sqrt(self.kernel.relevance(self.X.shape[1]))
        near = NeighborIndex(points).search(points, min(10 * N_EARLIER, len(points) - 1), np.arange(len(points)))
        at, values, starts, D = [0], [1.0], [0, 1], [float(self.kernel.diag(self.X[:1])[0])]
        for i in range(1, len(order)):
            before = near[i][near[i] < i][:N_EARLIER]
            if len(before) == 0:
                before = np.arange(max(0, i - N_EARLIER), i)
            k = self.kernel(self.X[order[i]][None], self.X[order[before]])[0]
            weights = np.linalg.solve(self.kernel(self.X[order[before]]) + 1e-6 * D[0] * np.eye(len(before)), k)
            at += [*before, i]
            values += [*-weights, 1.0]
            starts.append(len(at))
            D.append(max(D[0] - float(weights @ k), 1e-6 * D[0]))
        return sparse.csr_matrix((values, at, starts)), np.array(D)

    def predict_log(self, rows: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
        means, variances = [], []
        for row, near in zip(rows, neighbors, strict=True):
            K, k = self.kernel(self.X[near]), self.kernel(row[None], self.X[near])[0]
            prior = float(self.kernel.diag(row[None])[0])
            means.append(np.linalg.solve(K + 1e-6 * prior * np.eye(len(near)), k) @ self.mean[near])
            variances.append(prior - k @ np.linalg.solve(K + np.eye(len(near)), k))
        return self.likelihood.predict_log(
            np.array(means), np.repeat(np.array(variances)[:, None], self.mean.shape[1], 1)
        )


def mean_loss(log_temperature: float, log_p: np.ndarray, y: np.ndarray) -> float:
    return -float(log_softmax(np.exp(log_temperature) * log_p, axis=1)[np.arange(len(y)), y].mean())


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=("satimage", "letter"))
    parser.add_argument("--models", default="laplace,vb,ep,vecchia")
    parser.add_argument("--rows", type=int, default=500)
    asked = parser.parse_args()
    print("| data | model | amplitude, factor, temperature | error % | log loss | difference | ms a row | fit s |")
    print("|" + " --- |" * 8)
    for name in asked.sets:
        X, y, _, _ = load(name, 0)
        order = np.random.default_rng(1).permutation(len(y))
        aside, tested, rest = np.split(order, [N_HELD_BACK, N_HELD_BACK + asked.rows])
        settings = {"n_neighbors": N_NEIGHBORS, "global_model": False, "random_state": 0}
        model = NearestNeighborGPClassifier(**settings).fit(X[rest], y[rest])
        local, codes = model.posterior_, np.searchsorted(model.classes_, y)
        start = time.perf_counter()
        ours = model.predict_log_proba(X[tested])[np.arange(len(tested)), codes[tested]]
        seconds = time.perf_counter() - start
        wrong = np.mean(model.predict(X[tested]) != y[tested])
        cells = f"{100 * wrong:.1f} | {-ours.mean():.4f} | 0 | {1e3 * seconds / len(tested):.2f} | |"
        print(f"| {name} | label regression | | {cells}", flush=True)
        rows = {"aside": model._rows(X[aside]), "tested": model._rows(X[tested])}
        places = {"aside": codes[aside], "tested": codes[tested]}
        near = {
            part: local.neighbor_index.search(local.regression.points(some), N_NEIGHBORS) for part, some in rows.items()
        }
        for label in asked.models.split(","):
            best: Any = (-np.inf,)
            for amplitude, factor in GRID:
                theta = model.kernel_.theta + np.log(factor)
                kernel = amplitude * model.kernel_.with_theta(theta)
                arguments = (kernel, local.X, codes[rest], len(model.classes_))
                start = time.perf_counter()
                latent: Any = Vecchia(*arguments) if label == "vecchia" else Local(label, *arguments)
                fitted = time.perf_counter() - start
                log_p = latent.predict_log(rows["aside"], near["aside"])
                found = minimize_scalar(mean_loss, (-3.0, 3.0), (-3.0, 3.0), (log_p, places["aside"]), method="bounded")
                if -found.fun > best[0]:
                    best = (-found.fun, amplitude, factor, latent, fitted, np.exp(found.x))
            _, amplitude, factor, latent, fitted, temperature = best
            start = time.perf_counter()
            log_p = log_softmax(temperature * latent.predict_log(rows["tested"], near["tested"]), axis=1)
            seconds, truth = time.perf_counter() - start, places["tested"]
            theirs = log_p[np.arange(len(truth)), truth]
            off, wrong = ours - theirs, np.mean(log_p.argmax(axis=1) != truth)
            error = off.std() / np.sqrt(len(off))
            print(
                f"| {name} | {label} | {amplitude:g}, {factor:g}, {temperature:.2g} | {100 * wrong:.1f} | "
                f"{-theirs.mean():.4f} | {off.mean():.4f} ± {error:.4f} | {1e3 * seconds / len(truth):.2f} | "
                f"{fitted:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Exact and sparse models on a device beside the host: error, log loss, seconds and memory.

python benchmarks/bench_gpu.py [TASK ...] [--device cuda] [--rows N] [--results FILE]

Tasks: satimage (exact, VB and EP, the same kernel on the host and on the device), isolet (exact, kernel learned), mnist
(exact, VB with a given RBF kernel), mnist-learned (the same, learned), mnist-ep (20,000 rows, VB and EP with coupled
sites), mnist-sparse (1000 inducing points), million (a million generated rows, 20 columns, seven classes, 1000 inducing
points), covtype-neighbors and covtype-sparse (500,000 rows). ``--rows`` takes that many of the training rows. Each line
is written as it comes. GPyTorch's sparse model beside ours: ``bench_svgp.py``.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gpclass import GPClassifier, NearestNeighborGPClassifier, SparseGPClassifier
from gpclass.kernels import RBF, Matern
from gpclass.numerics.devices import place_of
from gpclass.papers.data import load, whole

Fit = tuple[str, Any, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def data(name: str, rows: int | None) -> tuple[np.ndarray, ...]:
    stored = load(name)
    X, y, X_test, y_test = (stored[part] for part in ("X_train", "y_train", "X_test", "y_test"))
    scale = 255.0 if name == "mnist" else 1.0
    chosen = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[chosen] / scale, y[chosen], X_test / scale, y_test


def generated(rows: int | None) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    n = rows or 1_000_000
    X = rng.standard_normal((n + 10_000, 20))
    y = np.argmax(np.sin(X @ rng.standard_normal((20, 7)) / 4.0) + 0.3 * rng.standard_normal((len(X), 7)), axis=1)
    return X[:n], y[:n], X[n:], y[n:]


def satimage(device: str, rows: int | None) -> Iterator[Fit]:
    split = data("satimage", rows)
    learned = GPClassifier("matern", random_state=0, hyper="evidence").fit(split[0][:1000], split[1][:1000])
    for inference in ("vb", "ep"):
        for place in ("cpu", device):
            model = GPClassifier(learned.kernel_, standardize=True, hyper="fixed", inference=inference, device=place)
            yield f"satimage {inference} {place}", model, *split


def isolet(device: str, rows: int | None) -> Iterator[Fit]:
    yield "isolet", GPClassifier("rbf", random_state=0, hyper="evidence", device=device), *data("isolet", rows)


def mnist(device: str, rows: int | None) -> Iterator[Fit]:
    model = GPClassifier(100.0 * RBF(5.0), hyper="fixed", inference="vb", device=device)
    yield "mnist exact", model, *data("mnist", rows)


def mnist_learned(device: str, rows: int | None) -> Iterator[Fit]:
    model = GPClassifier(100.0 * RBF(5.0), hyper="evidence", inference="vb", device=device)
    yield "mnist exact, learned", model, *data("mnist", rows)


def mnist_ep(device: str, rows: int | None) -> Iterator[Fit]:
    for inference in ("vb", "ep"):
        model = GPClassifier(100.0 * RBF(5.0), hyper="fixed", inference=inference, device=device)
        yield f"mnist {inference}", model, *data("mnist", rows or 20_000)


def covtype(rows: int | None) -> tuple[np.ndarray, ...]:
    """Random rows, and 10,000 others to test on."""
    X, y = whole("covtype")
    order, n = np.random.default_rng(0).permutation(len(y)), rows or 500_000
    return X[order[:n]], y[order[:n]], X[order[-10_000:]], y[order[-10_000:]]


def covtype_neighbors(device: str, rows: int | None) -> Iterator[Fit]:
    yield "covtype neighbours", NearestNeighborGPClassifier(random_state=0, device=device), *covtype(rows)


def covtype_sparse(device: str, rows: int | None) -> Iterator[Fit]:
    model = SparseGPClassifier(n_inducing=5000, inducing="random", random_state=0, device=device)
    yield "covtype sparse", model, *covtype(rows)


def mnist_sparse(device: str, rows: int | None) -> Iterator[Fit]:
    for hyper in ("fixed", "auto"):
        model = SparseGPClassifier(
            100.0 * RBF(5.0), n_inducing=1000, inducing="random", hyper=hyper, random_state=0, device=device
        )
        yield f"mnist sparse, {hyper}", model, *data("mnist", rows)


def million(device: str, rows: int | None) -> Iterator[Fit]:
    kernel = 9.0 * Matern(4.0, nu=2.5)
    model = SparseGPClassifier(kernel, n_inducing=1000, inducing="random", hyper="fixed", device=device)
    yield "generated rows", model, *generated(rows)


TASKS: dict[str, Callable[[str, int | None], Iterator[Fit]]] = {
    "satimage": satimage,
    "isolet": isolet,
    "mnist": mnist,
    "mnist-learned": mnist_learned,
    "mnist-ep": mnist_ep,
    "mnist-sparse": mnist_sparse,
    "million": million,
    "covtype-neighbors": covtype_neighbors,
    "covtype-sparse": covtype_sparse,
}


def peak(device: str, reset: bool = False) -> float | None:
    """GiB that torch has taken on the device at most."""
    if place_of(device, None).library != "torch":
        return None
    import torch

    if reset:
        torch.cuda.reset_peak_memory_stats()
    return round(torch.cuda.max_memory_allocated() / 2**30, 2)


def measure(fit: Fit, device: str) -> dict[str, Any]:
    label, model, X, y, X_test, y_test = fit
    peak(device, reset=True)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    proba = model.predict_proba(X_test)
    own = proba[np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)]
    return {
        "task": label,
        "rows": len(y),
        "seconds": round(seconds, 2),
        "predict": round(time.perf_counter() - start - seconds, 2),
        "error": round(100.0 * float(np.mean(model.classes_[proba.argmax(axis=1)] != y_test)), 2),
        "loss": round(-float(np.mean(np.log(own))), 4),
        "GiB": peak(device),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--results", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    try:
        place_of(asked.device, None)
    except (ImportError, ValueError) as missing:
        print(missing)
        return
    for task in asked.tasks:
        for fit in TASKS[task](asked.device, asked.rows):
            found = measure(fit, asked.device)
            print(json.dumps(found), flush=True)
            if asked.results:
                with asked.results.open("a") as file:
                    file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

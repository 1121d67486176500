"""A small network under an exact model of MNIST digits, beside the plain kernel: error, log loss, seconds.

python benchmarks/bench_network.py [--rows 3000] [--subset 400] [--steps 200] [--device cpu]

The network is first a random map of the pixels. Its weights and the kernel's parameters are learned by steps on the
evidence of random subsets of rows (``StochasticEvidence``); then all rows are fitted at once.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import torch
from bench_gpu import data

from gpclass import GPClassifier
from gpclass.hyper import Evidence, StochasticEvidence
from gpclass.hyper.priors import Normal
from gpclass.kernels import RBF, TorchKernel


def network() -> torch.nn.Module:
    """Convolutions of the 28 x 28 pixels, pooled, and 16 features of them."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 28, 28)),
        torch.nn.Conv2d(1, 8, 5, stride=2),
        torch.nn.SiLU(),
        torch.nn.Conv2d(8, 16, 5, stride=2),
        torch.nn.SiLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * 4 * 4, 16),
    ).double()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--subset", type=int, default=400)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = data("mnist", asked.rows)
    steps = StochasticEvidence(asked.subset, asked.steps, prior={"module_weights": Normal(sd=0.3)})
    models = {
        "RBF": GPClassifier(100.0 * RBF(7.0), hyper=Evidence(), inference="vb", device=asked.device),
        "network": GPClassifier(
            100.0 * TorchKernel(RBF(1.0), network()), hyper=steps, inference="vb", device=asked.device, random_state=0
        ),
    }
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        proba = model.predict_proba(X_test)
        loss = -np.log(proba[np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)]).mean()
        wrong = 100.0 * np.mean(model.classes_[proba.argmax(axis=1)] != y_test)
        print(f"{name:8} {wrong:.2f} %, log loss {loss:.4f}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()

"""The nearest-neighbour classifier beside other libraries' nearest-neighbour Gaussian processes, in one run.

python benchmarks/bench_local_peers.py [--rows 5000]

Two classes: letters A to M against N to Z, and classes 1 and 2 of satimage against the others; random rows to fit,
all others to test. GPBoost (Vecchia approximation, Laplace) and MuyGPyS (regression of labels), each where it is
installed: ``pip install gpboost muygpys``. MuyGPyS gives scores; a temperature is fitted on a tenth of the rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_expit

from gpclass import NearestNeighborGPClassifier
from gpclass.papers.data import load

Predict = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def tasks(n: int) -> dict[str, tuple[np.ndarray, ...]]:
    found = {}
    for name, positive in (("letter A-M", None), ("satimage 1+2", (1, 2))):
        stored = load(name.split()[0])
        X = np.concatenate([stored["X_train"], stored["X_test"]]).astype(float)
        y = np.concatenate([stored["y_train"], stored["y_test"]])
        classes = np.unique(y)
        chosen = classes[: len(classes) // 2] if positive is None else np.array(positive)
        y = np.isin(y, chosen).astype(int)
        order = np.random.default_rng(0).permutation(len(y))
        train, test = order[:n], order[n:]
        mean, scale = X[train].mean(axis=0), X[train].std(axis=0) + 1e-12
        X = (X - mean) / scale
        found[name] = X[train], y[train], X[test], y[test]
    return found


def ours(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    return NearestNeighborGPClassifier(random_state=0).fit(X, y).predict_proba(X_test)[:, 1]


def gpboost(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    import gpboost as gpb

    model = gpb.GPModel(
        gp_coords=X, cov_function="matern", cov_fct_shape=1.5, likelihood="bernoulli_probit", gp_approx="vecchia"
    )
    model.fit(y=y.astype(float))
    return np.asarray(model.predict(gp_coords_pred=X_test, predict_response=True)["mu"])


def gpboost_with_our_metric(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """Only the latent model differs from ours: rows are in units of the metric that ours has learned."""
    model = NearestNeighborGPClassifier(global_model=False, random_state=0).fit(X, y)
    root = np.sqrt(model.kernel_.relevance(X.shape[1]))
    A = np.diag(root) if model.components_ is None else model.components_ * root
    scale = model.input_scale_[:, None]
    return gpboost(X / scale.T @ A, y, X_test / scale.T @ A)


def muygps(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    from MuyGPyS.examples.classify import do_classify
    from MuyGPyS.gp.deformation import Isotropy, l2
    from MuyGPyS.gp.hyperparameter import Parameter
    from MuyGPyS.gp.kernels import Matern
    from MuyGPyS.gp.noise import HomoscedasticNoise

    aside = np.arange(len(y)) % 10 == 0
    settings = {
        "kernel": Matern(smoothness=Parameter(1.5), deformation=Isotropy(l2, length_scale=Parameter(5.0, (0.5, 50.0)))),
        "noise": HomoscedasticNoise(1e-2),
    }
    labels = 2.0 * np.eye(2)[y] - 1.0
    both = np.concatenate([X[aside], X_test])
    scores = do_classify(both, X[~aside], labels[~aside], nn_count=40, batch_count=500, k_kwargs=settings)[-1]
    score = np.asarray(scores)[:, 1] - np.asarray(scores)[:, 0]
    held, sign = score[: np.count_nonzero(aside)], 2.0 * y[aside] - 1.0
    best = minimize_scalar(lambda t: -log_expit(np.exp(t) * sign * held).mean(), bounds=(-5.0, 5.0), method="bounded")
    return 1.0 / (1.0 + np.exp(-np.exp(best.x) * score[np.count_nonzero(aside) :]))


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000)
    asked = parser.parse_args()
    models: dict[str, Predict] = {"gpclass": ours}
    if find_spec("gpboost"):
        models["GPBoost"] = gpboost
        models["GPBoost, our metric"] = gpboost_with_our_metric
    if find_spec("MuyGPyS"):
        models["MuyGPyS + temperature"] = muygps
    NearestNeighborGPClassifier(max_iter=1).fit(np.eye(4).repeat(5, 0), np.arange(4).repeat(5))  # compiles
    print("| task | model | error % | log loss | seconds |\n|" + " --- |" * 5)
    for task, (X, y, X_test, y_test) in tasks(asked.rows).items():
        for name, predict in models.items():
            start = time.perf_counter()
            p = np.clip(predict(X, y, X_test), 1e-12, 1.0 - 1e-12)
            seconds = time.perf_counter() - start
            error = 100.0 * np.mean((p > 0.5) != y_test)
            loss = -np.mean(np.log(np.where(y_test == 1, p, 1.0 - p)))
            print(f"| {task} | {name} | {error:.2f} | {loss:.4f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()

"""``python -m gpclass.cli.demo``: the main job on embedded data, beside two well-known peers, with pictures."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process import kernels as sk
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from .. import GPClassifier
from ..datasets import make_rings
from ..evaluation.metrics import calibration_error, mean_log_probability
from ..kernels import RBF


class Problem(NamedTuple):
    """A data set in two parts, and the kernel that suits it."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    ard: bool = False


def problems() -> list[Problem]:
    """The toy rings of GR06 section 6.1, and three data sets that come with scikit-learn."""
    X, y = make_rings(240 + 2000, random_state=0)
    found = [Problem("rings", X[:240], y[:240], X[240:], y[240:], ard=True)]
    for name, load, size in (("iris", load_iris, 90), ("wine", load_wine, 107), ("digits", load_digits, 400)):
        X, y = load(return_X_y=True)
        X, X_test, y, y_test = train_test_split(X, y, train_size=size, stratify=y, random_state=0)
        found.append(Problem(name, X, y, X_test, y_test))
    return found


def contestants(problem: Problem) -> dict[str, Any]:
    """gpclass, scikit-learn's Gaussian processes with the same kernel, and a calibrated support vector machine."""
    d = problem.X.shape[1]
    scale = np.full(d, np.sqrt(d)) if problem.ard else np.sqrt(d)
    peer = GaussianProcessClassifier(sk.ConstantKernel(10.0) * sk.RBF(scale), random_state=0)
    vector_machine = CalibratedClassifierCV(SVC(C=10.0), method="temperature", cv=5)
    ours = GPClassifier(100.0 * RBF(np.sqrt(d), ard=True), standardize=True) if problem.ard else GPClassifier()
    return {
        "gpclass": ours,
        "scikit-learn GP": make_pipeline(StandardScaler(), peer),
        "SVC + temperature": make_pipeline(StandardScaler(), vector_machine),
    }


def warm_up(found: list[Problem]) -> None:
    """Have everything compiled, which happens once after an installation, before anything is timed."""
    for problem in found[:2]:
        model = contestants(problem)["gpclass"].fit(problem.X[:60], problem.y[:60])
        model.predict_proba(problem.X_test[:20])


def compare(problem: Problem) -> dict[str, tuple[Any, np.ndarray]]:
    """Fit all contestants, print a line for each, and give back models and test probabilities."""
    results = {}
    for name, model in contestants(problem).items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # peers that stop at a bound say so at length
            model.fit(problem.X, problem.y)
        proba = model.predict_proba(problem.X_test)
        seconds = time.perf_counter() - start
        error = np.mean(model.classes_[proba.argmax(axis=1)] != problem.y_test)
        score = mean_log_probability(problem.y_test, proba, model.classes_)
        gap = calibration_error(problem.y_test, proba, model.classes_)
        print(
            f"{problem.name:8} {name:18} {100 * error:7.2f} {score:15.3f} {100 * gap:14.1f} {seconds:9.1f}",
            flush=True,
        )
        results[name] = (model, proba)
    return results


def draw(out: Path, results: dict[str, tuple[Problem, dict[str, tuple[Any, np.ndarray]]]]) -> list[Path]:
    """The four pictures: probability map, bound, relevances, reliability."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from ..plotting import BoundDisplay, ProbabilityMapDisplay, RelevanceDisplay, ReliabilityDisplay

    out.mkdir(parents=True, exist_ok=True)
    rings, models = results["rings"]
    ours = models["gpclass"][0]
    probability = ProbabilityMapDisplay.from_estimator(ours, rings.X, rings.y)
    probability.ax_.set(title="Two rings and a blob: class probabilities", xlabel="$x_1$", ylabel="$x_2$")
    bound = BoundDisplay.from_estimator(ours)
    bound.ax_.set(title="Newton's method climbs the variational bound")
    relevance = RelevanceDisplay.from_estimator(ours)
    relevance.ax_.set(title="Two of ten inputs matter")
    digits, models = results["digits"]
    probas = {name: proba for name, (_, proba) in models.items()}
    reliability = ReliabilityDisplay.from_predictions(digits.y_test, probas, models["gpclass"][0].classes_)
    reliability.ax_.set(title="Digits: is the confidence deserved?")
    figures = {
        "probability_map": probability.figure_,
        "bound": bound.figure_,
        "relevance": relevance.figure_,
        "reliability": reliability.figure_,
    }
    paths = []
    for name, figure in figures.items():
        paths.append(out / f"{name}.png")
        figure.savefig(paths[-1], dpi=130)
        plt.close(figure)
    return paths


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m gpclass.cli.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the pictures")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    found = problems()
    warm_up(found)
    print(
        f"{'data':8} {'model':18} {'error %':>7} {'mean log prob':>15} {'calibration %':>14} {'seconds':>9}",
        flush=True,
    )
    results = {problem.name: (problem, compare(problem)) for problem in found}
    for path in draw(options.out, results):
        print(f"wrote {path}")
    print(f"{time.perf_counter() - start:.0f} seconds in all")


if __name__ == "__main__":
    main()

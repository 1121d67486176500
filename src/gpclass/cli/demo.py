"""``python -m gpclass.cli.demo``: classification of bundled data sets, beside two other classifiers, with figures."""

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
from ..evaluation.comparison import Comparison, compare
from ..kernels import RBF


class Dataset(NamedTuple):
    """A data set, its training and test rows, and whether its kernel has a length-scale for each input."""

    name: str
    X: np.ndarray
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    ard: bool = False


def datasets() -> list[Dataset]:
    """The toy rings of GR06 section 6.1, and three data sets that come with scikit-learn."""
    X, y = make_rings(240 + 2000, random_state=0)
    found = [Dataset("rings", X, y, np.arange(240), np.arange(240, len(y)), ard=True)]
    for name, load, size in (("iris", load_iris, 90), ("wine", load_wine, 107), ("digits", load_digits, 400)):
        X, y = load(return_X_y=True)
        train, test = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=0)
        found.append(Dataset(name, X, y, train, test))
    return found


def classifiers(data: Dataset) -> dict[str, Any]:
    """gpclass, scikit-learn's Gaussian processes with the same kernel, and a calibrated support vector machine."""
    d = data.X.shape[1]
    scale = np.full(d, np.sqrt(d)) if data.ard else np.sqrt(d)
    sklearn_gp = GaussianProcessClassifier(sk.ConstantKernel(10.0) * sk.RBF(scale), random_state=0)
    svc = CalibratedClassifierCV(SVC(C=10.0), method="temperature", cv=5)
    ours = GPClassifier(100.0 * RBF(np.sqrt(d), ard=True), standardize=True) if data.ard else GPClassifier()
    return {
        "gpclass": ours,
        "scikit-learn GP": make_pipeline(StandardScaler(), sklearn_gp),
        "SVC + temperature": make_pipeline(StandardScaler(), svc),
    }


def compare_on(data: Dataset) -> Comparison:
    """Score all classifiers on the test rows, and print a line for each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parameters at their bounds
        result = compare(classifiers(data), data.X, data.y, cv=[(data.train, data.test)])
    for s in result.scores:
        scores = f"{100 * s.error:7.2f} {s.log_probability:15.3f} {100 * s.calibration_error:14.1f} {s.seconds:9.1f}"
        print(f"{data.name:8} {s.name:18} {scores}", flush=True)
    return result


def draw(out: Path, rings: Dataset, digits: Dataset, on_digits: Comparison) -> list[Path]:
    """Four figures: probability map, bound, relevances, reliability."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from ..plotting import BoundDisplay, ProbabilityMapDisplay, RelevanceDisplay, ReliabilityDisplay

    out.mkdir(parents=True, exist_ok=True)
    X, y = rings.X[rings.train], rings.y[rings.train]
    ours = classifiers(rings)["gpclass"].fit(X, y)
    probas = {name: proba[digits.test] for name, proba in on_digits.proba.items()}
    reliability = ReliabilityDisplay.from_predictions(digits.y[digits.test], probas, on_digits.classes)
    over_inputs = ProbabilityMapDisplay.from_estimator(ours, X, y)
    displays: dict[str, tuple[Any, str]] = {
        "probability_map": (over_inputs, "Two rings and a blob: class probabilities"),
        "bound": (BoundDisplay.from_estimator(ours), "The variational bound over Newton iterations"),
        "relevance": (RelevanceDisplay.from_estimator(ours), "Two of ten inputs matter"),
        "reliability": (reliability, "Digits: reliability of the confidence"),
    }
    paths = []
    for name, (display, title) in displays.items():
        display.ax_.set_title(title)
        paths.append(out / f"{name}.png")
        display.figure_.savefig(paths[-1], dpi=130)
        plt.close(display.figure_)
    return paths


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m gpclass.cli.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the figures")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    found = {data.name: data for data in datasets()}
    for data in (found["rings"], found["iris"]):  # compile everything before the clock starts
        classifiers(data)["gpclass"].fit(data.X[data.train][:60], data.y[data.train][:60]).predict_proba(data.X[:20])
    heads = f"{'error %':>7} {'mean log prob':>15} {'calibration %':>14} {'seconds':>9}"
    print(f"{'data':8} {'model':18} {heads}", flush=True)
    results = {name: compare_on(data) for name, data in found.items()}
    for path in draw(options.out, found["rings"], found["digits"], results["digits"]):
        print(f"wrote {path}")
    print(f"{time.perf_counter() - start:.0f} seconds in all")


if __name__ == "__main__":
    main()

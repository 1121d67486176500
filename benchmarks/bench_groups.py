"""Leave-group-out predictions in closed form against refits, and against new groups.

python benchmarks/bench_groups.py [TABLE ...] [--folds 8] [--seeds 3]

Repeated patients: generated tables in which rows of a patient share traits and an effect that no column shows, and the
vowels of speakers 0 to 7 of the vowel data, whose speakers 8 to 14 are the new groups.
Error and log loss of ``GPClassifier()`` by leave-one-out, by leave-group-out from the same fit, by refits in folds of
groups that learn everything anew (--folds 0: without these), and on rows of new groups; seconds of each. With --fixed
instead: one kernel at given parameters, leave-group-out against a refit without each group.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, cross_val_predict
from sklearn.preprocessing import scale

from gpclass import GPClassifier
from gpclass.datasets import load_vowel
from gpclass.evaluation.groups import leave_group_out_proba
from gpclass.kernels import RBF

#: patients, rows of each, classes, the effect of a patient
GENERATED = {
    "60 of 5": (60, 5, 2, 1.5),
    "150 of 2": (150, 2, 2, 1.5),
    "30 of 10": (30, 10, 3, 1.0),
    "no effect": (60, 5, 2, 0.0),
}
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def patients(n_patients: int, per: int, n_classes: int, effect: float, rng: np.random.Generator) -> Rows:
    """Four traits of a patient with little noise, and two columns that change from row to row."""
    groups = np.repeat(np.arange(n_patients), per)
    traits = rng.normal(size=(n_patients, 4))[groups] + 0.15 * rng.normal(size=(len(groups), 4))
    visits = rng.normal(size=(len(groups), 2))
    f = np.stack([np.roll(traits, c, axis=1)[:, 0] + (-1) ** c * visits[:, c % 2] for c in range(n_classes)], axis=1)
    f = f + effect * rng.normal(size=(n_patients, n_classes))[groups] + 0.5 * rng.normal(size=f.shape)
    return np.hstack([traits, visits]), f.argmax(axis=1), groups


def tables(name: str, seed: int) -> tuple[Rows, tuple[np.ndarray, np.ndarray]]:
    if name == "vowel":
        train, new = load_vowel(subset="train"), load_vowel(subset="test")
        return (train.data, train.target, train.speaker), (new.data, new.target)
    rng = np.random.default_rng(seed)
    n_patients, per, *rest = GENERATED[name]
    return patients(n_patients, per, *rest, rng), patients(400, 5, *rest, rng)[:2]


def scores(proba: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    chosen = proba[np.arange(len(y)), y]
    return float(np.mean(proba.argmax(axis=1) != y)), float(-np.mean(np.log(np.maximum(chosen, 1e-300))))


def timed(work: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    found = work(*arguments, **named)
    return found, time.perf_counter() - start


def everything(name: str, n_seeds: int, folds: int) -> list[str]:
    by_seed = []
    for seed in range(1 if name == "vowel" else n_seeds):
        (X, y, groups), (X_new, y_new) = tables(name, seed)
        estimator = GPClassifier(random_state=0)
        model, fit_seconds = timed(clone(estimator).fit, X, y)
        closed, seconds = timed(leave_group_out_proba, model, groups)
        refits, refit_seconds = closed, 0.0
        if folds:
            settings = {"groups": groups, "cv": GroupKFold(folds), "method": "predict_proba"}
            refits, refit_seconds = timed(cross_val_predict, estimator, X, y, **settings)
        found = [(model.loo_proba_, y), (closed, y), (refits, y), (model.predict_proba(X_new), y_new)]
        by_seed.append([*(value for one in found for value in scores(*one)), fit_seconds, seconds, refit_seconds])
    mean = np.mean(by_seed, axis=0)
    pairs = " | ".join(f"{100 * mean[i]:.1f} %, {mean[i + 1]:.3f}" for i in range(0, 8, 2))
    return [f"| {name} | {pairs} | {mean[8]:.1f} | {mean[9]:.2f} | {mean[10]:.0f} |"]


def fixed(name: str, inference: str) -> list[str]:
    """One kernel of a given amplitude: the same predictions by refits."""
    (X, y, groups), _ = tables(name, 0)
    X, lines = scale(X), []  # once: refits differ by their rows alone
    for amplitude in (4.0, 100.0):
        kernel = amplitude * RBF(np.sqrt(X.shape[1]))
        estimator = GPClassifier(kernel, inference=inference, hyper="fixed", calibration=None, standardize=False)
        model = clone(estimator).fit(X, y)
        closed, seconds = timed(leave_group_out_proba, model, groups)
        settings = {"groups": groups, "cv": LeaveOneGroupOut(), "method": "predict_proba"}
        refits, refit_seconds = timed(cross_val_predict, estimator, X, y, **settings)
        losses = [scores(one, y)[1] for one in (model.loo_proba_, closed, refits)]
        numbers = " | ".join(f"{loss:.4f}" for loss in losses)
        largest, mean = np.abs(closed - refits).max(), np.abs(closed - refits).mean()
        lines.append(
            f"| {name} | {inference} | {amplitude:g} | {numbers} | {largest:.4f} | {mean:.5f} | {seconds:.2f} | "
            f"{refit_seconds:.1f} |"
        )
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=[*GENERATED, "vowel"])
    parser.add_argument("--folds", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fixed", nargs="*", help="engines: ep vb laplace")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.fixed:
        print(
            "| table | engine | amplitude | leave-one-out | without groups | refits | largest | mean | s | refits s |"
        )
    else:
        print("| table | leave-one-out | without groups | refits by groups | new groups | fit s | s | refits s |")
    for table in given.tables:
        if given.fixed:
            lines = [line for engine in given.fixed for line in fixed(table, engine)]
        else:
            lines = everything(table, given.seeds, given.folds)
        print("\n".join(lines), flush=True)

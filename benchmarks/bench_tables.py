"""The default classifier on small tables beside scikit-learn's classifiers and boosted trees, in one run.

python benchmarks/bench_tables.py [SET ...] [--models gpclass,svc,forest,...] [--splits 5] [--first-seed 0] [--jobs 1]
                                  [--results FILE]

Stratified 60/40 splits, at most 500 training rows, chosen by a second stratified split. gpclass and gpclass matern
(one kernel) get the columns as they are, text included; all others get standardised numbers and indicators of
text. Each peer is measured as it is and with a temperature (+T) fitted to five-fold cross-validated predictions of the
training rows. LightGBM, XGBoost and CatBoost take part where they are installed. Figures are means over the splits:
log loss, error and expected calibration error in per cent, seconds of fitting. A table is won or lost against the best
of all peers by 0.005 nats.

With ``--results`` each figure is kept in a file as it comes, and a later run goes on from there. ``--jobs`` processes
share out the splits, with one thread each.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from gpclass import GPClassifier
from gpclass.datasets import load_table, make_rings
from gpclass.papers import data

TABLES = ("balance", "car", "cleveland", "dermatology", "german", "ionosphere", "led7", "libras", "tictactoe", "zoo")
NUMBERS = ("iris", "wine", "new_thyroid", "fgl", "toy", "crabs", "breast_cancer")
TIE, MOST_ROWS = 0.005, 500
#: Kernels of our models.
OURS = {"gpclass": None, "gpclass matern": "matern"}


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns as a data frame, and labels."""
    if name in TABLES:
        columns, target = load_table(name, return_X_y=True)
        return columns, target.to_numpy()
    loaders = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
    if name in loaders:
        X, y = loaders[name](return_X_y=True)
    elif name == "toy":
        X, y = make_rings(400, random_state=0)
    else:
        stored = data.load(name)
        X, y = stored["X"].astype(float), stored["y"]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y


def split(X: pd.DataFrame, y: np.ndarray, seed: int) -> tuple[Any, ...]:
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    if len(y_train) > MOST_ROWS:
        train, _, y_train, _ = train_test_split(
            train, y_train, train_size=MOST_ROWS, stratify=y_train, random_state=seed
        )
    return train, test, y_train, y_test


def peers(seed: int) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "svc": lambda: SVC(probability=True, random_state=seed),
        "forest": lambda: RandomForestClassifier(500, random_state=seed),
        "extra trees": lambda: ExtraTreesClassifier(500, random_state=seed),
        "boosting": lambda: HistGradientBoostingClassifier(random_state=seed),
        "logistic": lambda: LogisticRegression(max_iter=2000),
        "perceptron": lambda: MLPClassifier(max_iter=1000, random_state=seed),
    }
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        found["lightgbm"] = lambda: LGBMClassifier(random_state=seed, verbose=-1, n_jobs=1)
    if find_spec("xgboost"):
        from xgboost import XGBClassifier

        found["xgboost"] = lambda: XGBClassifier(random_state=seed, n_jobs=1)
    if find_spec("catboost"):
        from catboost import CatBoostClassifier

        found["catboost"] = lambda: CatBoostClassifier(
            random_seed=seed, verbose=False, thread_count=1, allow_writing_files=False
        )
    return found


def numbers(model: Any) -> Any:
    """The model behind standardised numbers and indicators of text."""
    text = make_column_selector(dtype_exclude="number")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text), remainder="passthrough"
    )
    return make_pipeline(encode, StandardScaler(), model)


def floored(proba: np.ndarray) -> np.ndarray:
    """Log probabilities; forests give some classes none."""
    return np.log(np.maximum(proba, 1e-4 / proba.shape[1]))


def temperature(log_p: np.ndarray, y: np.ndarray) -> float:
    def loss(log_t: float) -> float:
        own = log_softmax(np.exp(log_t) * log_p, axis=1)[np.arange(len(y)), y]
        return float(0.5 * log_t**2 - own.sum())  # a prior: rows that are all right say nothing about the temperature

    return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x))


def scores(log_p: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Log loss, error and expected calibration error (ten bins of confidence)."""
    confidence, right = np.exp(log_p.max(axis=1)), log_p.argmax(axis=1) == y
    bins = np.minimum((10 * confidence).astype(int), 9)
    gaps = [abs(np.sum(right[bins == b]) - np.sum(confidence[bins == b])) for b in range(10)]
    loss = -float(log_p[np.arange(len(y)), y].mean())
    return {"loss": loss, "error": float(1.0 - right.mean()), "ece": float(np.sum(gaps) / len(y))}


def measure(name: str, seed: int, label: str) -> list[dict[str, Any]]:
    warnings.simplefilter("ignore")
    X, y = load(name)
    y = LabelEncoder().fit_transform(y)
    train, test, y_train, y_test = split(X, y, seed)
    common = {"set": name, "seed": seed}
    start = time.perf_counter()
    if label in OURS:
        model = GPClassifier(OURS[label], random_state=seed).fit(train, y_train)
        seconds = time.perf_counter() - start
        return [{**common, "model": label, "seconds": seconds, **scores(model.predict_log_proba(test), y_test)}]
    model = numbers(peers(seed)[label]())
    model.fit(train, y_train)
    seconds = time.perf_counter() - start
    log_p = floored(model.predict_proba(test))
    found = [{**common, "model": label, "seconds": seconds, **scores(log_softmax(log_p, axis=1), y_test)}]
    folds = StratifiedKFold(min(5, int(np.bincount(y_train).min())), shuffle=True, random_state=seed)
    inside = floored(cross_val_predict(numbers(peers(seed)[label]()), train, y_train, cv=folds, method="predict_proba"))
    T = temperature(inside, y_train)
    both = {"seconds": time.perf_counter() - start, **scores(log_softmax(T * log_p, axis=1), y_test)}
    return [*found, {**common, "model": f"{label} +T", **both}]


def show(results: pd.DataFrame) -> None:
    """Tables of all sets."""
    for figure, scale in (("loss", 1.0), ("error", 100.0), ("ece", 100.0), ("seconds", 1.0)):
        table = scale * results.pivot_table(index="set", columns="model", values=figure)
        print(f"\n{figure}\n{table.round(4 if figure == 'loss' else 2).to_string()}")


def report(results: pd.DataFrame, own: str) -> None:
    """How often a model of ours wins against the best of all peers, and by how much on average."""
    table = results.pivot_table(index="set", columns="model", values="loss")
    others = table.drop(columns=[name for name in OURS if name in table])
    if others.shape[1]:
        gap = table[own] - others.min(axis=1)
        won, lost = int((gap < -TIE).sum()), int((gap > TIE).sum())
        print(f"\n{own} against the best of all: {won} won, {len(gap) - won - lost} level, {lost} lost")
        print("mean log loss minus that of each peer:", (table[own].mean() - others.mean()).round(4).to_dict())
    print(f"mean log loss of {own}: {table[own].mean():.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=(*TABLES, *NUMBERS))
    parser.add_argument("--models", default=",".join([*OURS, *peers(0)]))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path)
    asked = parser.parse_args()
    results = []
    if asked.results and asked.results.exists():
        results = [json.loads(line) for line in asked.results.read_text().splitlines()]
    done = {(one["set"], one["seed"], one["model"]) for one in results}
    seeds = range(asked.first_seed, asked.first_seed + asked.splits)
    jobs = [(name, seed, label) for name in asked.sets for seed in seeds for label in asked.models.split(",")]
    todo = [job for job in jobs if job not in done]
    run = Parallel(n_jobs=asked.jobs, return_as="generator_unordered")
    for found in run(delayed(measure)(*job) for job in todo):
        results += found
        if asked.results:
            with asked.results.open("a") as file:
                file.writelines(json.dumps(one) + "\n" for one in found)
    table = pd.DataFrame(results)
    table = table[table["set"].isin(asked.sets) & table["seed"].isin(seeds)]
    show(table)
    for own in OURS:
        if own in set(table["model"]):
            report(table, own)


if __name__ == "__main__":
    main()

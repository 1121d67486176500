"""Kernels that could be members of a family, one by one and stacked by their leave-one-out predictions.

python benchmarks/bench_members.py [SET ...] [--members matern:vb,additive:ep,...] [--splits 2]
                                   [--first-seed 100] [--jobs 1]

A member is a kernel by name and an engine, vb or ep. Splits are those of
``bench_tables.py``; other seeds than those that are reported there choose between members. Prints the mean test log
loss and CPU seconds of each member, and of every pair and triple with stacked probabilities, best first.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from bench_tables import NUMBERS, TABLES, load, split
from joblib import Parallel, delayed
from sklearn.preprocessing import LabelEncoder

from gpclass import GPClassifier
from gpclass.training.stacking import stacking_weights

MEMBERS = "matern:vb,matern:ep,additive:ep,quantiles:ep,laplacian:ep"
#: Pseudo-count of each member, as in ``training.family``.
PSEUDO_COUNT = 0.3


def measure(name: str, seed: int, member: str) -> dict[str, Any]:
    """Log probabilities of training labels without themselves and of test labels, and CPU seconds."""
    warnings.simplefilter("ignore")
    kernel, engine = member.split(":")
    X, y = load(name)
    train, test, y_train, y_test = split(X, LabelEncoder().fit_transform(y), seed)
    start = time.process_time()
    model = GPClassifier(kernel, inference=engine, random_state=seed).fit(train, y_train)
    seconds = time.process_time() - start
    own = model.loo_proba_[np.arange(len(y_train)), y_train]
    log_test = model.predict_log_proba(test)[np.arange(len(y_test)), y_test]
    common = {"set": name, "seed": seed, "member": member, "seconds": seconds}
    return {**common, "loo": np.log(np.maximum(own, 1e-300)), "test": log_test}


def stacked_loss(parts: list[dict[str, Any]]) -> float:
    weights = stacking_weights(np.array([part["loo"] for part in parts]), np.full(len(parts), PSEUDO_COUNT))
    return -float(np.log(weights @ np.exp([part["test"] for part in parts])).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=(*TABLES, *NUMBERS))
    parser.add_argument("--members", default=MEMBERS)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    members = asked.members.split(",")
    cases = [(name, seed) for name in asked.sets for seed in range(asked.first_seed, asked.first_seed + asked.splits)]
    jobs = [(*case, member) for case in cases for member in members]
    found = dict(zip(jobs, Parallel(n_jobs=asked.jobs)(delayed(measure)(*job) for job in jobs), strict=True))
    rows = []
    for size in range(1, min(3, len(members)) + 1):
        for family in combinations(members, size):
            losses = [stacked_loss([found[*case, member] for member in family]) for case in cases]
            seconds = [sum(found[*case, member]["seconds"] for member in family) for case in cases]
            rows.append({"members": " + ".join(family), "loss": np.mean(losses), "seconds": np.mean(seconds)})
    print(pd.DataFrame(rows).sort_values("loss").round({"loss": 4, "seconds": 2}).to_string(index=False))


if __name__ == "__main__":
    main()

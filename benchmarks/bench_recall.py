"""What an approximate search for neighbours costs in accuracy, and what it saves in time.

python benchmarks/bench_recall.py [covtype-50000] [--max-iter 300]

One nearest-neighbour model, its 10,000 test rows predicted with an exact index and with approximate ones that look
into more or fewer cells: share of the 100 true neighbours found, log loss, seconds of building and searching.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace

import numpy as np
from bench_middle import load

from gpclass import NearestNeighborGPClassifier
from gpclass.inference.neighbors import search


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="covtype-50000")
    parser.add_argument("--max-iter", type=int, default=300)
    asked = parser.parse_args()
    X, y, X_test, y_test = load(asked.data, 0)
    model = NearestNeighborGPClassifier(global_model=False, max_iter=asked.max_iter, random_state=0).fit(X, y)
    local, truth = model.posterior_, np.searchsorted(model.classes_, y_test)
    queries = local.regression.points(model._rows(X_test))
    print("| index | recall | log loss | seconds |\n|" + " --- |" * 4)
    exact = None
    for kind, probes in (("exact", 0), *(("approximate", probes) for probes in (1, 4, 16, 64))):
        search.N_PROBES = probes
        model.posterior_ = replace(local, index=kind)
        start = time.perf_counter()
        found = model.posterior_.neighbor_index.search(queries, 100)
        seconds = time.perf_counter() - start
        exact = found if exact is None else exact
        recall = np.mean([len(np.intersect1d(a, b)) / 100 for a, b in zip(exact, found, strict=True)])
        loss = -np.mean(model.predict_log_proba(X_test)[np.arange(len(truth)), truth])
        name = kind if kind == "exact" else f"{kind}, {probes} cells"
        print(f"| {name} | {recall:.4f} | {loss:.4f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()

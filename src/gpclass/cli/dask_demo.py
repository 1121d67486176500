"""``python -m gpclass.cli.dask_demo``: a local cluster of two workers fits 1,000,000 generated rows."""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any

import numpy as np

from .. import SparseGPClassifier
from ._progress import FitStatus

N_COLUMNS = 20


def chunk(number: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a chunk and their labels: three smooth functions of six columns, with noise; the same each time."""
    rng = np.random.default_rng([7, number])
    X = rng.standard_normal((n_rows, N_COLUMNS))
    f = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] * X[:, 3], np.cos(X[:, 4]) + X[:, 5]])
    return X, np.argmax(f + 0.5 * rng.standard_normal(f.shape), axis=1)


def collection(n_rows: int, chunk_rows: int = 100_000) -> tuple[Any, Any]:
    """Dask arrays of rows, generated as they are needed, and of labels."""
    import dask.array as da

    sizes = (chunk_rows,) * (n_rows // chunk_rows) + ((n_rows % chunk_rows,) if n_rows % chunk_rows else ())

    def rows(block_info: Any = None) -> np.ndarray:
        number = block_info[None]["chunk-location"][0]
        return chunk(number, sizes[number])[0]

    def labels(X: np.ndarray, block_info: Any = None) -> np.ndarray:
        return chunk(block_info[None]["chunk-location"][0], len(X))[1]

    X = da.map_blocks(rows, chunks=(sizes, (N_COLUMNS,)), dtype=float, meta=np.empty((0, N_COLUMNS)))
    return X, da.map_blocks(labels, X, drop_axis=1, dtype=int, meta=np.empty(0, int))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--inducing", type=int, default=200)
    asked = parser.parse_args()
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR) as cluster,
        Client(cluster) as client,
    ):
        print(f"two workers, {client.dashboard_link}", flush=True)
        X, y = collection(asked.rows)
        start = time.perf_counter()
        model = SparseGPClassifier(n_inducing=asked.inducing, random_state=0)
        model.set_callbacks(FitStatus()).fit(X, y)
        print(
            f"{len(X)} rows in {len(X.chunks[0])} chunks: {time.perf_counter() - start:.0f} s, {model.n_iter_} rounds"
        )
    X_new, y_new = chunk(10**6, 20_000)
    proba = model.predict_proba(X_new)
    print(f"new rows: error {np.mean(proba.argmax(axis=1) != y_new):.2%}, ", end="")
    print(f"log loss {-np.log(proba[np.arange(len(y_new)), y_new]).mean():.4f}")


if __name__ == "__main__":
    main()

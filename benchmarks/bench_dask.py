"""Rows in Dask collections: time, CPU time and memory against one process, shards, lost workers, predictions.

python benchmarks/bench_dask.py rows [--rows 1000000] [--inducing 200]   # a cluster of two workers, 1.5 GiB each
python benchmarks/bench_dask.py memmap [--rows 1000000]                  # the same rows from a memory map
python benchmarks/bench_dask.py covtype                                  # 100,000 rows in 2, 8 and 32 chunks
python benchmarks/bench_dask.py neighbors [--rows 200000]                # covtype, nearest neighbours of all chunks
python benchmarks/bench_dask.py kill [--times 10]                        # kill -9 during the third round
python benchmarks/bench_dask.py predict [--rows 10000000]                # memory of the client
python benchmarks/bench_dask.py figure                                   # docs/_static/dask_time.svg of measured times

Rows have 20 columns of three classes and are generated as they are needed.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil

from gpclass.cli.dask_demo import N_COLUMNS as COLUMNS
from gpclass.cli.dask_demo import chunk, collection
from gpclass.papers.data import load

CHUNK = 100_000
FIGURES = Path(__file__).resolve().parents[1] / "docs"


def generate(block: int) -> tuple[np.ndarray, np.ndarray]:
    return chunk(block, CHUNK)


class Watch:
    """CPU seconds of some processes and their largest memory, while it is on."""

    def __init__(self, pids) -> None:
        self.processes, self.peak, self.on = [psutil.Process(pid) for pid in pids], 0, True

    def cpu(self) -> float:
        return sum(sum(one.cpu_times()[:2]) for one in self.processes if one.is_running())

    def __enter__(self):
        self.start, self.before = time.perf_counter(), self.cpu()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self) -> None:
        while self.on:
            self.peak = max([self.peak, *(one.memory_info().rss for one in self.processes if one.is_running())])
            time.sleep(0.1)

    def __exit__(self, *exception) -> None:
        self.on = False
        self.thread.join()
        self.seconds, self.cpu_seconds = time.perf_counter() - self.start, self.cpu() - self.before


def cluster(n_workers: int = 2):
    from distributed import Client, LocalCluster

    made = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        memory_limit="1.5GiB",
        dashboard_address=None,
        silence_logs=logging.ERROR,
    )
    return made, Client(made)


def worker_pids(client) -> list[int]:
    return list(client.run(os.getpid).values())


def model(n_inducing: int = 200, **settings):
    from gpclass import SparseGPClassifier

    return SparseGPClassifier(n_inducing=n_inducing, random_state=0, **settings)


def score(fitted) -> str:
    X, y = generate(10**6)
    proba = fitted.predict_proba(X)
    loss = -np.log(proba[np.arange(len(y)), y]).mean()
    return f"error {np.mean(proba.argmax(axis=1) != y):.4f}, log loss {loss:.5f}, {fitted.n_iter_} rounds"


def rows(asked) -> None:
    made, client = cluster(asked.workers)
    with made, client:
        X, y = collection(asked.rows)
        with Watch([os.getpid(), *worker_pids(client)]) as all_of_them, Watch(worker_pids(client)) as workers:
            fitted = model(asked.inducing).fit(X, y)
        print(
            f"{asked.rows} rows, S = {asked.inducing}, {asked.workers} worker(s): {all_of_them.seconds:.0f} s, "
            f"{all_of_them.cpu_seconds:.0f} s of CPU ({workers.cpu_seconds:.0f} of workers), worker at most "
            f"{workers.peak / 2**20:.0f} MiB, {score(fitted)}",
            flush=True,
        )


def memmap(asked) -> None:
    with tempfile.TemporaryDirectory() as folder:
        X = np.memmap(Path(folder) / "X", float, "w+", shape=(asked.rows, COLUMNS))
        y = np.empty(asked.rows, int)
        for block in range(asked.rows // CHUNK):
            own = slice(block * CHUNK, (block + 1) * CHUNK)
            X[own], y[own] = generate(block)
        with Watch([os.getpid()]) as here:
            fitted = model(asked.inducing).fit(X, y)
        print(
            f"{asked.rows} rows, S = {asked.inducing}, memory map: {here.seconds:.0f} s, {here.cpu_seconds:.0f} s of "
            f"CPU, at most {here.peak / 2**20:.0f} MiB, {score(fitted)}",
            flush=True,
        )


def covtype_rows(n: int) -> tuple[np.ndarray, ...]:
    """n rows to fit to, and 10,000 others."""
    stored = load("covtype")
    some = np.random.default_rng(0).permutation(len(stored["X"]))[: n + 10_000]
    X, y = stored["X"][some].astype(float), stored["y"][some]
    return X[:n], y[:n], X[n:], y[n:]


def neighbors(asked) -> None:
    """One process, chunks with a sample of a tenth, and these with noise, link and weights as the sample has them."""
    import dask.array as da

    from gpclass import NearestNeighborGPClassifier
    from gpclass.estimators.distributed import neighbors as chunked

    n = min(asked.rows, 500_000)
    X, y, X_new, y_new = covtype_rows(n)
    collected = da.from_array(X, (20_000, -1)), da.from_array(y, 20_000)
    learn, chunked.SAMPLE_ROWS = chunked._learn_link, n // 10
    for name, rows in (("20,000 rows a chunk", collected), ("link of the sample", collected), ("one process", (X, y))):
        chunked._learn_link = learn if name != "link of the sample" else lambda *args: None
        with Watch([os.getpid()]) as here:
            fitted = NearestNeighborGPClassifier(random_state=0).fit(*rows)
        proba = fitted.predict_proba(X_new)
        truth = np.searchsorted(fitted.classes_, y_new)
        loss = -np.log(proba[np.arange(len(truth)), truth]).mean()
        error = np.mean(proba.argmax(axis=1) != truth)
        print(
            f"{n} rows, {name}: {here.seconds:.0f} s, {here.cpu_seconds:.0f} s of CPU, error {error:.4f}, log loss "
            f"{loss:.4f}, share of the global model {fitted.global_weight_:.3f}",
            flush=True,
        )


def covtype(asked) -> None:
    import dask.array as da

    X, y, X_new, y_new = covtype_rows(100_000)
    start = time.perf_counter()
    one = model(500).fit(X, y)
    expected, seconds = one.predict_proba(X_new), time.perf_counter() - start
    truth = np.searchsorted(one.classes_, y_new)

    def loss(proba):
        return -np.log(proba[np.arange(len(truth)), truth]).mean()

    print(f"one process: {seconds:.0f} s, log loss {loss(expected):.5f}, {one.n_iter_} rounds", flush=True)
    for n_chunks in (2, 8, 32):
        size = -(-len(X) // n_chunks)
        start = time.perf_counter()
        fitted = model(500).fit(da.from_array(X, (size, -1)), da.from_array(y, size))
        found = fitted.predict_proba(X_new)
        apart = np.abs(found - expected)
        print(
            f"{n_chunks} chunks: {time.perf_counter() - start:.0f} s, log loss {loss(found):.5f}, {fitted.n_iter_} "
            f"rounds, probabilities differ by {apart.max():.5f} at most, {apart.mean():.6f} on average",
            flush=True,
        )


def kill(asked) -> None:
    rng = np.random.default_rng(0)
    expected = None
    logging.basicConfig(level=logging.WARNING)
    for attempt in range(asked.times + 1):
        made, client = cluster()
        with made, client:
            X, y = collection(asked.rows)
            victim, seen = worker_pids(client)[0], []

            def watch(seen=seen, victim=victim):
                while len(seen) < 3:
                    time.sleep(0.01)
                time.sleep(rng.uniform(0.0, 1.5))
                os.kill(victim, signal.SIGKILL)

            if attempt:
                threading.Thread(target=watch, daemon=True).start()
            from gpclass.inference.inducing import parallel_ep

            plain = parallel_ep._update
            parallel_ep._update = lambda *args, plain=plain, seen=seen: (seen.append(1), plain(*args))[1]
            try:
                fitted = model(100).fit(X, y)
            finally:
                parallel_ep._update = plain
            proba = fitted.predict_proba(generate(10**6)[0])
            if expected is None:
                expected = proba
            alive = psutil.pid_exists(victim)
            print(
                f"run {attempt}: worker {'alive' if alive else 'killed'}, {fitted.n_iter_} rounds, probabilities "
                f"differ by {np.abs(proba - expected).max():.1e} at most",
                flush=True,
            )


def predict(asked) -> None:
    made, client = cluster()
    with made, client:
        X, y = collection(200_000)
        fitted = model(100).fit(X, y)
        X, _ = collection(asked.rows)
        proba = fitted.predict_proba(X)
        with Watch([os.getpid()]) as here:
            confident = (proba.max(axis=1) > 0.9).mean().compute()
        with tempfile.TemporaryDirectory() as folder:
            with Watch([os.getpid()]) as writing:
                import dask.array as da

                da.to_npy_stack(folder, proba)
            size = sum(file.stat().st_size for file in Path(folder).iterdir())
        print(
            f"{asked.rows} rows: {here.seconds:.0f} s for a mean ({confident:.3f} confident), client at most "
            f"{here.peak / 2**20:.0f} MiB; {writing.seconds:.0f} s for {size / 2**20:.0f} MiB of files, client at most "
            f"{writing.peak / 2**20:.0f} MiB",
            flush=True,
        )


def figure(asked) -> None:
    import matplotlib.pyplot as plt

    measured = np.genfromtxt(FIGURES / "results" / "dask.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    plt.rcParams["svg.hashsalt"] = "gpclass"
    shown, axes = plt.subplots(figsize=(6, 3.6))
    for where in dict.fromkeys(measured["where"].tolist()):
        own = np.sort(measured[measured["where"] == where], order="rows")
        axes.loglog(own["rows"], own["seconds"], "o-", label=where)
    axes.set(xlabel="rows", ylabel="seconds")
    axes.legend(frameon=False)
    shown.savefig(FIGURES / "_static" / "dask_time.svg", bbox_inches="tight", metadata={"Date": None})


TASKS = {
    "figure": figure,
    "rows": rows,
    "memmap": memmap,
    "covtype": covtype,
    "neighbors": neighbors,
    "kill": kill,
    "predict": predict,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--inducing", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--times", type=int, default=10)
    asked = parser.parse_args()
    TASKS[asked.task](asked)

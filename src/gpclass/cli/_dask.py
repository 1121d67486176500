"""Tables of many files, by Dask: ``gpclass fit 'data/*.parquet' --dask`` and ``gpclass predict`` likewise."""

from __future__ import annotations

import logging
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ._console import count, fail, print_json, print_line
from ._help import HelpCommand
from ._progress import FitStatus

#: How long a scheduler may take to answer.
CONNECT = "10s"
#: What ``--dask`` without an address means.
HERE = "a cluster on this machine"
_ADDRESS = re.compile(r"^[\w.+-]+://|^[\w.-]+:\d+$")


class DaskCommand(HelpCommand):
    """A command whose ``--dask`` may stand alone, or before the address of a scheduler."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = []
        for place, one in enumerate(args):
            given.append(one)
            if one == "--dask" and not (args[place + 1 :] and _ADDRESS.match(args[place + 1])):
                given.append(HERE)
        return super().parse_args(ctx, given)


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    """A client, and a cluster on this machine where no address is given; ends with both."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise fail("--dask needs Dask: pip install 'gpclass[distributed]'") from None
    if address == HERE:
        with (
            LocalCluster(threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(address, timeout=CONNECT)
    except (OSError, TimeoutError) as error:
        raise fail(f"expected a Dask scheduler at {address}, got: {error}") from None
    with client:
        yield client


def _read(data: str) -> Any:
    """The files as a data frame of Dask."""
    import dask.dataframe as dd

    kind = Path(data).suffix.lower()
    try:
        if kind == ".parquet" or Path(data).is_dir():
            return dd.read_parquet(data)
        return dd.read_csv(data, sep="\t" if kind == ".tsv" else ",")
    except (OSError, ValueError) as error:
        raise fail(f"expected Parquet, CSV or TSV files in {data}: {error}") from None


def fit(data: str, target: str, save: Path | None, drop: list[str], address: str, json: bool) -> None:
    """Fit a ``SparseGPClassifier`` to all rows of the files."""
    from .. import SparseGPClassifier
    from .. import save as save_model

    with _cluster(address) as client:
        table = _read(data)
        missing = sorted({target, *drop} - set(table.columns))
        if missing:
            raise fail(f"expected columns {missing} in {data}, got {list(table.columns)}")
        X = table[[name for name in table.columns if name not in (target, *drop)]]
        if not json:
            print_line(f"{data}: {count(table.npartitions, 'part')}, {count(len(table.columns), 'column')}")
            print_line(f"Dask: {client.dashboard_link or client.scheduler.address}")
        model = SparseGPClassifier(random_state=0)
        model.set_callbacks(FitStatus())
        model.fit(X, table[target])
        model.set_callbacks()
    scores = _scores(model)
    saved = None if save is None else save_model(model, save)
    if json:
        summary = {"target": target, "classes": [str(label) for label in model.classes_], "scores": scores}
        print_json(summary | {"saved": None if saved is None else str(saved)})
        return
    print_line(
        f"error {scores['error']:.2%}, log loss {scores['log_loss']:.4f} (a sample of {count(scores['rows'], 'row')}, "
        "each without its own label)"
    )
    if saved is None:
        print_line("not saved; --save model.gpclass saves the model")
    else:
        print_line(
            f"saved as {saved}; next: gpclass predict {shlex.quote(str(saved))} 'NEW/*.parquet' --dask --out DIR"
        )


def _scores(model: Any) -> dict[str, Any]:
    """Leave-one-out scores of the sample."""
    proba, truth = model.loo_proba_, model.loo_labels_
    own = proba[np.arange(len(truth)), np.searchsorted(model.classes_, truth)]
    wrong, weights = model.classes_[proba.argmax(axis=1)] != truth, model.loo_weights_
    error, log_loss = (float(np.average(values, weights=weights)) for values in (wrong, -np.log(own)))
    return {"rows": len(truth), "error": error, "log_loss": log_loss}


def predict(model: Path, data: str, save: Path | None, address: str, json: bool) -> None:
    """Probabilities and labels of all rows, a Parquet file for each part."""
    from .. import load

    loaded = load(model)
    names = getattr(loaded, "feature_names_in_", None)
    if names is None or not hasattr(loaded, "classes_"):
        raise fail(f"expected a model saved by 'gpclass fit --dask' in {model}, got a {type(loaded).__name__}")
    if save is None:
        raise fail("expected a folder for the predictions: --out DIR", 2)
    if save.exists() and not (save.is_dir() and not any(save.iterdir())):
        raise fail(f"expected a new or empty folder for the predictions, got {save}", 2)
    with _cluster(address) as client:
        table = _read(data)
        missing = sorted(set(names) - set(table.columns))
        if missing:
            raise fail(f"expected columns {list(names)} in {data}, got none of {missing}")
        empty = _labelled(table._meta[list(names)], loaded)
        found = table[list(names)].map_partitions(_labelled, loaded, meta=empty)
        import dask
        from distributed import progress

        from ..estimators.distributed.collections import LARGE_GRAPH

        with dask.config.set({LARGE_GRAPH: "1 GiB"}):  # it holds the model
            writing = client.compute(found.to_parquet(save, write_index=False, compute=False))
        if not json and sys.stdout.isatty():
            progress(writing, notebook=False)
        writing.result()
    if json:
        print_json({"out": str(save), "parts": table.npartitions})
    else:
        print_line(f"{count(table.npartitions, 'part')} of predictions in {save}")


def _labelled(X: Any, model: Any) -> Any:
    """Label and probabilities of the rows of a part."""
    import pandas as pd

    proba = model.predict_proba(X) if len(X) else np.empty((0, len(model.classes_)))
    labels = model.classes_[proba.argmax(axis=1)] if len(X) else model.classes_[:0]
    columns = {f"p({label})": column for label, column in zip(model.classes_.tolist(), proba.T, strict=True)}
    return pd.DataFrame({"label": labels, **columns}, index=X.index)

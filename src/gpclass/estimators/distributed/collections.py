"""Dask collections of rows and labels as pairs of chunks, and how they are computed."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

from .._labels import check_labels

#: Partial sums that are added in one task.
_FAN_IN = 8
#: Packages whose versions must be the same on all workers.
_PACKAGES = ("gpclass", "numpy", "scipy", "scikit-learn", "dask")

#: Dask warns of graphs beyond this; those of a round hold the posterior.
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"
#: The name of the labels beside the columns of a data frame.
_LABELS = "labels of gpclass"

log = logging.getLogger("gpclass")


def is_collection(X: Any) -> bool:
    """Whether X is an array, data frame or series of Dask."""
    return "dask" in sys.modules and type(X).__module__.startswith(("dask.array", "dask.dataframe"))


def is_frame(X: Any) -> bool:
    return hasattr(X, "map_partitions") and X.ndim == 2 and hasattr(X, "columns")


@dataclass(frozen=True)
class Chunks:
    """Chunks of rows X with their labels y, as tasks of Dask that have not run; ``meta`` is an empty chunk of X.

    ``client`` was active when they were made, None where there was none: tasks run there or not at all. ``workers``
    are the addresses of those that were there the last time.
    """

    X: tuple[Any, ...]
    y: tuple[Any, ...]
    meta: Any
    client: Any = None
    workers: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, X: Any, y: Any) -> Chunks:
        """Refused where rows and labels do not come in the same chunks."""
        if y is None:
            raise ValueError("expected labels y beside a Dask collection X, got none")
        if is_frame(X):
            return cls(*_frame_chunks(X, y), X._meta, active_client())
        rows = row_chunks(X)
        labels = _label_chunks(y, X, len(rows))
        return cls(rows, labels, np.empty((0, X.shape[1]), X.dtype), active_client())

    def __len__(self) -> int:
        return len(self.X)

    def compute(self, tasks: list[Any]) -> list[Any]:
        """The results of tasks on these chunks."""
        return compute(tasks, self.client, self.workers)

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Tasks ``function(number, X, y, *args)`` for every chunk; what they share travels once to each worker."""
        from dask import delayed

        shared = delayed(_Shared(args), pure=True, traverse=False)
        task = delayed(_with_shared, pure=False)
        return [task(function, number, X, y, shared) for number, (X, y) in enumerate(zip(self.X, self.y, strict=True))]


class _Shared:
    """Arguments of all tasks of a round, which Dask is to leave as they are."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args


def _with_shared(function: Callable[..., Any], number: int, X: Any, y: Any, shared: _Shared) -> Any:
    return function(number, X, y, *shared.args)


def _frame_chunks(X: Any, y: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Rows and labels of partitions, read together: apart, Dask may divide them otherwise."""
    from dask import delayed

    if is_frame(y) and len(y.columns) == 1:
        y = y[y.columns[0]]
    if type(y).__module__.startswith("dask.array"):
        sizes = X.map_partitions(len).compute()
        y = y.rechunk((tuple(sizes),)) if sum(sizes) == len(y) else y
        y = y.to_dask_dataframe(index=X.index)
    if not (is_collection(y) and y.ndim == 1):
        raise ValueError(f"expected labels y in a column of Dask beside a Dask data frame X, got {type(y).__name__}")
    if y.npartitions != X.npartitions:
        raise ValueError(
            f"expected X and y in the same chunks, got {X.npartitions} of X and {y.npartitions} of y; take both from "
            "one data frame, or repartition them alike"
        )
    parts = X.assign(**{_LABELS: y}).to_delayed()
    without = delayed(_without_labels, pure=True)
    return tuple(without(part) for part in parts), tuple(part[_LABELS] for part in parts)


def _without_labels(part: Any) -> Any:
    return part.drop(columns=_LABELS)


def row_chunks(X: Any) -> tuple[Any, ...]:
    """The tasks that give the chunks of rows."""
    if is_frame(X):
        return tuple(X.to_delayed())
    if getattr(X, "ndim", 0) != 2:
        raise ValueError(f"expected a Dask array X with two dimensions, or a Dask data frame, got {type(X).__name__}")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"expected a Dask array X of numbers, got {X.dtype}; columns of categories need a data frame")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return tuple(X.to_delayed().ravel())


def _label_chunks(y: Any, X: Any, n_chunks: int) -> tuple[Any, ...]:
    sizes: tuple[float, ...] = X.chunks[0]
    if not is_collection(y):
        if np.any(np.isnan(sizes)):
            raise ValueError(
                f"expected labels y in the chunks of X, got {type(y).__name__} beside chunks of unknown sizes; make y "
                "a Dask collection, or call X.compute_chunk_sizes() first"
            )
        import dask.array as da

        y = np.asarray(check_labels(y))
        if y.shape[:1] != (sum(sizes),):
            raise ValueError(f"expected as many labels as rows, got {np.shape(y)} labels for {sum(sizes)} rows")
        y = da.from_array(y, chunks=(sizes, *y.shape[1:]))
    if is_frame(y):
        if len(y.columns) != 1:
            raise ValueError(f"expected one column of labels, got {len(y.columns)}")
        y = y[y.columns[0]]
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if getattr(y, "ndim", 1) != 1:
        raise ValueError(f"expected labels y (n,), got a collection of {y.ndim} dimensions")
    known = hasattr(y, "chunks") and not np.any(np.isnan(sizes + y.chunks[0]))
    if known and y.chunks[0] != sizes:
        if sum(sizes) != sum(y.chunks[0]):
            raise ValueError(f"expected as many labels as rows, got {sum(y.chunks[0])} labels for {sum(sizes)} rows")
        y = y.rechunk((sizes,))
    labels = tuple(np.ravel(y.to_delayed()))
    if len(labels) != n_chunks:
        raise ValueError(
            f"expected X and y in the same chunks, got {n_chunks} of X and {len(labels)} of y; take both from one data "
            "frame, or rechunk them alike"
        )
    return labels


# ---- computing ------------------------------------------------------------------------------------------


def total(parts: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    """One task that adds up the results of ``parts`` in a tree, always in the same order."""
    from dask import delayed

    task = delayed(_sum_of, pure=False)
    parts = list(parts)
    while len(parts) > 1:
        parts = [task(add, *parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    return parts[0]


def _sum_of(add: Callable[[Any, Any], Any], first: Any, *others: Any) -> Any:
    for other in others:
        first = add(first, other)
    return first


def active_client() -> Any:
    """The client of ``distributed`` that computes collections at present, or None."""
    from dask.base import get_scheduler

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if type(owner).__module__.startswith("distributed") else None


def compute(tasks: list[Any], client: Any, workers: set[str]) -> list[Any]:
    """The results of tasks. ``workers`` that were lost are reported in the log, and replaced by those there are."""
    import dask

    if client is None:
        return list(dask.compute(*tasks))
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        if client.status != "running":
            raise CommClosedError(client.status)
        before = workers or _workers(client)
        with dask.config.set({LARGE_GRAPH: "1 GiB"}):
            results = list(dask.compute(*tasks, scheduler=client))
        present = _workers(client)
    except KilledWorker as error:
        raise MemoryError(
            f"workers died again and again with the same chunk ({error}); where they ran out of memory, take smaller "
            "chunks"
        ) from None
    except (FutureCancelledError, CommClosedError, TimeoutError) as error:
        raise ConnectionError(
            f"the Dask scheduler is gone ({type(error).__name__}); with checkpoint= a fit on a new cluster goes on "
            "from its last round"
        ) from None
    if gone := before - present:
        log.warning("%d of %d Dask workers lost, their chunks were computed again", len(gone), len(before))
    workers.clear()
    workers.update(present)
    return results


def _workers(active: Any) -> set[str]:
    """Addresses of the workers; one that is started again has another."""
    return set(active.scheduler_info(n_workers=-1)["workers"])


def versions() -> dict[str, str]:
    """Versions of what results depend on."""
    return {name: version(name) for name in _PACKAGES} | {"python": "{}.{}".format(*sys.version_info)}


def check_versions(client: Any) -> None:
    """Refuse workers with other versions than here."""
    if client is None:
        return
    ours = versions()
    for address, theirs in client.run(versions).items():
        for name, one in ours.items():
            if theirs[name] != one:
                raise RuntimeError(f"expected {name} {one} on every worker, as here; {address} has {theirs[name]}")

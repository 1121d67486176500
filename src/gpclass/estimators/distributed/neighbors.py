"""Nearest-neighbour models of Dask collections: every chunk is searched where it is, the nearest rows are merged."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...inference.base import Latent
from ...inference.calibration import Calibration
from ...inference.neighbors.local import LocalRegression
from ...inference.neighbors.posterior import NeighborPosterior
from .._labels import Labels
from .collections import Chunks, check_versions
from .survey import Survey, checksum, sample, survey, with_categories

#: The metric, the link and the global model are learned from about so many rows.
SAMPLE_ROWS = 100_000


class Candidates(NamedTuple):
    """The nearest rows of a chunk to some queries: squared distances (b, m), rows (b, m, d), targets (b, m, C)."""

    distance: np.ndarray
    X: np.ndarray
    targets: np.ndarray


@dataclass(frozen=True)
class ChunkedNeighborPosterior:
    """Regression of new rows on the nearest rows of all chunks.

    ``shards`` are tasks that give a ``NeighborPosterior`` of each chunk, None where it is empty.
    """

    chunks: Chunks
    shards: tuple[Any, ...]
    regression: LocalRegression
    n_neighbors: int
    n_latent: int
    n_rows: int

    def latent(self, X: np.ndarray) -> Latent:
        """Marginal means and variances (m, C) at new rows, which travel to all chunks."""
        from dask import delayed

        (found,) = self.chunks.compute([self.latent_task(delayed(X, traverse=False))])
        return found

    def latent_task(self, X: Any) -> Any:
        """A task that gives the same for the rows that a task gives."""
        from dask import delayed

        search = delayed(_candidates, pure=False)
        nearest = [search(shard, X, self.n_neighbors) for shard in self.shards]
        return delayed(_merged, pure=False)(self.regression, self.n_neighbors, self.n_latent, X, *nearest)

    def predict_log(self, likelihood: Any, X: np.ndarray, calibration: Calibration) -> np.ndarray:
        """log probabilities (m, K) of the labels of new rows."""
        return calibration.log_proba(likelihood, *self.latent(X))

    def joint(self, X: np.ndarray) -> Latent:
        raise ValueError("nearest-neighbour models have no covariances between new rows; expected full_cov=False")

    def sample(self, X: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        raise ValueError("nearest-neighbour models have no covariances between new rows, so no draws of functions")

    @property
    def X(self) -> np.ndarray:
        raise AttributeError("expected training rows in memory, and they are in a Dask collection")

    def extended(self, *rows: Any) -> Any:
        raise TypeError("partial_fit needs the training rows in memory, and they are in a Dask collection; fit anew")

    def compact(self) -> Any:
        raise TypeError("a file needs the training rows in memory, and they are in a Dask collection")


def _candidates(shard: NeighborPosterior | None, X: np.ndarray, n_neighbors: int) -> Candidates | None:
    """The rows of a chunk that may be among the nearest."""
    if shard is None or not len(X):
        return None
    queries = shard.regression.points(X)
    found = shard.neighbor_index.search(queries, min(n_neighbors, len(shard.X)))
    near = shard.X[found]
    apart = shard.regression.points(near.reshape(-1, X.shape[1])).reshape(*found.shape, -1) - queries[:, None]
    return Candidates(np.einsum("bmd,bmd->bm", apart, apart), near, shard.targets[found])


def _merged(
    regression: LocalRegression, n_neighbors: int, n_latent: int, X: np.ndarray, *found: Candidates | None
) -> Latent:
    """Regression on the nearest of all candidates."""
    parts = [one for one in found if one is not None]
    if not parts:
        return Latent(np.empty((0, n_latent)), np.empty((0, n_latent)))
    distance, near, targets = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    chosen = np.argsort(distance, axis=1, kind="stable")[:, :n_neighbors]
    rows = np.arange(len(X))[:, None]
    near, targets = near[rows, chosen], targets[rows, chosen]
    b, m, d = near.shape
    mean, variance = regression.moments(
        np.ascontiguousarray(near.reshape(b * m, d)),
        np.ascontiguousarray(targets.reshape(b * m, -1)),
        X,
        np.arange(b * m).reshape(b, m),
    )
    return Latent(mean, np.repeat(variance[:, None], n_latent, axis=1))


# ---- fits -----------------------------------------------------------------------------------------------


def fit_chunks(estimator: Any, X: Any, y: Any, rng: np.random.Generator, fit_sample: Callable[..., Any]) -> Any:
    """The estimator, fitted to a sample of the rows, to predict from all of them."""
    chunks = Chunks.of(X, y)
    check_versions(chunks.client)
    found = survey(chunks)
    Labels.of(found.labels)  # at least two
    given, y_few, _ = sample(chunks, found, SAMPLE_ROWS, rng, least=1)
    given, n_more = with_categories(given, found)
    before = dict(vars(estimator))
    try:
        fit_sample(given, np.concatenate([y_few[:1].repeat(n_more), y_few]), n_more)
        _take_all_rows(estimator, chunks, found)
    except BaseException:
        estimator.__dict__ = before
        raise
    return estimator


def _take_all_rows(fitted: Any, chunks: Chunks, found: Survey) -> None:
    """Let a model of the sample predict from the rows of all chunks."""
    local = fitted._local
    empty = replace(local, X=local.X[:0], targets=local.targets[:0])
    reader = _ShardReader(_without_rows(fitted), found.checksums, empty)
    sharded = ChunkedNeighborPosterior(
        chunks,
        tuple(chunks.each(_shard, reader)),
        replace(local.regression, sent=None),
        local.n_neighbors,
        local.n_latent,
        found.n_rows,
    )
    posterior = fitted.posterior_
    fitted.posterior_ = sharded if posterior is local else replace(posterior, local=sharded)
    fitted.n_samples_seen_ = found.n_rows


@dataclass(frozen=True)
class _ShardReader:
    """How a chunk becomes the training rows of a posterior; the ``model`` has its columns and its metric."""

    model: Any
    checksums: tuple[int, ...]
    empty: NeighborPosterior

    def read(self, number: int, X: Any, y: Any) -> NeighborPosterior | None:
        if checksum(X, y) != self.checksums[number]:
            raise ValueError(f"expected the rows of the fit, got others in chunk {number}: persist() the collection")
        if not len(X):
            return None
        codes = self.model._labels.encode(np.asarray(y))
        targets = self.model._targets_of(codes, self.model._shares)
        return replace(self.empty, X=np.ascontiguousarray(self.model._rows(X)), targets=targets)


def _shard(number: int, X: Any, y: Any, reader: _ShardReader) -> NeighborPosterior | None:
    return reader.read(number, X, y)


def _without_rows(fitted: Any) -> Any:
    """The model without its training rows, which reads new ones."""
    found = copy(fitted).set_callbacks()
    found.posterior_ = None
    return found


# ---- predictions ----------------------------------------------------------------------------------------


class _LatentOf:
    """Latent values that are there already, in place of a posterior that would compute them."""

    def __init__(self, found: Latent) -> None:
        self.found = found

    def latent(self, X: Any) -> Latent:
        return self.found

    def predict_log(self, likelihood: Any, X: Any, calibration: Calibration) -> np.ndarray:
        return calibration.log_proba(likelihood, *self.found)


def is_chunked(model: Any) -> bool:
    """Whether the training rows of a model are those of a collection."""
    return isinstance(getattr(getattr(model, "posterior_", None), "local", model.posterior_), ChunkedNeighborPosterior)


def width_of(model: Any, method: str) -> int | None:
    """How many numbers ``method`` gives for each row, None for one without an axis of its own."""
    n_classes = len(getattr(model, "classes_", ()))
    one = method == "predict" or (method == "decision_function" and n_classes == 2)
    return None if one else n_classes


def prediction_tasks(model: Any, method: str) -> Callable[[Any], Any]:
    """A function from the task that gives a chunk of rows to the task that predicts them from the nearest of all."""
    from dask import delayed

    posterior = model.posterior_
    local = getattr(posterior, "local", posterior)
    both = _without_rows(model), None if posterior is local else replace(posterior, local=None)
    shared = delayed(both, pure=True, traverse=False)
    points, predicted = delayed(_points, pure=False), delayed(_predicted, pure=False)
    return lambda X: predicted(shared, method, X, local.latent_task(points(shared, X)))


def _points(shared: tuple[Any, Any], X: Any) -> np.ndarray:
    return shared[0]._rows(X) if len(X) else np.empty((0, shared[0].n_features_in_))


def _predicted(shared: tuple[Any, Any], method: str, X: Any, found: Latent) -> np.ndarray:
    model, stacked = copy(shared[0]), shared[1]
    local = _LatentOf(found)
    model.posterior_ = local if stacked is None else replace(stacked, local=local)
    if not len(X):
        width = width_of(model, method)
        return model.classes_[:0] if method == "predict" else np.empty((0,) if width is None else (0, width))
    return getattr(model, method)(X)

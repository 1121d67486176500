"""Nearest-neighbour models of Dask collections: every chunk is searched where it is, the nearest rows are merged."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...hyper.metric_learning import LINK_ROWS, NeighborProblem, fit_link_to
from ...inference.base import Latent
from ...inference.calibration import Calibration
from ...inference.neighbors.local import LocalRegression
from ...inference.neighbors.posterior import NeighborPosterior
from ...training.neighbors import weigh_models
from .._labels import Labels
from .collections import Chunks, check_versions
from .survey import Survey, checksum, refuse_text, sample, survey, with_categories

#: The metric and the global model are learned from about so many rows.
SAMPLE_ROWS = 100_000
#: Numbers of neighbours that come to the client for the link, at most; and the fewest rows it is learned from.
_BATCH_VALUES, _LEAST_OUTSIDE = 10_000_000, 200


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
        found = [search(shard, X, self.n_neighbors) for shard in self.shards]
        return delayed(_predictions, pure=False)(self.regression, self.n_neighbors, self.n_latent, X, *found)

    def others_nearest_to(self, X: np.ndarray, chunk: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest rows (b, m, d) of all chunks, and their targets (b, m, C), to training rows X (b, d), which are
        those with number ``row`` of ``chunk`` and not among them."""
        from dask import delayed

        search, queries = delayed(_candidates, pure=False), delayed(X, traverse=False)
        found = [
            search(shard, queries, self.n_neighbors, np.where(chunk == number, row, -1))
            for number, shard in enumerate(self.shards)
        ]
        (nearest,) = self.chunks.compute([delayed(_nearest, pure=False)(self.n_neighbors, *found)])
        return nearest

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


def _candidates(
    shard: NeighborPosterior | None, X: np.ndarray, n_neighbors: int, own: np.ndarray | None = None
) -> Candidates | None:
    """The rows of a chunk that may be among the nearest; ``own`` are the numbers in it of rows that are to be left out,
    -1 for none."""
    if shard is None or not len(X):
        return None
    queries = shard.regression.points(X)
    found = shard.neighbor_index.search(queries, min(n_neighbors + (own is not None), len(shard.X)))
    near = shard.X[found]
    apart = shard.regression.points(near.reshape(-1, X.shape[1])).reshape(*found.shape, -1) - queries[:, None]
    distance = np.einsum("bmd,bmd->bm", apart, apart)
    if own is not None:
        distance[found == own[:, None]] = np.inf
    return Candidates(distance, near, shard.targets[found])


def _nearest(n_neighbors: int, *found: Candidates | None) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of all candidates, and their targets."""
    parts = [one for one in found if one is not None]
    distance, near, targets = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    chosen = np.argsort(distance, axis=1, kind="stable")[:, :n_neighbors]
    rows = np.arange(len(distance))[:, None]
    return near[rows, chosen], targets[rows, chosen]


def _predictions(
    regression: LocalRegression, n_neighbors: int, n_latent: int, X: np.ndarray, *found: Candidates | None
) -> Latent:
    """Regression on the nearest of all candidates."""
    if all(one is None for one in found):
        return Latent(np.empty((0, n_latent)), np.empty((0, n_latent)))
    near, targets = _nearest(n_neighbors, *found)
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
    given, y_few, few = sample(chunks, found, SAMPLE_ROWS, rng, least=1)
    refuse_text(given)
    given, n_more = with_categories(given, found)
    before = dict(vars(estimator))
    try:
        fit_sample(given, np.concatenate([y_few[:1].repeat(n_more), y_few]), n_more)
        _take_all_rows(estimator, chunks, found)
        if found.n_rows > len(few):
            _learn_link(estimator, chunks, found, few, rng)
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


def _learn_link(fitted: Any, chunks: Chunks, found: Survey, few: np.ndarray, rng: np.random.Generator) -> None:
    """Learn noise, link, a common factor of the length-scales and the share of the global model anew, by rows outside
    of the sample, whose numbers are ``few``, and their nearest rows of all chunks: these are closer than the nearest of
    the sample."""
    sharded = fitted._local
    values_of_row = sharded.n_neighbors * len(fitted._embedding.columns)
    n_rows = int(np.clip(_BATCH_VALUES // values_of_row, 200, LINK_ROWS))
    given, labels, numbers = sample(chunks, found, n_rows, rng, least=1)
    outside = np.flatnonzero(~np.isin(numbers, few))
    if len(outside) < _LEAST_OUTSIDE:
        return
    given = given.iloc[outside] if hasattr(given, "iloc") else given[outside]
    codes, numbers = fitted._labels.encode(labels[outside]), numbers[outside]
    ends = np.cumsum(found.sizes)
    chunk = np.searchsorted(ends, numbers, side="right")
    X = np.ascontiguousarray(fitted._rows(given))
    near, targets = sharded.others_nearest_to(X, chunk, numbers - (ends - found.sizes)[chunk])
    b, m, d = near.shape
    problem = NeighborProblem(
        fitted.kernel_,
        fitted.likelihood_,
        np.concatenate([X, near.reshape(b * m, d)]),
        np.concatenate([codes, np.zeros(b * m, codes.dtype)]),
        np.concatenate([fitted._targets_of(codes, fitted._shares), targets.reshape(b * m, -1)]),
        noise=sharded.regression.noise,
        embedding=sharded.regression.embedding,
    )
    rows, neighbors = rng.permutation(b), b + np.arange(b * m).reshape(b, m)
    if fitted.hyper == "loo":
        problem = _better_link(problem, rows[: b // 2], rows[b // 2 :], neighbors, rng)
    log_local = _log_proba(problem, np.arange(b), neighbors)
    posterior = fitted.posterior_
    global_model = getattr(posterior, "global_model", None)
    log_global = None if global_model is None else global_model.predict_log(X)
    share, calibration = weigh_models(log_local, log_global, codes, None, fitted._calibrates)
    local = replace(sharded, regression=problem.regression)
    fitted.posterior_ = replace(posterior, local=local, weight=share) if share else local
    fitted.global_weight_ = share
    fitted.calibration_ = calibration
    fitted.kernel_, fitted.likelihood_ = problem.kernel, problem.link
    fitted.hyper_ = replace(fitted.hyper_, theta=problem.theta)


def _better_link(
    problem: NeighborProblem, fitted: np.ndarray, tested: np.ndarray, neighbors: np.ndarray, rng: np.random.Generator
) -> NeighborProblem:
    """The problem with the link that one half of the rows asks for, where the other half is predicted better by it."""
    found = fit_link_to(problem, fitted, neighbors[fitted], len(fitted), rng)
    y = problem.y[tested]
    before, after = (_log_proba(one, tested, neighbors[tested])[np.arange(len(y)), y] for one in (problem, found))
    return found if after.mean() > before.mean() else problem


def _log_proba(problem: NeighborProblem, rows: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """Log probabilities (b, K) of rows (b,) by their neighbours (b, m) among the others."""
    mean, variance = problem.regression.moments(problem.X, problem.targets, problem.X[rows], neighbors)
    return problem.link.predict_log(mean, np.repeat(variance[:, None], mean.shape[1], axis=1))


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

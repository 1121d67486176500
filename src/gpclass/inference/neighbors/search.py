"""Search for nearest rows: by faiss where it is installed (``pip install gpclass[neighbors]``), or by scikit-learn."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ...numerics.devices import HOST, Place
from .on_device import device_search

INDICES = ("auto", "exact", "approximate")
#: From so many rows on "auto" is approximate, where faiss is installed.
MANY_ROWS = 100_000
#: Cells that an approximate search looks at: 0.998 of the 80 nearest of 500,000 rows of covtype are found.
N_PROBES = 16
#: Rows of a cell, at least: faiss warns of fewer.
_CELL_ROWS = 40
#: With more columns than this trees are no faster than comparing all rows.
_TREE_COLUMNS = 12


class NeighborIndex:
    """Finds the nearest of some rows (n, d) in Euclidean distance.

    Parameters
    ----------
    rows : (n, d) in units of the length-scales
    kind : "auto", "exact" or "approximate"
        "approximate" looks for neighbours in the cells around a row alone, which needs faiss; "auto" does so for many
        rows.
    many_rows : int
        How many rows are many.
    place : Place
        On a device the search is always exact.
    """

    def __init__(self, rows: np.ndarray, kind: str = "auto", many_rows: int = MANY_ROWS, place: Place = HOST) -> None:
        self.n_rows, self._dtype = len(rows), np.float32 if place.on_host else np.float64
        if not place.on_host:
            self._search = device_search(rows, place)
            return
        has_faiss = find_spec("faiss") is not None
        if kind == "approximate" and not has_faiss:
            raise ImportError("index='approximate' needs faiss: pip install 'gpclass[neighbors]'")
        rows = np.ascontiguousarray(rows, np.float32)
        approximate = kind == "approximate" or (kind == "auto" and len(rows) >= many_rows)
        self._search = _faiss_search(rows, approximate) if has_faiss else _sklearn_search(rows)

    def search(self, queries: np.ndarray, n_neighbors: int, own: np.ndarray | None = None) -> np.ndarray:
        """The numbers (b, n_neighbors) of the nearest rows, nearest first.

        ``own`` (b,) are the numbers of the queries themselves, which are left out. An approximate search that finds
        too few rows fills up with those it found.
        """
        queries = np.ascontiguousarray(queries, self._dtype)
        if own is None:
            return _filled(self._search(queries, n_neighbors))
        found = _filled(self._search(queries, n_neighbors + 1))
        # Among equal rows the row itself may not be the first, or not be found at all: then the last one goes.
        itself = found == own[:, None]
        itself[~itself.any(axis=1), -1] = True
        return found[~itself].reshape(len(found), n_neighbors)


def _filled(found: np.ndarray) -> np.ndarray:
    """Neighbours with the nearest one in place of those not found (-1)."""
    return np.where(found < 0, found[:, :1], found)


def _faiss_search(rows: np.ndarray, approximate: bool) -> Any:
    import faiss

    n, d = rows.shape
    index: Any = faiss.IndexFlatL2(d)
    if approximate:
        n_cells = min(int(4.0 * np.sqrt(n)), n // _CELL_ROWS)
        index = faiss.IndexIVFFlat(index, d, max(1, n_cells))
        index.cp.niter, index.cp.max_points_per_centroid, index.nprobe = 8, 64, N_PROBES
        index.train(rows)
    index.add(rows)
    return lambda queries, m: index.search(queries, m)[1]


def _sklearn_search(rows: np.ndarray) -> Any:
    algorithm = "kd_tree" if rows.shape[1] <= _TREE_COLUMNS else "brute"
    index = NearestNeighbors(algorithm=algorithm).fit(rows)
    return lambda queries, m: index.kneighbors(queries, m, return_distance=False)

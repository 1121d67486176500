"""A sample of many rows that depends on the rows and a seed alone: not on their order, nor on the chunks they come in.

Every row has a number from 0 to 1, a hash of its values; those with the smallest are the sample.
"""

from __future__ import annotations

import numpy as np

#: Rows of a class in a sample, where there are so many.
LEAST_OF_CLASS = 20
#: Steps of SplitMix64 (Steele, Lea and Flood 2014).
_INCREMENT, _FIRST, _SECOND = (np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def _mixed(h: np.ndarray) -> np.ndarray:
    h = h + _INCREMENT
    h = (h ^ (h >> np.uint64(30))) * _FIRST
    h = (h ^ (h >> np.uint64(27))) * _SECOND
    return h ^ (h >> np.uint64(31))


def row_hashes(X: np.ndarray, seed: int) -> np.ndarray:
    """Hashes (n,) of the values of rows X (n, d)."""
    h = np.full(len(X), seed, np.uint64)
    for column in np.asarray(X, np.float64).T:
        h = _mixed(h ^ (column + 0.0).view(np.uint64))  # + 0.0 makes 0 of -0
    return h


def priorities(hashes: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 by which rows are chosen; rows with the same values get different ones."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    first = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1]) if len(hashes) else np.zeros(0, int)
    sizes = np.diff(np.append(first, len(hashes)))
    rank = np.empty(len(hashes), np.uint64)
    rank[order] = np.arange(len(hashes)) - np.repeat(first, sizes)
    return _mixed(hashes ^ _mixed(rank)) * 2.0**-64


def class_sizes(per_class: np.ndarray, n_rows: int, least: int = LEAST_OF_CLASS) -> np.ndarray:
    """How many rows of each class are in a sample of about ``n_rows``: the same share of each, but at least so many."""
    share = min(1.0, n_rows / per_class.sum())
    return np.minimum(np.maximum(np.ceil(share * per_class), least), per_class).astype(int)


def chosen(priority: np.ndarray, codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The rows of smallest priority in each class, in increasing order."""
    rows = [np.flatnonzero(codes == c) for c in range(len(sizes))]
    kept = [own[np.argsort(priority[own], kind="stable")[:size]] for own, size in zip(rows, sizes, strict=True)]
    return np.sort(np.concatenate(kept))

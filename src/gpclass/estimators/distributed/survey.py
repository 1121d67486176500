"""The first look at all chunks: sizes, moments, labels and categories; and a sample of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.preprocessing import StandardScaler

from .._frames import FrameColumns, refuse_repeated_columns
from .._inputs import refuse_huge
from .._labels import check_labels, label_column
from .._sampling import LEAST_OF_CLASS, chosen, class_sizes, priorities, row_hashes
from .collections import Chunks

#: Categories of a column, at most: identifiers have as many as there are rows.
_MOST_CATEGORIES = 10_000


@dataclass(frozen=True)
class Survey:
    """What a pass over all chunks found.

    ``sizes`` and ``checksums`` of the chunks; ``scaler`` of the numbers, with mean and variance 0 for other columns;
    ``labels`` that occur, and how often in each chunk (n_chunks, n_labels); ``categories`` of other columns by name.
    """

    sizes: np.ndarray
    checksums: tuple[int, ...]
    scaler: StandardScaler
    labels: np.ndarray
    counts: np.ndarray
    categories: dict[Any, list[Any]]

    @property
    def n_rows(self) -> int:
        return int(self.sizes.sum())


def survey(chunks: Chunks) -> Survey:
    """One pass over all rows."""
    refuse_columns(chunks.meta)
    found = chunks.compute(chunks.each(_summary, chunks.meta))
    sizes = np.array([one["n"] for one in found])
    if not sizes.sum():
        raise ValueError(f"expected rows, got {len(sizes)} empty chunk(s)")
    labels = sorted_labels([label for one in found for label in one["counts"]])
    counts = np.array([[one["counts"].get(label, 0) for label in labels.tolist()] for one in found])
    categories: dict[Any, list[Any]] = {}
    for one in found:
        for name, values in one["categories"].items():
            categories[name] = list(dict.fromkeys([*categories.get(name, []), *values]))
            _refuse_many(name, categories[name])
    scaler = _scaler([one["moments"] for one in found])
    return Survey(sizes, tuple(one["checksum"] for one in found), scaler, labels, counts, categories)


def refuse_columns(meta: Any) -> None:
    """Refuse a data frame without columns, with two of one name, or with a type that is no number and no category."""
    if not hasattr(meta, "columns"):
        return
    if not len(meta.columns):
        raise ValueError("expected at least one column, got a data frame without")
    refuse_repeated_columns(meta)
    for name in meta.columns:
        kind = str(meta[name].dtype).lower()
        if not (is_number(meta[name]) or kind.startswith(("category", "object", "str", "large_string"))):
            raise ValueError(
                f"column {name!r}: expected numbers, text or categories, got {meta[name].dtype}; make numbers of it "
                "with astype(float)"
            )


def _refuse_many(name: Any, values: Any) -> None:
    if len(values) > _MOST_CATEGORIES:
        raise ValueError(
            f"column {name!r}: expected at most {_MOST_CATEGORIES} categories, got more; drop it if it identifies rows"
        )


def sorted_labels(given: list[Any]) -> np.ndarray:
    """The distinct labels, refused where they are of different types."""
    distinct = list(dict.fromkeys(given))
    check_labels(distinct)
    return np.unique(np.asarray(distinct))


def checksum(X: Any, y: Any) -> int:
    """One number for the content of a chunk."""
    return crc32(_bytes(y), crc32(_bytes(X)))


def _bytes(part: Any) -> Any:
    if hasattr(part, "columns") or np.asarray(part).dtype.kind not in "biuf":
        import pandas as pd

        hashed = pd.util.hash_pandas_object(part if hasattr(part, "index") else pd.Series(part), index=False)
        return np.ascontiguousarray(hashed.to_numpy())
    return np.ascontiguousarray(part)


def _summary(number: int, X: Any, y: Any, meta: Any) -> dict[str, Any]:
    try:
        if len(X) != len(y):
            raise ValueError(f"expected as many labels as rows, got {len(y)} labels for {len(X)} rows")
        _check_columns(X, meta)
        numbers = _numbers(X)
        _refuse_missing(X, numbers)
        refuse_huge(numbers)
        categories = _categories(X) if hasattr(X, "columns") else {}
        found: dict[Any, int] = {}
        if len(X):
            values, counts = np.unique(label_column(y), return_counts=True)
            found = dict(zip(values.tolist(), counts.tolist(), strict=True))
    except ValueError as error:
        raise ValueError(f"chunk {number}: {error}") from None
    mean = numbers.mean(axis=0) if len(X) else np.zeros(numbers.shape[1])
    return {
        "n": len(X),
        "moments": (len(X), mean, ((numbers - mean) ** 2).sum(axis=0)),
        "counts": found,
        "categories": categories,
        "checksum": checksum(X, y),
    }


def _check_columns(X: Any, meta: Any) -> None:
    if not hasattr(meta, "columns"):
        if X.ndim != 2 or X.shape[1] != meta.shape[1] or X.dtype.kind not in "biuf":
            raise ValueError(f"expected numbers in {meta.shape[1]} columns, got {X.dtype} of shape {X.shape}")
        return
    if list(X.columns) != list(meta.columns):
        raise ValueError(f"expected columns {list(meta.columns)}, got {list(X.columns)}")
    for name in meta.columns:
        if is_number(X[name]) != is_number(meta[name]):
            raise ValueError(f"expected column {name!r} of {meta[name].dtype}, got {X[name].dtype}")


def is_number(column: Any) -> bool:
    return getattr(column.dtype, "kind", "O") in "biuf"


def _numbers(X: Any) -> np.ndarray:
    """X in double precision, with zeros for columns that hold no numbers."""
    if not hasattr(X, "columns"):
        return np.asarray(X, dtype=np.float64)
    return np.column_stack(
        [X[name].to_numpy(dtype=np.float64, na_value=np.nan) if is_number(X[name]) else np.zeros(len(X)) for name in X]
    )


def _refuse_missing(X: Any, numbers: np.ndarray) -> None:
    wrong = ~np.isfinite(numbers)
    if hasattr(X, "columns"):
        for j, name in enumerate(X.columns):
            if not is_number(X[name]):
                wrong[:, j] = X[name].isna().to_numpy()
    if np.any(wrong):
        row, column = (int(first[0]) for first in np.nonzero(wrong))
        name = repr(X.columns[column]) if hasattr(X, "columns") else column
        value = X.iloc[row, column] if hasattr(X, "columns") else X[row, column]
        raise ValueError(f"expected a value in every cell, got {value} in row {row}, column {name}")


def _categories(X: Any) -> dict[Any, list[Any]]:
    """The distinct values of the columns that hold no numbers."""
    found = {}
    for name in X:
        if is_number(X[name]):
            continue
        found[name] = values = X[name].unique().tolist()
        _refuse_many(name, values)
        if X[name].dtype != "category" and any(isinstance(value, (Real, Decimal)) for value in values):
            raise ValueError(f"column {name!r}: expected text, got numbers as objects; convert it with astype(float)")
    return found


def refuse_text(X: Any) -> None:
    """Refuse a sample with columns of text, whose words would have to be counted in all chunks."""
    words = FrameColumns.fit(X, with_words=True).words
    if words:
        raise ValueError(f"expected numbers and categories in a Dask collection, got text in {list(words)}")


def with_categories(X: Any, found: Survey) -> tuple[Any, int]:
    """A data frame after rows that hold all categories of its columns, and how many rows these are.

    Without them a sample would not tell of rare categories.
    """
    if not found.categories:
        return X, 0
    import pandas as pd

    n = max(map(len, found.categories.values()))
    X, more = X.copy(), X.iloc[np.zeros(n, int)].copy()
    for name, values in found.categories.items():
        padded = [*values, *values[:1] * (n - len(values))]
        if X[name].dtype == "category":
            X[name] = pd.Categorical(X[name].tolist(), categories=values)
            more[name] = pd.Categorical(padded, categories=values)
        else:
            more[name] = padded
    return pd.concat([more, X], ignore_index=True), n


def _scaler(moments: list[tuple[int, np.ndarray, np.ndarray]]) -> StandardScaler:
    """The scaler of all rows, from counts, means and sums of squares about the mean of each chunk."""
    n, mean, squares = moments[0]
    for more, other, own in moments[1:]:
        if more:
            shift, together = other - mean, n + more
            squares = squares + own + shift**2 * (n * more / together)
            mean, n = mean + shift * (more / together), together
    scaler = StandardScaler()
    scaler.mean_, scaler.var_, scaler.n_samples_seen_, scaler.n_features_in_ = mean, squares / n, n, len(mean)
    return scaler


# ---- a sample -------------------------------------------------------------------------------------------


def sample(
    chunks: Chunks, found: Survey, n_rows: int, rng: np.random.Generator, least: int = LEAST_OF_CLASS
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows X, labels y and numbers of about ``n_rows``: the same share of each class, but at least so many of it.

    The same as from memory (``_sampling``), but where many rows are equal.
    """
    seed, per_class = int(rng.integers(2**63)) if found.n_rows > n_rows else 0, found.counts.sum(axis=0)
    sizes_of_class = class_sizes(per_class, n_rows, least)
    # So large a share of each class holds the rows of smallest priority, and hardly more.
    bound = (sizes_of_class + 10.0 * np.sqrt(sizes_of_class) + 100.0) / per_class
    picked = chunks.compute(chunks.each(_pick, found.labels, bound, seed))
    codes = np.concatenate([own for *_, own in picked])
    kept = chosen(np.concatenate([own for *_, own, _ in picked]), codes, sizes_of_class)
    ends = np.cumsum([len(one[0]) for one in picked])
    picked = [
        _some(one, kept[(kept >= end - len(one[0])) & (kept < end)] - (end - len(one[0])))
        for one, end in zip(picked, ends, strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum(found.sizes)[:-1]])
    rows = np.concatenate([start + own for start, (_, _, own, *_) in zip(starts, picked, strict=True)])
    parts = [X for X, *_ in picked if len(X)]
    if hasattr(chunks.meta, "columns"):
        import pandas as pd

        # Categories of partitions may differ; concatenated, they would be numbers.
        for name in found.categories:
            if chunks.meta[name].dtype == "category":
                kind = pd.CategoricalDtype(found.categories[name])
                parts = [part.assign(**{name: part[name].astype(kind)}) for part in parts]
        X: Any = pd.concat(parts, ignore_index=True)
    else:
        X = np.concatenate(parts)
    return X, np.concatenate([y for _, y, *_ in picked]), rows


Picked = tuple[Any, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _pick(number: int, X: Any, y: Any, labels: np.ndarray, bound: np.ndarray, seed: int) -> Picked:
    """Rows of a chunk that may be in the sample: values, labels, numbers, priorities, codes."""
    given = np.asarray(y)
    numbers = X[[name for name in X if is_number(X[name])]] if hasattr(X, "columns") else X
    priority = priorities(row_hashes(_numbers(numbers) if numbers.shape[1] else np.zeros((len(X), 0)), seed))
    codes = np.searchsorted(labels, given)
    rows = np.flatnonzero(priority < bound[codes])
    values = X.iloc[rows] if hasattr(X, "columns") else np.asarray(X[rows], np.float64)
    return values, given[rows], rows, priority[rows], codes[rows]


def _some(picked: Picked, rows: np.ndarray) -> Picked:
    X, *others = picked
    return (X.iloc[rows] if hasattr(X, "columns") else X[rows], *(one[rows] for one in others))

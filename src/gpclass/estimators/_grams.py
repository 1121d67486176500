"""Gram matrices beside X: checked, and joined with its rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..kernels.precomputed import check_gram, constant_variance
from ..kernels.rows import GramRows, Rows


@dataclass(frozen=True)
class GramLayout:
    """Which Gram matrices there are, and what is known of the training rows in them."""

    n_train: int
    #: own variance of every row, or None where rows differ in it, by name
    variances: Mapping[str, float | None]
    #: which training rows each matrix knows, by name
    known: Mapping[str, np.ndarray]
    #: which objects of the matrices the training rows are, or None where the matrices have these rows alone
    objects: np.ndarray | None

    def extend(self, X: np.ndarray, grams: Any, rows: Any) -> Rows:
        """New rows X with their covariances beside them."""
        found = {}
        given = _named(grams, tuple(self.variances), "predict")
        objects = _checked_rows(rows, len(X))
        n = self.n_train
        for name, constant in self.variances.items():
            K = given[name]
            if objects is None:
                if K.shape not in ((len(X), n), (len(X), n + 1)):
                    raise ValueError(
                        f"Gram view {name!r}: expected covariances of {len(X)} rows with the {n} rows of fit, shape "
                        f"({len(X)}, {n}), or one column more for their own variances; got {K.shape}"
                    )
                own = K[:, n] if K.shape[1] == n + 1 else np.full(len(X), np.nan if constant is None else constant)
                cross = K[:, :n]
                if constant is None and K.shape[1] == n:
                    raise ValueError(
                        f"Gram view {name!r}: the rows of fit differ in their own variances, so new rows need theirs: "
                        f"expected shape ({len(X)}, {n + 1}) with k(x, x) in the last column, got {K.shape}"
                    )
            else:
                if self.objects is None:
                    raise ValueError("rows= says which objects of the Gram matrices these are: it was not given to fit")
                _check_objects(name, K, objects)
                cross, own = K[np.ix_(objects, self.objects)], K[objects, objects]
            known = ~np.isnan(cross).all(axis=1)
            whole = np.isfinite(cross[:, self.known[name]]).all(axis=1) & np.isfinite(own) & (own >= 0.0)
            if np.any(known & ~whole):
                row = int(np.flatnonzero(known & ~whole)[0])
                raise ValueError(
                    f"Gram view {name!r}: expected finite covariances and a variance >= 0, or only NaN if a "
                    f"row lacks this view; got others in row {row}"
                )
            found[name] = _gram_rows(np.full(len(X), -1), cross, own)
        return Rows(X, found)


def lay_out(X: np.ndarray, grams: Any, rows: Any, names: tuple[str, ...]) -> tuple[Rows, GramLayout]:
    """Training rows X with their covariances beside them, and what new rows need to be checked by."""
    given = _named(grams, names, "fit")
    objects = _checked_rows(rows, len(X))
    n = len(X)
    found, variances, known = {}, {}, {}
    for name in names:
        K = given[name]
        if objects is not None:
            _check_objects(name, K, objects)
            K = K[np.ix_(objects, objects)]
        if K.shape != (n, n):
            raise ValueError(f"Gram view {name!r}: expected a matrix of shape ({n}, {n}) for {n} rows, got {K.shape}")
        has = ~np.isnan(K).all(axis=1)
        inner = K[np.ix_(has, has)]
        if not len(inner) or not np.all(np.isfinite(inner)) or not np.all(np.isnan(K[:, ~has])):
            raise ValueError(
                f"Gram view {name!r}: expected finite numbers, or NaN in whole rows and columns if a "
                "row lacks this view"
            )
        check_gram(inner, f"Gram view {name!r}")
        variances[name], known[name] = constant_variance(inner), has
        found[name] = _gram_rows(np.arange(n), K, np.diag(K))
    return Rows(X, found), GramLayout(n, variances, known, objects)


def _gram_rows(index: np.ndarray, K: np.ndarray, variance: np.ndarray) -> GramRows:
    """Rows of one matrix; a row without any covariance is one of which it knows nothing."""
    return GramRows(index, np.where(np.isnan(K).all(axis=1), np.nan, variance), np.nan_to_num(K))


def _named(grams: Any, names: tuple[str, ...], method: str) -> dict[str, np.ndarray]:
    """The matrices of these names as arrays."""
    if not isinstance(grams, Mapping):
        got = "none" if grams is None else type(grams).__name__
        raise ValueError(
            f"expected {method}(..., grams={{name: matrix}}) with the Gram views {list(names)} of the kernel, got {got}"
        )
    missing = [name for name in names if name not in grams]
    if missing or len(grams) > len(names):
        raise ValueError(
            f"expected grams with the Gram views {list(names)} of the kernel, got {sorted(map(str, grams))}"
        )
    found = {}
    for name in names:
        given = grams[name].toarray() if sparse.issparse(grams[name]) else grams[name]
        try:
            K = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"Gram view {name!r}: expected a matrix of numbers, got {type(given).__name__}") from None
        if K.ndim != 2:
            raise ValueError(f"Gram view {name!r}: expected a matrix, got an array of shape {K.shape}")
        found[name] = K
    return found


def _checked_rows(rows: Any, n: int) -> np.ndarray | None:
    if rows is None:
        return None
    rows = np.asarray(rows)
    if rows.shape != (n,) or rows.dtype.kind not in "iu":
        raise ValueError(f"expected rows, a whole number for each of {n} rows, got {rows.dtype} of shape {rows.shape}")
    return rows


def _check_objects(name: str, K: np.ndarray, objects: np.ndarray) -> None:
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"Gram view {name!r}: with rows= expected the square matrix of all objects, got {K.shape}")
    if len(objects) and not (objects.min() >= 0 and objects.max() < len(K)):
        raise ValueError(
            f"Gram view {name!r}: expected rows between 0 and {len(K) - 1}, got {objects.min()} to {objects.max()}"
        )

"""Inputs as one fitted value: columns, categories, scaling, missing values, and Gram matrices beside X."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..kernels import Columns, Kernel, PerClass, WeightedSum
from ..kernels.rows import Rows, features, with_features
from ..kernels.views import EmptyRowError
from ..numerics.devices import HOST, Place
from ._grams import GramLayout, lay_out
from ._labels import is_missing, refuse_masked

#: The code of a category that did not occur in fit.
UNKNOWN = -1
#: Numbers beyond this have squares and products that no float holds.
LARGEST = 1e100
#: What ``validate_data`` takes for y where there is none to check; None is a y that was forgotten.
NO_TARGET = "no_validation"


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def refuse_huge(X: np.ndarray, first_row: int = 0) -> None:
    """Refuse numbers that cannot be squared; ``first_row`` is the number of the first row, where X is not all."""
    if X.size and max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None)) > LARGEST:
        row, column = (int(first[0]) for first in np.nonzero(np.abs(X) > LARGEST))
        raise ValueError(
            f"expected numbers of at most {LARGEST:g} in X, got {X[row, column]:g} in row {first_row + row}, "
            f"column {column}"
        )


@dataclass(frozen=True)
class Inputs:
    """How the X of a user becomes rows in the kernel's units; fitted once and then left alone.

    ``encoders`` holds an OrdinalEncoder for each column of categories, by name; ``mean`` and ``scale`` (n_features,)
    standardise the others, with an infinite scale for a column that was constant.
    """

    n_features: int
    names: np.ndarray | None
    mean: np.ndarray
    scale: np.ndarray
    encoders: Mapping[Any, OrdinalEncoder] = field(default_factory=dict)
    frame_columns: tuple[Any, ...] = ()
    takes_missing: bool = False
    grams: GramLayout | None = None
    #: where rows in the kernel's units live
    place: Place = HOST

    # ---- fitting ------------------------------------------------------------------------------------

    @classmethod
    def fit(cls, estimator: Any, X: Any, y: Any = NO_TARGET, **checks: Any) -> tuple[Inputs, np.ndarray, Any]:
        """Inputs without scaling yet, the checked rows, and y as scikit-learn's ``validate_data`` returns it.

        Nothing is written on the estimator: its checks run on a shallow copy.
        """
        probe, missing = copy.copy(estimator), takes_missing(estimator)
        vars(probe).pop("feature_names_in_", None)
        encoders = fit_encoders(X)
        coded = encoded(X, encoders, missing)[0] if encoders else X
        rows, y = _validated(probe, coded, y, missing, reset=True, given=X, **checks)
        names = getattr(probe, "feature_names_in_", None)
        frame_columns = tuple(X.columns) if encoders else ()
        n = rows.shape[1]
        return cls(n, names, np.zeros(n), np.ones(n), encoders, frame_columns, missing), rows, y

    @classmethod
    def of_blocks(cls, n_features: int) -> Inputs:
        """Inputs of rows that are read in blocks: numbers without names."""
        return cls(n_features, None, np.zeros(n_features), np.ones(n_features))

    def standardized(
        self,
        rows: Any,
        kernel: Any,
        standardize: Any,
        weights: Any = None,
        scaler: StandardScaler | None = None,
        constant_scale: float = np.inf,
    ) -> Inputs:
        """The same with means and scales of the columns: of ``rows``, or those of a ``scaler`` where rows are a part.

        "auto" standardises where there is no kernel, the name of one, or a ``WeightedSum``. A column that is constant
        says nothing: an infinite scale takes it out, whatever it holds at prediction.
        """
        if standardize not in ("auto", True, False):
            raise ValueError(f"standardize must be 'auto', True or False, got {standardize!r}")
        kernels = kernel.children if isinstance(kernel, PerClass) else (kernel,)
        automatic = all(one is None or isinstance(one, (str, WeightedSum)) for one in kernels)
        wanted = automatic if standardize == "auto" else standardize
        if wanted and isinstance(kernel, Kernel) and kernel.pairwise:
            raise ValueError("standardize=True makes no sense for a Precomputed kernel: X holds covariances")
        if not wanted:
            return self
        scaler = StandardScaler().fit(features(rows), sample_weight=weights) if scaler is None else scaler
        scaled = ~self._coded_columns(kernel)
        mean, spread = np.nan_to_num(scaler.mean_), np.sqrt(np.nan_to_num(scaler.var_))
        constant = spread <= 1e-12 * np.abs(mean)
        if np.all(constant) and np.all(scaled) and np.isinf(constant_scale) and not isinstance(rows, Rows):
            raise ValueError(
                f"expected at least one column that varies, got {self.n_features} constant column(s) over {len(rows)} "
                "rows"
            )
        scale = np.where(constant, constant_scale, spread)
        return replace(self, mean=np.where(scaled, mean, 0.0), scale=np.where(scaled, scale, 1.0))

    def _coded_columns(self, kernel: Any) -> np.ndarray:
        """Which features are codes of categories: by their column, or because the kernel takes them for such."""
        columns = self.columns
        coded = np.zeros(self.n_features, bool) if columns.categorical is None else columns.categorical.copy()
        if isinstance(kernel, Kernel):
            with suppress(ValueError):  # columns that are missing are reported when the kernel is bound
                coded |= kernel.categorical_columns(columns, self.n_features)
        return coded

    def with_grams(self, rows: np.ndarray, kernel: Any, grams: Any, objects: Any) -> tuple[Inputs, Any]:
        """The same with the Gram matrices that the kernel's views need, and the training rows with them."""
        names = tuple(dict.fromkeys(kernel.gram_names)) if isinstance(kernel, Kernel) else ()
        if not names:
            if grams is not None or objects is not None:
                raise ValueError("expected a kernel with Precomputed(name) views for grams= and rows=, got one without")
            return self, rows
        joined, layout = lay_out(rows, grams, objects, names)
        if not self.takes_missing:
            _refuse_unknown_rows(joined)
        return replace(self, grams=layout), joined

    # ---- afterwards ---------------------------------------------------------------------------------

    @property
    def columns(self) -> Columns:
        """What a kernel may know of the columns."""
        categorical = np.array([name in self.encoders for name in self.frame_columns]) if self.encoders else None
        return Columns(None if self.names is None else list(self.names), categorical)

    @property
    def numeric(self) -> bool:
        """Whether all columns are numbers that are always there."""
        return not (self.encoders or self.takes_missing)

    @property
    def categories(self) -> dict[Any, np.ndarray]:
        """The categories of each column that has them."""
        return {name: known_categories(encoder) for name, encoder in self.encoders.items()}

    def scaled(self, rows: Any) -> Any:
        """Checked rows in the kernel's units."""
        return with_features(rows, (features(rows) - self.mean) / self.scale)

    def sent(self, rows: Any) -> Any:
        """Rows in the kernel's units, in their place."""
        return rows.map(self.place.send) if isinstance(rows, Rows) else self.place.send(rows)

    def unscaled(self, rows: np.ndarray) -> np.ndarray:
        """Rows in the units of X; columns that were constant have that constant."""
        return rows * np.where(np.isinf(self.scale), 0.0, self.scale) + self.mean

    def check(self, estimator: Any, X: Any, y: Any = NO_TARGET, **checks: Any) -> tuple[np.ndarray, Any]:
        """New rows, and y where it is given, checked against the estimator's fit and not scaled yet."""
        coded, unknown = encoded(X, self.encoders, self.takes_missing)
        if unknown:
            warnings.warn(
                f"columns {unknown} hold categories that were not there in fit: they match none of those", stacklevel=5
            )
        return _validated(estimator, coded, y, self.takes_missing, reset=False, given=X, **checks)

    def transform(self, estimator: Any, X: Any, grams: Any = None, objects: Any = None) -> Any:
        """New rows in the kernel's units, with their covariances where the kernel has Gram views."""
        kernel = estimator.kernel_
        refuse_masked(X, "X")
        if kernel.pairwise:
            # Precomputed takes one more column: each new row's own variance.
            gram = check_array(X, dtype=np.float64)
            if gram.shape[1] == self.n_features + 1:
                return gram
        rows: Any = self.check(estimator, X)[0]
        if self.grams is None:
            if grams is not None or objects is not None:
                raise ValueError("the model has no Gram views: expected neither grams nor rows")
        else:
            rows = self.grams.extend(rows, grams, objects)
        if self.takes_missing:
            # Predictions go by blocks, which cannot tell the number of a row in X.
            empty = np.flatnonzero(~kernel.observed_rows(rows))
            if len(empty):
                raise EmptyRowError(int(empty[0]))
        elif isinstance(rows, Rows):
            _refuse_unknown_rows(rows)
        return self.scaled(rows)


def _refuse_unknown_rows(rows: Rows) -> None:
    """Refuse rows of which a Gram matrix knows nothing, for kernels that need all of their parts."""
    for name, gram in rows.grams.items():
        unknown = np.flatnonzero(np.isnan(gram.variance))
        if len(unknown):
            raise ValueError(
                f"Gram view {name!r}: expected covariances of every row, got NaN in row {unknown[0]}; rows of which a "
                "view knows nothing need a WeightedSum of views"
            )


def takes_missing(estimator: Any) -> bool:
    """Whether rows may have NaN."""
    return isinstance(estimator.kernel, Kernel) and estimator.kernel.takes_missing and estimator._allows_missing


def _validated(
    estimator: Any, X: Any, y: Any, missing: bool, *, reset: bool, given: Any, **checks: Any
) -> tuple[np.ndarray, Any]:
    """X and y as ``validate_data`` checks them, with messages that name what would work."""
    refuse_masked(given, "X")
    settings = {"dtype": np.float64, "reset": reset, "ensure_all_finite": "allow-nan" if missing else True, **checks}
    try:
        valid = validate_data(estimator, X, y, **settings)
    except ValueError as error:
        if str(error).startswith("Input X contains NaN"):
            raise ValueError(
                f"Input X contains NaN: expected a number in every cell for {type(estimator).__name__} and its kernel. "
                "Fill missing values with an imputer, take gpclass.tabular.TableModel, which does, or a WeightedSum of "
                "views"
            ) from None
        if not str(error).startswith("could not convert string to float"):
            raise
        if is_frame(given):  # of numbers in fit, which takes text for categories; or else y is at fault
            for name in given.columns:
                _numbers(name, given[name])
            raise
        raise ValueError(f"{error}; columns of categories need a data frame, got {type(given).__name__}") from error
    rows, y = (valid, None) if isinstance(y, str) and y == NO_TARGET else valid
    refuse_huge(rows)
    return rows, y


# ---- categories ---------------------------------------------------------------------------------------


def refuse_repeated_columns(X: Any) -> None:
    """Refuse a data frame with columns of the same name."""
    repeated = [name for name, count in Counter(X.columns).items() if count > 1]
    if repeated:
        raise ValueError(f"expected columns with different names, got {repeated[0]!r} more than once")


def fit_encoders(X: Any) -> dict[Any, OrdinalEncoder]:
    """An encoder for each column of a data frame that does not hold numbers."""
    if not is_frame(X):
        return {}
    refuse_repeated_columns(X)
    found = {}
    for name in X.columns:
        column, kind = np.asarray(X[name]), str(getattr(X[name], "dtype", "")).lower()
        if column.dtype.kind in "biuf" and kind != "category":
            continue
        values = [value for value in column.tolist() if not is_missing(value)]
        dated = column.dtype.kind in "mM" or kind.startswith(("datetime", "period", "timedelta"))
        if dated or any(isinstance(value, (date, timedelta)) for value in values):
            raise ValueError(f"column {name!r}: expected numbers or categories, got dates; make numbers of them first")
        if kind != "category" and all(isinstance(value, (Real, Decimal)) for value in values):
            continue
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=UNKNOWN)
        _refuse_mixed_categories(name, values)
        found[name] = encoder.fit(_cells(column))
    return found


def _refuse_mixed_categories(name: Any, values: list[Any]) -> None:
    kinds = {str if isinstance(value, str) else type(value) for value in values}
    names = sorted(kind.__name__ for kind in kinds)
    if len(kinds) > 1 and str in kinds:
        raise ValueError(f"column {name!r}: expected categories of one type, got a mixture of {' and '.join(names)}")
    try:
        sorted(set(values))
    except TypeError:
        raise ValueError(f"column {name!r}: expected text or other categories with an order, got {names[0]}") from None


def _cells(column: Any) -> np.ndarray:
    """A column (n, 1) of objects; None where a value is missing, or cannot be a category at all."""
    cells = np.empty((len(column), 1), dtype=object)
    cells[:, 0] = [None if is_missing(value) else value for value in np.asarray(column).tolist()]
    return cells


def known_categories(encoder: OrdinalEncoder) -> np.ndarray:
    """The categories of a column, without the missing value that may be among them."""
    found = [value for value in encoder.categories_[0].tolist() if value is not None]
    known = np.empty(len(found), dtype=object)
    known[:] = found
    return known


def encoded(X: Any, encoders: Mapping[Any, OrdinalEncoder], missing_is_nan: bool) -> tuple[Any, list[Any]]:
    """The frame with codes instead of categories, and which columns have unknown ones.

    A missing category is NaN, or (``missing_is_nan=False``) a category of its own if some were missing in fit.
    """
    if not encoders:
        return X, []
    if not is_frame(X):
        raise ValueError(
            f"expected a data frame with the columns of fit, among them {list(encoders)} with categories; got "
            f"{type(X).__name__}"
        )
    refuse_repeated_columns(X)
    names = list(X.columns)
    absent = [name for name in encoders if name not in names]
    if absent:
        raise ValueError(f"expected a column named {absent[0]!r}, as in fit; got {names}")
    coded, unknown = {}, []
    for name in names:
        if name not in encoders:
            coded[name] = _numbers(name, X[name])
            continue
        cells, encoder = _cells(X[name]), encoders[name]
        known = known_categories(encoder)
        some_missing = len(known) < len(encoder.categories_[0])
        absent_code = np.nan if missing_is_nan else float(len(known)) if some_missing else UNKNOWN
        hashable = np.array([_is_hashable(value) for value in cells[:, 0]], bool)
        codes = np.full(len(cells), float(UNKNOWN))
        if np.any(hashable):
            codes[hashable] = encoder.transform(cells[hashable])[:, 0]
        codes[np.array([value is None for value in cells[:, 0]], bool)] = absent_code
        if np.any(codes == UNKNOWN):
            unknown.append(name)
        coded[name] = codes
    return type(X)(coded), unknown


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _numbers(name: Any, column: Any) -> np.ndarray:
    try:
        return np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        values = [np.nan if is_missing(value) else value for value in np.asarray(column).tolist()]
        try:
            return np.array(values, dtype=float)
        except (TypeError, ValueError):
            wrong = next(value for value in values if not isinstance(value, (Real, Decimal)))
            raise ValueError(f"column {name!r}: expected numbers, as in fit, got {wrong!r}") from None

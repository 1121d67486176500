"""Inputs as one fitted value: columns, categories, scaling, missing values, and Gram matrices beside X."""

from __future__ import annotations

import copy
import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, validate_data

from ..kernels import Columns, Kernel, PerClass, WeightedSum
from ..kernels.rows import Rows, features, with_features
from ..kernels.views import EmptyRowError
from ..numerics.devices import HOST, Place
from ._features import FeatureMap
from ._frames import FrameColumns, is_frame, known_categories, numbers
from ._grams import GramLayout, lay_out
from ._labels import refuse_masked

#: Numbers beyond this have squares and products that no float holds.
LARGEST = 1e100
#: What ``validate_data`` takes for y where there is none to check; None is a y that was forgotten.
NO_TARGET = "no_validation"


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

    ``frame`` makes numbers of the columns of a data frame, ``feature_map`` features of those: missing values are
    filled, and what is made of columns is added (None where rows must have every value, or the kernel
    ``takes_missing``). ``mean`` and ``scale`` (n_features,) standardise features that are no codes of categories, with
    an infinite scale for one that was constant.
    """

    n_columns: int
    names: np.ndarray | None
    mean: np.ndarray
    scale: np.ndarray
    frame: FrameColumns = field(default_factory=FrameColumns)
    feature_map: FeatureMap | None = None
    takes_missing: bool = False
    grams: GramLayout | None = None
    #: where rows in the kernel's units live
    place: Place = HOST

    # ---- fitting ------------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls, estimator: Any, X: Any, y: Any = NO_TARGET, sample_weight: Any = None, **checks: Any
    ) -> tuple[Inputs, np.ndarray, Any]:
        """Inputs without scaling yet, the checked rows, and y as scikit-learn's ``validate_data`` returns it.

        What stands for missing values is learned from rows of positive ``sample_weight`` alone. Nothing is written on
        the estimator: its checks run on a shallow copy.
        """
        probe, missing = copy.copy(estimator), takes_missing(estimator)
        vars(probe).pop("feature_names_in_", None)
        default = estimator.kernel is None or isinstance(estimator.kernel, str)
        frame = FrameColumns.fit(X, with_words=default)
        allowed = allows_missing(estimator)
        rows, y = _validated(probe, frame.transform(X, missing)[0], y, allowed, reset=True, given=X, **checks)
        names = getattr(probe, "feature_names_in_", None)
        n = rows.shape[1]
        inputs = cls(n, names, np.zeros(n), np.ones(n), frame, takes_missing=missing)
        if allowed and not missing:
            inputs, rows = inputs._with_features(rows, _counting(sample_weight, rows), X, estimator.kernel, default)
        return inputs, rows, y

    def _with_features(
        self, rows: np.ndarray, counting: np.ndarray, X: Any, kernel: Any, adds: bool
    ) -> tuple[Inputs, np.ndarray]:
        """The same with a map from the columns to features, learned from the rows that are ``counting`` (n,), and the
        features of the training rows X.

        A kernel that the user gives has its own meaning of columns, so that nothing is added for it.
        """
        learned = rows[counting]
        empty = np.isnan(learned).all(axis=0)
        if np.any(empty):
            named = [self.column_names[j] for j in np.flatnonzero(empty)]
            if np.all(empty):
                raise ValueError(f"expected a column with values, got none in any row of {named}")
            warnings.warn(f"columns {named} have no value in any row: they are left out", stacklevel=5)
        frame = self.frame
        codes = self._coded_columns(kernel)
        features_of = FeatureMap.fit(learned, codes, frame.places(frame.times), frame.places(frame.words), adds)
        rows = features_of.transform(rows, frame.texts(X))
        n = rows.shape[1]
        scale = np.append(np.where(empty, np.inf, 1.0), np.ones(n - len(empty)))
        return replace(self, feature_map=features_of, mean=np.zeros(n), scale=scale), rows

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
        says nothing: an infinite scale takes it out, whatever it holds at prediction. What is made of columns, from -1
        to 1, is centred alone.
        """
        if standardize not in ("auto", True, False):
            raise ValueError(f"standardize must be 'auto', True or False, got {standardize!r}")
        kernels = kernel.children if isinstance(kernel, PerClass) else (kernel,)
        automatic = all(one is None or isinstance(one, (str, WeightedSum)) for one in kernels)
        wanted = automatic if standardize == "auto" else standardize
        if wanted and isinstance(kernel, Kernel) and kernel.pairwise:
            raise ValueError("standardize=True does not apply to a Precomputed kernel: X contains covariances")
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
        spread[self.n_columns :] = 1.0  # or a value that is hardly ever missing would set its rows apart
        scale = np.where(np.isinf(self.scale), np.inf, np.where(constant, constant_scale, spread))
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
    def n_features(self) -> int:
        """How many features rows have in the kernel's units."""
        return len(self.mean)

    @property
    def encoders(self) -> dict[Any, OrdinalEncoder]:
        """The encoders of columns of categories, by name."""
        return dict(self.frame.categories)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns of X, as scikit-learn makes them where there are none."""
        return [f"x{j}" for j in range(self.n_columns)] if self.names is None else [str(name) for name in self.names]

    @property
    def feature_names(self) -> list[str]:
        """The names of what the kernel takes."""
        return self.column_names if self.feature_map is None else self.feature_map.names(self.column_names)

    @property
    def columns(self) -> Columns:
        """What a kernel may know of its features."""
        categorical = None
        if self.encoders:
            categorical = np.zeros(self.n_features, bool)
            categorical[list(self.frame.places(self.frame.categories))] = True
        return Columns(None if self.names is None else self.feature_names, categorical)

    @property
    def numeric(self) -> bool:
        """Whether all columns are numbers that are always there."""
        return not (self.encoders or self.takes_missing)

    @property
    def categories(self) -> dict[Any, np.ndarray]:
        """The categories of each column that has them."""
        return {name: known_categories(encoder) for name, encoder in self.encoders.items()}

    def by_column(self, values: np.ndarray) -> np.ndarray:
        """Values (..., n_features) of the features as values (..., n_columns) of the columns: the largest of each."""
        return values if self.feature_map is None else self.feature_map.by_column(values)

    def features_of(self, rows: np.ndarray, X: Any) -> np.ndarray:
        """The features (n, n_features) of checked rows (n, n_columns), with text taken from X as it was given."""
        return rows if self.feature_map is None else self.feature_map.transform(rows, self.frame.texts(X))

    def scaled(self, rows: Any) -> Any:
        """Checked rows in the kernel's units."""
        return with_features(rows, (features(rows) - self.mean) / self.scale)

    def sent(self, rows: Any) -> Any:
        """Rows in the kernel's units, in their place."""
        return rows.map(self.place.send) if isinstance(rows, Rows) else self.place.send(rows)

    def unscaled(self, rows: np.ndarray) -> np.ndarray:
        """Rows in the units of X, missing values filled; columns that were constant have that constant."""
        return (rows * np.where(np.isinf(self.scale), 0.0, self.scale) + self.mean)[:, : self.n_columns]

    def check(self, estimator: Any, X: Any, y: Any = NO_TARGET, **checks: Any) -> tuple[np.ndarray, Any]:
        """New rows, and y where it is given, checked against the estimator's fit and not scaled yet."""
        coded, unknown = self.frame.transform(X, self.takes_missing)
        if unknown:
            warnings.warn(
                f"columns {unknown} contain categories not seen in fit: they match none of the known ones", stacklevel=5
            )
        allowed = self.takes_missing or self.feature_map is not None
        rows, y = _validated(estimator, coded, y, allowed, reset=False, given=X, **checks)
        return self.features_of(rows, X), y

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


def _counting(sample_weight: Any, rows: np.ndarray) -> np.ndarray:
    """Which rows (n,) have positive weight; all where none has, which estimators refuse."""
    everything = np.ones(len(rows), bool)
    if sample_weight is None:
        return everything
    weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    return weights > 0 if np.any(weights > 0) else everything


def _refuse_unknown_rows(rows: Rows) -> None:
    """Refuse rows of which a Gram matrix knows nothing, for kernels that need all of their parts."""
    for name, gram in rows.grams.items():
        unknown = np.flatnonzero(np.isnan(gram.variance))
        if len(unknown):
            raise ValueError(
                f"Gram view {name!r}: expected covariances of every row, got NaN in row {unknown[0]}; rows "
                "without a view need a WeightedSum of views"
            )


def takes_missing(estimator: Any) -> bool:
    """Whether the kernel takes rows with NaN."""
    return isinstance(estimator.kernel, Kernel) and estimator.kernel.takes_missing and estimator._allows_missing


def allows_missing(estimator: Any) -> bool:
    """Whether rows may have NaN: for features, but not for covariances."""
    return not (isinstance(estimator.kernel, Kernel) and estimator.kernel.pairwise)


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
                "Input X contains NaN: expected a number in every cell of covariances, and of rows for a model "
                "that was fitted to blocks of rows; fill missing values first"
            ) from None
        if not str(error).startswith("could not convert string to float"):
            raise
        if is_frame(given):  # of numbers in fit, which takes text for categories; or else y is at fault
            for name in given.columns:
                numbers(name, given[name])
            raise
        raise ValueError(f"{error}; columns of categories need a data frame, got {type(given).__name__}") from error
    rows, y = (valid, None) if isinstance(y, str) and y == NO_TARGET else valid
    refuse_huge(rows)
    return rows, y

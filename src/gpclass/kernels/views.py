"""Several sources of information about the same rows: kernels on some of the columns, and their weighted sum (G06)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import reduce
from itertools import combinations
from operator import add, or_
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..numerics.arrays import Array, full, has_values, is_numpy, like, namespace, sum_product, take, to_host
from ..numerics.parameters import POSITIVE
from .base import Constant, Kernel, Pullback, Scaled, White, Wrapper, refuse_per_class, rows_for
from .columns import Columns
from .dot_product import DotProduct
from .precomputed import Precomputed
from .rows import features, filled, has_missing, select, with_features
from .stationary import Stationary

#: A view of which a smaller share of the pairs of rows than the first has a correlation above the second starts from a
#: length-scale that the data suggest, ...
_FEWEST_SIMILAR, _SIMILAR = 0.05, 1e-2
#: ... decided from at most this many rows.
_ROWS_COMPARED = 300


@dataclass(frozen=True, eq=False, repr=False)
class View(Wrapper):
    """A kernel on some of the columns.

    ``columns`` are indices, a slice, a boolean mask, or names of a data frame, in which ``*``, ``?`` and ``[ab]`` stand
    for letters (``"fou_*"``); or ``dtype`` says which: "number" or "category".
    """

    columns: Any = None
    dtype: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.columns is None) == (self.dtype is None):
            raise ValueError(f"View: expected either columns or dtype, got {self.columns!r} and {self.dtype!r}")
        if self.dtype not in (None, "number", "category"):
            raise ValueError(f"View: dtype must be 'number' or 'category', got {self.dtype!r}")
        columns = self.columns
        if isinstance(columns, (str, int, np.integer)):
            columns = [columns]
        if columns is not None and not isinstance(columns, slice):
            columns = [c.item() if isinstance(c, np.generic) else c for c in columns]
            if {type(c) for c in columns} not in ({str}, {bool}, {int}):
                expected = "indices, names, a boolean mask or a slice, and not empty"
                raise ValueError(f"View: columns must be {expected}; got {columns!r}")
        object.__setattr__(self, "columns", columns)

    def _select(self, X: Any) -> Any:
        try:
            selected = take(features(X), self.columns, axis=1)
        except IndexError:
            asked = f"View selects columns {self.columns!r} (names need a data frame at fit)"
            raise ValueError(f"{asked}, but X has {X.shape[1]} columns") from None
        return with_features(X, np.ascontiguousarray(selected) if is_numpy(selected) else selected)

    def bind(self, X: Any, n_latent: int = 1, columns: Any = None) -> Kernel:
        known, n_features = Columns.of(columns), X.shape[1]
        view = replace(self, columns=self._places(known, n_features), dtype=None)
        selected = view._select(X)
        if not selected.shape[1]:
            raise ValueError(f"View: expected at least one column, got none of {n_features} by {self.columns!r}")
        own = known.subset(np.arange(n_features)[view.columns])
        return replace(view, kernel=self.kernel.bind(selected, n_latent, own))

    def _places(self, known: Columns, n_features: int) -> Any:
        """Columns by number, or as a slice."""
        if self.dtype is not None:
            categorical = np.zeros(n_features, bool) if known.categorical is None else known.categorical
            found = np.flatnonzero(categorical if self.dtype == "category" else ~categorical).tolist()
            if not found:
                raise ValueError(f"View: expected a column of dtype {self.dtype!r}, got none among {n_features}")
            return found
        if isinstance(self.columns, slice):
            try:
                start, stop, step = self.columns.indices(n_features)
            except TypeError:
                raise ValueError(f"View: a slice must be of whole numbers, got {self.columns!r}") from None
            return slice(start, stop, step) if step > 0 else list(range(start, stop, step))
        if not any(isinstance(c, str) for c in self.columns):
            try:
                return np.arange(n_features)[self.columns].tolist()
            except IndexError:
                raise ValueError(f"View selects columns {self.columns!r}, but X has {n_features} columns") from None
        names = [] if known.names is None else [str(name) for name in known.names]
        places: list[int] = []
        for wanted in self.columns:
            exact = [names.index(wanted)] if wanted in names else []
            found = exact or [j for j, name in enumerate(names) if fnmatchcase(name, wanted)]
            if not found:
                raise ValueError(f"View: no column named {wanted!r}; the data have {names or 'no names'}")
            places += [j for j in found if j not in places]
        return places

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        return self.kernel.vjp(self._select(X), None if Z is None else self._select(Z))

    def diag(self, X: Any) -> Array:
        return self.kernel.diag(self._select(X))

    def observed_rows(self, X: Any) -> Array:
        return self.kernel.observed_rows(self._select(X))

    def with_data_driven_start(self, X: Any) -> Kernel:
        return replace(self, kernel=self.kernel.with_data_driven_start(self._select(X)))

    def variations(self, X: Any) -> np.ndarray:
        return self.kernel.variations(self._select(X))

    def used_columns(self, n_features: int) -> np.ndarray:
        places = np.arange(n_features)[self.columns]
        return _put_back(self.kernel.used_columns(len(places)), places, n_features)

    def categorical_columns(self, columns: Columns, n_features: int) -> np.ndarray:
        places = np.arange(n_features)[self._places(columns, n_features)]
        return _put_back(self.kernel.categorical_columns(columns.subset(places), len(places)), places, n_features)

    def relevance(self, n_features: int) -> np.ndarray:
        places = np.arange(n_features)[self.columns]
        return _put_back(self.kernel.relevance(len(places)), places, n_features)


def _put_back(values: np.ndarray, places: np.ndarray, n_features: int) -> np.ndarray:
    """What is known of some columns, as a vector over all; what is said twice of a column adds up."""
    total = np.zeros(n_features, values.dtype)
    np.add.at(total, places, values)
    return total


class EmptyRowError(ValueError):
    """A row that has missing values in every view, by its number."""

    def __init__(self, row: int) -> None:
        super().__init__(f"expected at least one view without NaN in every row, got none in row {row}")
        self.row = row


class _Presence(NamedTuple):
    """Which rows have which view, (n, J) of 0 and 1, and the factor (n,) that restores the variance of a row that lacks
    some."""

    has: Array
    factor: Array


@dataclass(frozen=True, eq=False, repr=False)
class WeightedSum(Kernel):
    """k = sum_j weight_j k_j over named views: one latent function that is a sum of functions of the sources (G06).

    >>> from gpclass.kernels import RBF, Linear, Precomputed, View, WeightedSum
    >>> kernel = WeightedSum({"shape": View(RBF(), slice(0, 76)), "pixels": View(Linear(), slice(76, 316)),
    ...                       "network": Precomputed("network")})

    Every view is brought to a mean variance of 1 over the training rows when the kernel is first bound. So weights
    are prior variances, and the ``shares`` weight_j / sum(weights), the squared coefficients beta_j^2 of G06, are how
    much of the latent function each source makes up. A view's own amplitude is taken into its weight.

    Where a row has NaN in a view, that view is left out of the sum for that row, and the others are scaled up to the
    full variance. With v(x) = sum of the weights of the views that row x has,
    k(x, z) = sum over the views of both of weight_j k_j(x, z), times sum(weights) / sqrt(v(x) v(z)).

    Parameters
    ----------
    views : dictionary of name to kernel
        Each is a ``View`` of some columns, a ``Precomputed`` Gram matrix beside X, or any kernel on all columns. Two
        views may use the same columns, but may not overlap in part.
    weights : sequence of J positive numbers, default=None
        Where learning starts; None is 1 / J each.
    """

    views: Mapping[str, Kernel]
    weights: Any = None
    #: mean variance of each view over the training rows; settled when bound
    scales: tuple[float, ...] | None = None
    domains: ClassVar = {"weights": POSITIVE}

    def __post_init__(self) -> None:
        if not (isinstance(self.views, Mapping) and self.views):
            raise ValueError(f"views must be a dictionary of name to kernel, not empty; got {self.views!r}")
        refuse_per_class("WeightedSum", list(self.views.values()))
        J = len(self.views)
        try:
            weights = np.full(J, 1.0 / J) if self.weights is None else np.array(self.weights, dtype=float)
        except (TypeError, ValueError):
            expected = f"a sequence of {J} numbers in the order of the views"
            raise ValueError(f"WeightedSum: weights must be {expected}, got {self.weights!r}") from None
        if weights.shape != (J,):
            raise ValueError(f"WeightedSum: expected {J} weights, one for each view, got shape {weights.shape}")
        views = {}
        for j, (name, kernel) in enumerate(self.views.items()):
            _check_view(name, kernel)
            with _naming(name):
                views[name], amplitude = _without_amplitude(kernel)
            weights[j] *= amplitude
        object.__setattr__(self, "views", views)
        object.__setattr__(self, "weights", weights)
        super().__post_init__()

    @property
    def view_names(self) -> tuple[str, ...]:
        return tuple(self.views)

    @property
    def shares(self) -> np.ndarray:
        """The weights as shares of their sum."""
        return self.weights / np.sum(self.weights)

    def bind(self, X: Any, n_latent: int = 1, columns: Any = None) -> Kernel:
        bound = {}
        for name, kernel in self.views.items():
            with _naming(name):
                bound[name] = kernel.bind(X, n_latent, columns)
        _refuse_overlap(bound, X.shape[1])
        settled = replace(self, views=bound)
        if self.scales is not None:
            return settled
        settled._presence(X)  # refuses rows without any view
        scales = []
        for name, kernel, own in settled._views_with_rows(X):
            if not len(own):
                raise ValueError(f"view {name!r}: expected some rows without NaN, got none of {len(X)}")
            scales.append(float(np.mean(kernel.diag(own))))
            if not scales[-1] > 0.0:
                raise ValueError(f"view {name!r}: expected rows of some variance, got a mean variance of {scales[-1]}")
        return replace(settled, scales=tuple(scales))

    def _views_with_rows(self, X: Any) -> list[tuple[str, Kernel, Any]]:
        """The views, each with those rows (on the host) that have it."""
        whole, views = filled(X), self.views.items()
        return [(name, kernel, select(rows_for(kernel, whole), kernel.observed_rows(X))) for name, kernel in views]

    def with_data_driven_start(self, X: Any) -> WeightedSum:
        """A copy with the median distance for length-scale in every view to which nearly all rows are dissimilar."""
        found = self._views_with_rows(X)
        return self._with_children([_with_median_length_scale(view, own[:_ROWS_COMPARED]) for _, view, own in found])

    def variations(self, X: Any) -> np.ndarray:
        found = []
        for _, kernel, own in self._views_with_rows(X):
            K = kernel(own)
            found.append(max(float(np.mean(np.diag(K)) - np.mean(K)), 0.0) if len(K) else 0.0)
        return self._factors() * np.array(found)

    def _presence(self, X: Any) -> _Presence:
        one = full((), 1.0, features(X))
        xp = namespace(one)
        has = xp.stack([xp.where(kernel.observed_rows(X), one, 0.0 * one) for kernel in self.views.values()], axis=1)
        variance = has @ like(self.weights, has)
        empty = np.flatnonzero(to_host(variance) == 0.0) if has_values(variance) else np.zeros(0, int)
        if len(empty):
            raise EmptyRowError(int(empty[0]))
        return _Presence(has, xp.sqrt(float(np.sum(self.weights)) / variance))

    def _factors(self) -> np.ndarray:
        """What each view is multiplied by."""
        return self.weights / (1.0 if self.scales is None else np.array(self.scales))

    def vjp(self, X: Any, Z: Any = None) -> tuple[Array, Pullback]:
        # Most data have no missing values, and then nothing is multiplied.
        whole = not (has_missing(X) or (Z is not None and has_missing(Z)))
        left = None if whole else self._presence(X)
        right = left if Z is None or whole else self._presence(Z)
        if not whole:
            X, Z = filled(X), None if Z is None else filled(Z)
        parts, pulls = self._child_vjps(X, Z)
        xp = namespace(*parts)
        factors = self._factors().tolist()
        K = xp.zeros_like(parts[0])
        for j, part in enumerate(parts):
            K += factors[j] * (part if left is None else part * _both(left, right, j))

        def pullback(G: Array) -> np.ndarray:
            slopes = [G if left is None else G * _both(left, right, j) for j in range(len(parts))]
            own = np.array([sum_product(slope, part) for slope, part in zip(slopes, parts, strict=True)]) * factors
            if left is not None and right is not None:
                # d log factor(x) / d log weight_j = weight_j (1 / sum(weights) - has_j(x) / v(x)) / 2
                for presence, axis in ((left, 1), (right, 0)):
                    sums = xp.sum(G * K, axis=axis)
                    ratio = presence.factor[:, None] ** 2 * presence.has
                    own += 0.5 * self.shares * to_host(xp.sum(sums) - sums @ ratio)
            below = [factor * pull(slope) for factor, pull, slope in zip(factors, pulls, slopes, strict=True)]
            return self._collect({"weights": own}, below)

        return K, pullback

    def diag(self, X: Any) -> Array:
        presence = self._presence(X) if has_missing(X) else None
        parts = self._child_diags(X if presence is None else filled(X))
        parts = [factor * part for factor, part in zip(self._factors().tolist(), parts, strict=True)]
        if presence is None:
            return reduce(add, parts)
        return reduce(add, [presence.has[:, j] * part for j, part in enumerate(parts)]) * presence.factor**2

    def observed_rows(self, X: Any) -> Array:
        """Those that have at least one view."""
        return reduce(or_, [kernel.observed_rows(X) for kernel in self.views.values()])

    @property
    def takes_missing(self) -> bool:
        return True

    @property
    def children(self) -> tuple[Kernel, ...]:
        return tuple(self.views.values())

    def _with_children(self, children: Sequence[Kernel]) -> WeightedSum:
        return replace(self, views=dict(zip(self.views, children, strict=True)))

    def _child_labels(self) -> list[str]:
        return list(self.views)

    def _times(self, factor: float) -> Kernel:
        return replace(self, weights=factor * self.weights)


@contextmanager
def _naming(view: str) -> Iterator[None]:
    """Errors say which view they are about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"view {view!r}: {error}") from error


def _both(left: _Presence, right: _Presence | None, j: int) -> Array:
    """For pairs of rows: whether both have view j, times their factors."""
    assert right is not None
    return (left.has[:, j] * left.factor)[:, None] * (right.has[:, j] * right.factor)[None, :]


def _check_view(name: str, kernel: Kernel) -> None:
    """Refuse what cannot be a view."""
    if not (isinstance(name, str) and name.isidentifier()) or name == "likelihood":
        raise ValueError(f"a view's name must be a word (letters, digits, _) other than 'likelihood', got {name!r}")
    if isinstance(kernel, Precomputed):
        if kernel.name is None:
            raise ValueError(f"view {name!r}: a Gram matrix beside X needs a name: Precomputed({name!r})")
    elif kernel.gram_names:
        raise ValueError(f"view {name!r}: expected Precomputed({kernel.gram_names[0]!r}) by itself, got it in others")
    elif kernel.pairwise:
        raise ValueError(f"view {name!r}: expected features, got a Precomputed kernel, which takes all of X")
    if _has_weights(kernel):
        raise ValueError(f"view {name!r}: expected a kernel, got a WeightedSum; list its views in the outer one")


def _has_weights(kernel: Kernel) -> bool:
    return isinstance(kernel, WeightedSum) or any(_has_weights(child) for child in kernel.children)


def _without_amplitude(kernel: Kernel) -> tuple[Kernel, float]:
    """A kernel and its amplitude, which the weight is to take over."""
    if isinstance(kernel, (Constant, White)):
        # Done for every copy of the sum: a variance fixed at 1 has been taken out already.
        _refuse_limits(kernel, "variance", fixed=kernel.variance != 1.0)
        return replace(kernel, variance=1.0, fixed=True), kernel.variance
    if isinstance(kernel, Scaled):
        _refuse_limits(kernel, "variance")
        inner, amplitude = _without_amplitude(kernel.kernel)
        return inner, kernel.variance * amplitude
    if isinstance(kernel, View):
        inner, amplitude = _without_amplitude(kernel.kernel)
        return replace(kernel, kernel=inner), amplitude
    if isinstance(kernel, DotProduct) and not kernel.ard and np.ndim(kernel.weight_variance) == 0:
        # Fixed or not makes no difference: the view is scaled to a mean variance of 1.
        _refuse_limits(kernel, "weight_variance", fixed=False)
        return kernel.fix("weight_variance"), 1.0
    return kernel, 1.0


def _refuse_limits(kernel: Kernel, name: str, fixed: bool = True) -> None:
    """Refuse bounds of an amplitude, and (``fixed``) one that is fixed: the weight would change it all the same."""
    taken = f"WeightedSum takes a view's amplitude into its weight, and {name} of {type(kernel).__name__}"
    if fixed and name in kernel._fixed_names():
        instead = "give it in weights, and fix the weights instead: WeightedSum(..., fixed='weights')"
        raise ValueError(f"{taken} is fixed at {getattr(kernel, name):g}; {instead}")
    if name in kernel.bounds:
        low, high = kernel.bounds[name]
        instead = "bound the weights instead: WeightedSum(..., bounds={'weights': (low, high)})"
        raise ValueError(f"{taken} has bounds ({low:g}, {high:g}); {instead}")


def _refuse_overlap(views: Mapping[str, Kernel], n_features: int) -> None:
    """Two views may use the same columns; sharing only some of them is taken for a mistake."""
    used = {name: kernel.used_columns(n_features) for name, kernel in views.items()}
    for one, other in combinations(used, 2):
        common = np.flatnonzero(used[one] & used[other])
        if len(common) and np.any(used[one] != used[other]):
            both = f"column {common[0]} in both {one!r} and {other!r}, which differ in others"
            raise ValueError(f"expected views of different columns (or of the same), got {both}")


def _with_median_length_scale(kernel: Kernel, X: Any) -> Kernel:
    """A stationary kernel, or view of one, to which nearly all rows are dissimilar, with the median distance for
    length-scale; others as they are."""
    if isinstance(kernel, View):
        return replace(kernel, kernel=_with_median_length_scale(kernel.kernel, kernel._select(X)))
    if not isinstance(kernel, Stationary) or len(X) < 2 or "length_scale" not in kernel._free():
        return kernel
    pairs = np.triu_indices(len(X), 1)
    if np.mean(kernel(X)[pairs] > _SIMILAR) >= _FEWEST_SIMILAR:
        return kernel
    distance = float(np.sqrt(np.median(kernel._distances(features(X), None)[pairs])))
    low, high = kernel._bounds_of("length_scale")
    return kernel.with_params(length_scale=np.clip(kernel.length_scale * distance, low, high))

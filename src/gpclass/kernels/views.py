"""Several sources of information about the same rows: kernels on some of the columns, and their weighted sum (G06)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..numerics.parameters import POSITIVE
from .base import Constant, Kernel, Pullback, Scaled, White, refuse_per_class
from .columns import Columns
from .dot_product import DotProduct
from .precomputed import Precomputed
from .stationary import Stationary

#: A source of which fewer pairs of rows than this share look at all alike is not seen at its starting values.
_FEW_ALIKE, _ALIKE = 0.05, 1e-2
#: Rows from which that is judged.
_JUDGED = 300


@dataclass(frozen=True, eq=False, repr=False)
class View(Kernel):
    """A kernel on some of the columns.

    ``columns`` are indices, a slice, a boolean mask, or names of a data frame, in which ``*``, ``?`` and ``[ab]`` stand
    for letters (``"fou_*"``); or ``dtype`` says which: "number" or "category".
    """

    kernel: Kernel
    columns: Any = None
    dtype: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_per_class("View", [self.kernel])
        if (self.columns is None) == (self.dtype is None):
            raise ValueError(f"View: expected either columns or dtype, got {self.columns!r} and {self.dtype!r}")
        if self.dtype not in (None, "number", "category"):
            raise ValueError(f"View: dtype must be 'number' or 'category', got {self.dtype!r}")
        columns = self.columns
        if isinstance(columns, (str, int, np.integer)):
            columns = [columns]
        if columns is not None and not isinstance(columns, slice):
            columns = list(columns)
            kinds = {
                "name" if isinstance(c, str) else "mask" if isinstance(c, (bool, np.bool_)) else "index"
                for c in columns
            }
            whole = all(isinstance(c, (str, bool, np.bool_, int, np.integer)) for c in columns)
            if len(kinds) != 1 or not whole:
                raise ValueError(
                    f"View: columns must be indices, names, a boolean mask or a slice, and not empty; got {columns!r}"
                )
            columns = [c if isinstance(c, str) else np.asarray(c).item() for c in columns]
        object.__setattr__(self, "columns", columns)

    def _select(self, X: np.ndarray) -> np.ndarray:
        try:
            return np.ascontiguousarray(X[:, self.columns])
        except IndexError:
            raise ValueError(
                f"View selects columns {self.columns!r}, but X has {X.shape[1]} columns "
                "(names need a data frame at fit)"
            ) from None

    def bind(self, X: np.ndarray, n_latent: int = 1, columns: Any = None) -> Kernel:
        known = Columns.of(columns)
        n_features = X.shape[1] if known.n_features is None else known.n_features
        X = X[:, :n_features]
        view = replace(self, columns=self._places(known, n_features), dtype=None)
        selected = view._select(X)
        if not selected.shape[1]:
            raise ValueError(f"View: expected at least one column, got none of {n_features} by {self.columns!r}")
        return replace(view, kernel=self.kernel.bind(selected, n_latent, known.subset(view.columns, n_features)))

    def _places(self, known: Columns, n_features: int) -> Any:
        """Columns by number, whatever they were given by; a slice ends before any Gram matrix."""
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

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        return self.kernel.vjp(self._select(X), None if Z is None else self._select(Z))

    def diag(self, X: np.ndarray) -> np.ndarray:
        return self.kernel.diag(self._select(X))

    def observed_rows(self, X: np.ndarray) -> np.ndarray:
        return self.kernel.observed_rows(self._select(X))

    def used_columns(self, n_features: int) -> np.ndarray:
        places = np.arange(n_features)[self.columns]
        found = np.zeros(n_features, bool)
        found[places] = self.kernel.used_columns(len(places))
        return found

    def categorical_columns(self, columns: Columns, n_features: int) -> np.ndarray:
        places = np.arange(n_features)[self._places(columns, n_features)]
        found = np.zeros(n_features, bool)
        found[places] = self.kernel.categorical_columns(columns.subset(places, n_features), len(places))
        return found

    def relevance(self, n_features: int) -> np.ndarray:
        where = np.arange(n_features)[self.columns]
        total = np.zeros(n_features)
        np.add.at(total, where, self.kernel.relevance(len(where)))
        return total

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def _with_children(self, children: Sequence[Kernel]) -> View:
        return replace(self, kernel=children[0])

    @property
    def label(self) -> str:
        return self.kernel.label


class EmptyRowError(ValueError):
    """A row that no view knows anything about, by its number."""

    def __init__(self, row: int) -> None:
        super().__init__(f"expected at least one view without NaN in every row, got none in row {row}")
        self.row = row


class _Presence(NamedTuple):
    """Which rows have which view, (n, J), and the factor (n,) that gives a row with gaps its full variance again."""

    has: np.ndarray
    factor: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class WeightedSum(Kernel):
    """k = sum_j weight_j k_j over named views: one latent function that is a sum of functions of the sources (G06).

    >>> from gpclass.kernels import RBF, Linear, Precomputed, View, WeightedSum
    >>> kernel = WeightedSum({"shape": View(RBF(), slice(0, 76)), "pixels": View(Linear(), slice(76, 316)),
    ...                       "network": Precomputed("network")})

    Every view is brought to a mean variance of 1 over the training rows when the kernel is first bound. So weights
    are prior variances, and the ``shares`` weight_j / sum(weights), the squared coefficients beta_j^2 of G06, tell how
    much of the latent function each source makes up. A view's own amplitude is taken into its weight.

    A row with NaN in a view is one that this source knows nothing about: the view drops out of the sum for that row,
    and the others are scaled up to its full variance. With v(x) = sum of the weights of the views that row x has,
    k(x, z) = sum over the views of both of weight_j k_j(x, z), times sum(weights) / sqrt(v(x) v(z)).

    Parameters
    ----------
    views : dictionary of name to kernel
        Each is a ``View`` of some columns, a ``Precomputed`` Gram matrix next to X, or any kernel on all columns. Two
        views may look at the same columns, but not at some columns in common and others not.
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
            raise ValueError(
                f"WeightedSum: views must be a dictionary of name to kernel, not empty; got {self.views!r}"
            )
        for name in self.views:
            if not (isinstance(name, str) and name.isidentifier()) or name == "likelihood":
                raise ValueError(
                    "WeightedSum: a view's name must be a word (letters, digits, _) other than 'likelihood', got "
                    f"{name!r}"
                )
        refuse_per_class("WeightedSum", list(self.views.values()))
        for name, kernel in self.views.items():
            _check_view(name, kernel)
        J = len(self.views)
        try:
            weights = np.full(J, 1.0 / J) if self.weights is None else np.array(self.weights, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(
                f"WeightedSum: weights must be a sequence of {J} numbers in the order of the views, got "
                f"{self.weights!r}"
            ) from None
        if weights.shape != (J,):
            raise ValueError(f"WeightedSum: expected {J} weights, one for each view, got shape {weights.shape}")
        views = {}
        for j, (name, kernel) in enumerate(self.views.items()):
            try:
                views[name], amplitude = _without_amplitude(kernel)
            except ValueError as error:
                raise ValueError(f"view {name!r}: {error}") from None
            weights[j] *= amplitude
        object.__setattr__(self, "views", views)
        object.__setattr__(self, "weights", weights)
        super().__post_init__()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.views)

    @property
    def shares(self) -> np.ndarray:
        """The weights as shares of their sum."""
        return self.weights / np.sum(self.weights)

    def bind(self, X: np.ndarray, n_latent: int = 1, columns: Any = None) -> Kernel:
        known = Columns.of(columns)
        n_features = X.shape[1] if known.n_features is None else known.n_features
        bound = {}
        for name, kernel in self.views.items():
            if known.grams and not isinstance(kernel, (View, Precomputed)):
                kernel = View(kernel, slice(0, n_features))
            try:
                bound[name] = kernel.bind(X, n_latent, known)
            except ValueError as error:
                raise ValueError(f"view {name!r}: {error}") from error
        _refuse_overlap(bound, n_features)
        settled = replace(self, views=bound)
        if self.scales is not None:
            return settled
        has = settled._presence(X).has
        filled = np.nan_to_num(X)
        scales = []
        for j, (name, kernel) in enumerate(bound.items()):
            if not np.any(has[:, j]):
                raise ValueError(f"view {name!r}: expected some rows without NaN, got none of {len(X)}")
            scales.append(float(np.mean(kernel.diag(filled[has[:, j]]))))
            if not scales[-1] > 0.0:
                raise ValueError(f"view {name!r}: expected rows of some variance, got a mean variance of {scales[-1]}")
        return replace(settled, scales=tuple(scales))

    def with_data_driven_start(self, X: np.ndarray) -> WeightedSum:
        """A copy whose views see some rows as similar: one that sees none gets the median distance for length-scale."""
        has = self._presence(X).has
        views = {
            name: _with_data_driven_start(kernel, np.nan_to_num(X[has[:, j]][:_JUDGED]))
            for j, (name, kernel) in enumerate(self.views.items())
        }
        return replace(self, views=views)

    def variations(self, X: np.ndarray) -> np.ndarray:
        """Prior variance (J,) of each view's function about its mean over those of these rows that have the view."""
        has = np.stack([kernel.observed_rows(X) for kernel in self.views.values()], axis=1)
        filled = np.nan_to_num(X)
        found = []
        for j, kernel in enumerate(self.views.values()):
            K = kernel(filled[has[:, j]])
            found.append(max(float(np.mean(np.diag(K)) - np.mean(K)), 0.0) if len(K) else 0.0)
        return self._factors() * np.array(found)

    def _presence(self, X: np.ndarray) -> _Presence:
        has = np.stack([kernel.observed_rows(X) for kernel in self.views.values()], axis=1)
        variance = has @ self.weights
        empty = np.flatnonzero(variance == 0.0)
        if len(empty):
            raise EmptyRowError(int(empty[0]))
        return _Presence(has, np.sqrt(np.sum(self.weights) / variance))

    def _factors(self) -> np.ndarray:
        """What each view is multiplied by."""
        return self.weights / (1.0 if self.scales is None else np.array(self.scales))

    def vjp(self, X: np.ndarray, Z: np.ndarray | None = None) -> tuple[np.ndarray, Pullback]:
        # Nothing is missing from most data, and then nothing is multiplied.
        whole = not (np.isnan(X).any() or (Z is not None and np.isnan(Z).any()))
        left = None if whole else self._presence(X)
        right = None if left is None else left if Z is None else self._presence(Z)
        if not whole:
            X, Z = np.nan_to_num(X), None if Z is None else np.nan_to_num(Z)
        parts, pulls = zip(*(kernel.vjp(X, Z) for kernel in self.views.values()), strict=True)
        factors = self._factors()
        K = np.zeros_like(parts[0])
        for j, part in enumerate(parts):
            K += factors[j] * (part if left is None else part * _both(left, right, j))

        def pullback(G: np.ndarray) -> np.ndarray:
            slopes = [G if left is None else G * _both(left, right, j) for j in range(len(parts))]
            own = np.array([np.vdot(slope, part) for slope, part in zip(slopes, parts, strict=True)]) * factors
            if left is not None and right is not None:
                # d log factor(x) / d log weight_j = weight_j (1 / sum(weights) - has_j(x) / v(x)) / 2
                for presence, sums in ((left, (G * K).sum(axis=1)), (right, (G * K).sum(axis=0))):
                    ratio = presence.factor[:, None] ** 2 * presence.has
                    own += 0.5 * self.shares * (sums.sum() - sums @ ratio)
            below = [factor * pull(slope) for factor, pull, slope in zip(factors, pulls, slopes, strict=True)]
            return self._collect({"weights": own}, below)

        return K, pullback

    def diag(self, X: np.ndarray) -> np.ndarray:
        factors = self._factors()
        if not np.isnan(X).any():
            return sum(f * kernel.diag(X) for f, kernel in zip(factors, self.views.values(), strict=True))
        presence, X = self._presence(X), np.nan_to_num(X)
        diagonals = [factor * kernel.diag(X) for factor, kernel in zip(factors, self.views.values(), strict=True)]
        return np.sum(presence.has.T * diagonals, axis=0) * presence.factor**2

    def observed_rows(self, X: np.ndarray) -> np.ndarray:
        return np.any([kernel.observed_rows(X) for kernel in self.views.values()], axis=0)

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


def _both(left: _Presence, right: _Presence | None, j: int) -> np.ndarray:
    """For pairs of rows: whether both have view j, times their factors."""
    assert right is not None
    return np.outer(left.has[:, j] * left.factor, right.has[:, j] * right.factor)


def _check_view(name: str, kernel: Kernel) -> None:
    """Refuse what cannot be a view."""
    if isinstance(kernel, Precomputed):
        if kernel.name is None:
            raise ValueError(f"view {name!r}: a Gram matrix next to X needs a name: Precomputed({name!r})")
    elif kernel.gram_names:
        raise ValueError(
            f"view {name!r}: expected Precomputed({kernel.gram_names[0]!r}) by itself, got it within others"
        )
    elif kernel.pairwise:
        raise ValueError(f"view {name!r}: expected features, got a Precomputed kernel, which takes all of X")
    if _has_weights(kernel):
        raise ValueError(f"view {name!r}: expected a kernel, got a WeightedSum; list its views in the outer one")


def _has_weights(kernel: Kernel) -> bool:
    return isinstance(kernel, WeightedSum) or any(_has_weights(child) for child in kernel.children)


def _without_amplitude(kernel: Kernel) -> tuple[Kernel, float]:
    """A kernel and its amplitude, which the weight is to take over."""
    if isinstance(kernel, (Constant, White)):
        # This is done again for every copy of the sum: a variance fixed at 1 has been taken out already.
        _refuse_held(kernel, "variance", fixed=kernel.variance != 1.0)
        return replace(kernel, variance=1.0, fixed=True), kernel.variance
    if isinstance(kernel, Scaled):
        _refuse_held(kernel, "variance")
        inner, amplitude = _without_amplitude(kernel.kernel)
        return inner, kernel.variance * amplitude
    if isinstance(kernel, View):
        inner, amplitude = _without_amplitude(kernel.kernel)
        return replace(kernel, kernel=inner), amplitude
    if isinstance(kernel, DotProduct) and not kernel.ard and np.ndim(kernel.weight_variance) == 0:
        # Held or not is all the same here: the view is brought to a mean variance of 1.
        _refuse_held(kernel, "weight_variance", fixed=False)
        return kernel.fix("weight_variance"), 1.0
    return kernel, 1.0


def _refuse_held(kernel: Kernel, name: str, fixed: bool = True) -> None:
    """Refuse bounds of an amplitude, and (``fixed``) one that is fixed: the weight would move it all the same."""
    label = f"{name} of {type(kernel).__name__}"
    if fixed and name in kernel._fixed_names():
        raise ValueError(
            f"WeightedSum takes a view's amplitude into its weight, and {label} is fixed at {getattr(kernel, name):g}; "
            "give it in weights, and fix the weights instead: WeightedSum(..., fixed='weights')"
        )
    if name in kernel.bounds:
        low, high = kernel.bounds[name]
        raise ValueError(
            f"WeightedSum takes a view's amplitude into its weight, and {label} has bounds ({low:g}, {high:g}); bound "
            "the weights instead: WeightedSum(..., bounds={'weights': (low, high)})"
        )


def _refuse_overlap(views: Mapping[str, Kernel], n_features: int) -> None:
    """Views of the same columns are two ways to look at them; a part in common is a slip."""
    seen = {name: kernel.used_columns(n_features) for name, kernel in views.items()}
    for one, other in combinations(seen, 2):
        common = np.flatnonzero(seen[one] & seen[other])
        if len(common) and np.any(seen[one] != seen[other]):
            raise ValueError(
                f"expected views of different columns (or of the same), got column {common[0]} in both {one!r} and "
                f"{other!r}, which differ in others"
            )


def _with_data_driven_start(kernel: Kernel, X: np.ndarray) -> Kernel:
    if isinstance(kernel, View):
        return replace(kernel, kernel=_with_data_driven_start(kernel.kernel, kernel._select(X)))
    if not isinstance(kernel, Stationary) or len(X) < 2 or "length_scale" in kernel._fixed_names():
        return kernel
    pairs = np.triu_indices(len(X), 1)
    if np.mean(kernel(X)[pairs] > _ALIKE) >= _FEW_ALIKE:
        return kernel
    distance = float(np.sqrt(np.median(kernel._distances(X, None)[pairs])))
    low, high = kernel._bounds_of("length_scale")
    return kernel.with_params(length_scale=np.clip(kernel.length_scale * distance, low, high))

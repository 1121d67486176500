"""Named parameters, and the one flat vector theta that optimisers and samplers see.

Kernels and likelihoods are frozen dataclasses. Each lists its parameters by natural name; ``theta`` is
always the *unconstrained* vector (the logarithm of positive parameters, real ones as they are) of those
that are not fixed. A composite puts its own parameters first, then those of its children in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np


@dataclass(frozen=True)
class Domain:
    """What a class declares of a parameter.

    ``role`` says what the parameter means, None that its own name does. Priors, searches and reports ask for roles.
    """

    positive: bool
    bounds: tuple[float, float]
    role: str | None = None


POSITIVE, REAL = Domain(True, (1e-5, 1e5)), Domain(False, (-np.inf, np.inf))


class Parameter(NamedTuple):
    """One parameter as a reader wants to see it: natural value and bounds."""

    value: float | np.ndarray
    bounds: tuple[float, float]
    fixed: bool
    positive: bool
    role: str


class ThetaEntry(NamedTuple):
    """One entry of theta: ``rbf.length_scale[0]`` of the parameter ``rbf.length_scale``, a positive length_scale."""

    name: str
    parameter: str
    role: str
    positive: bool

    def within(self, label: str) -> ThetaEntry:
        """The entry with the names that it has within something else."""
        return self._replace(name=f"{label}.{self.name}", parameter=f"{label}.{self.parameter}")


@cache
def _fields_of(kind: Any) -> frozenset[str]:
    """What ``__init__`` takes."""
    return frozenset(item.name for item in fields(kind) if item.init)


@dataclass(frozen=True, eq=False)
class Parameterised:
    """Base of everything that has a theta.

    Parameters
    ----------
    bounds : mapping of parameter name to (low, high) in natural units
        Default (1e-5, 1e5) for positive parameters, unbounded for real ones.
    fixed : name, names, or True for all of them
        Fixed parameters keep their value and do not appear in ``theta``.
    """

    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict, kw_only=True)
    fixed: bool | str | tuple[str, ...] = field(default=(), kw_only=True)

    #: parameter name -> what is declared of it, in the order of theta
    domains: ClassVar[Mapping[str, Domain]] = {}

    def __post_init__(self) -> None:
        if not isinstance(self.bounds, Mapping):
            raise ValueError(
                f"{type(self).__name__}: bounds must be a dictionary of parameter name to (low, high), got "
                f"{self.bounds!r}; to hold a parameter fixed there is fixed="
            )
        fixed = self._fixed_names()
        object.__setattr__(self, "fixed", fixed)
        self._refuse_unknown((*fixed, *self.bounds), list(self.domains))
        # Bounds that are the default anyway are left out, so that equal kernels compare equal.
        given = {name: (float(low), float(high)) for name, (low, high) in self.bounds.items()}
        own = {name: pair for name, pair in given.items() if pair != self.domains[name].bounds}
        object.__setattr__(self, "bounds", own)
        for name in self.domains:
            object.__setattr__(self, name, self._checked(name, getattr(self, name)))

    def _refuse_unknown(self, names: Iterable[str], known: list[str]) -> None:
        for name in names:
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; expected one of {known}")

    def _fixed_names(self) -> tuple[str, ...]:
        """``fixed`` as names."""
        fixed: Any = self.fixed
        if isinstance(fixed, (bool, np.bool_)):
            return tuple(self.domains) if fixed else ()
        return (fixed,) if isinstance(fixed, str) else tuple(fixed)

    def _checked(self, name: str, value: Any) -> float | np.ndarray:
        """A natural value as a float or a read-only vector, inside its domain and bounds."""
        label = f"{type(self).__name__}: {name}"
        try:
            array = np.array(value, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"{label} must be a number or a vector of numbers, got {value!r}") from None
        if array.ndim > 1 or not np.all(np.isfinite(array)):
            raise ValueError(f"{label} must be a finite number or vector, got {value!r}")
        if self.domains[name].positive and np.any(array <= 0):
            raise ValueError(f"{label} must be positive, got {value!r}")
        low, high = self._bounds_of(name)
        if not low <= high:
            raise ValueError(f"{label} has bounds ({low}, {high}); expected low <= high")
        if self.domains[name].positive and low <= 0:
            raise ValueError(f"{label} is positive, so its lower bound must be too; got {low}")
        # One unit in the twelfth digit of slack: theta -> exp -> log is not exact at a bound.
        slack = 1e-12
        outside = np.any(array < low - slack * abs(low)) or np.any(array > high + slack * abs(high))
        fixed = name in self._fixed_names()
        if outside and fixed and name in self.bounds:
            raise ValueError(
                f"{label} is fixed at {value!r}, which is outside the bounds ({low:g}, {high:g}) given for it; "
                "drop the bounds or change the value"
            )
        if outside and not fixed:
            raise ValueError(
                f"{label} = {value!r} is outside its bounds ({low:g}, {high:g}); "
                f"change the value, pass bounds={{{name!r}: (low, high)}}, or fix it with fixed={name!r}"
            )
        if array.ndim == 0:
            return float(array)
        array.setflags(write=False)
        return array

    def _bounds_of(self, name: str) -> tuple[float, float]:
        return self.bounds.get(name, self.domains[name].bounds)

    # ---- the tree of children; leaves have none -----------------------------------------------------

    @property
    def children(self) -> tuple[Parameterised, ...]:
        return ()

    def _with_children(self, children: Sequence[Any]) -> Self:
        """A copy with other children of the same kinds."""
        return self

    def _child_labels(self) -> list[str]:
        """Prefix of each child's parameter names; '' adds none."""
        return ["" for _ in self.children]

    def _prefixed_children(self) -> list[tuple[str, Any]]:
        """What the names of each child's parameters begin with, and the child."""
        return [(f"{label}." if label else "", c) for label, c in zip(self._child_labels(), self.children, strict=True)]

    def _replaced(self, own: Mapping[str, Any], children: Sequence[Any]) -> Self:
        """A copy with other values of some fields, and other children."""
        changed = replace(self, **own)
        return changed._with_children(children) if children else changed

    def _unchecked(self, **changes: Any) -> Self:
        """A copy with other values of some fields, which are known to be valid: ``__post_init__`` is left out.

        Where a class keeps more than its fields, which may depend on them, the copy is an ordinary one.
        """
        kind: Any = type(self)
        if vars(self).keys() != _fields_of(kind):
            return replace(self, **changes)
        copy = object.__new__(type(self))
        vars(copy).update(vars(self))
        vars(copy).update(changes)
        return copy

    # ---- named access -------------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Parameter]:
        """All parameters by (dotted) name, with bounds and whether they are fixed."""
        fixed, found = self._fixed_names(), {}
        for name, domain in self.domains.items():
            value, bounds = getattr(self, name), self._bounds_of(name)
            found[name] = Parameter(value, bounds, name in fixed, domain.positive, domain.role or name)
        for prefix, child in self._prefixed_children():
            found.update({prefix + name: parameter for name, parameter in child.parameters.items()})
        return found

    @property
    def params(self) -> dict[str, float | np.ndarray]:
        """Natural values by name."""
        return {name: parameter.value for name, parameter in self.parameters.items()}

    def with_params(self, params: Mapping[str, Any] | None = None, **named: Any) -> Self:
        """A copy with some parameters changed by natural name: ``k.with_params({"rbf.length_scale": 2})``."""
        wanted = {**(params or {}), **named}
        self._refuse_unknown(wanted, list(self.parameters))
        own = {name: wanted.pop(name) for name in self.domains if name in wanted}
        children = []
        for prefix, child in self._prefixed_children():
            theirs = {name.removeprefix(prefix): value for name, value in wanted.items() if name.startswith(prefix)}
            children.append(child.with_params(theirs))
        return self._replaced(own, children)

    def fix(self, *names: str) -> Self:
        """A copy with these parameters fixed (all of them when no name is given)."""
        return self._with_fixed(names, True)

    def free(self, *names: str) -> Self:
        """A copy with these parameters free again (all of them when no name is given)."""
        return self._with_fixed(names, False)

    def _with_fixed(self, names: tuple[str, ...], fixed: bool) -> Self:
        self._refuse_unknown(names, list(self.parameters))
        wanted = set(names or self.parameters)
        own = tuple(name for name in self.domains if (fixed if name in wanted else name not in self._free()))
        children = []
        for prefix, child in self._prefixed_children():
            theirs = tuple(name for name in child.parameters if prefix + name in wanted - set(self.domains))
            children.append(child._with_fixed(theirs, fixed) if theirs else child)
        return self._replaced({"fixed": own}, children)

    # ---- the flat vector ----------------------------------------------------------------------------

    def _free(self) -> list[str]:
        return [name for name in self.domains if name not in self._fixed_names()]

    def _collect(self, own: Mapping[str, Any], children: Sequence[np.ndarray] = ()) -> np.ndarray:
        """Gradient pieces in theta's order: own free parameters, then the children."""
        pieces = [np.atleast_1d(own[name]) for name in self._free()] + list(children)
        return np.concatenate(pieces) if pieces else np.zeros(0)

    @property
    def theta(self) -> np.ndarray:
        """Unconstrained values of the free parameters."""
        own = {
            name: np.log(getattr(self, name)) if self.domains[name].positive else getattr(self, name)
            for name in self._free()
        }
        return self._collect(own, [child.theta for child in self.children])

    @property
    def theta_bounds(self) -> np.ndarray:
        """Bounds of theta, one (low, high) row for each entry."""
        rows = []
        for name in self._free():
            low, high = self._bounds_of(name)
            row = (np.log(low), np.log(high)) if self.domains[name].positive else (low, high)
            rows.append(np.tile(row, (np.size(getattr(self, name)), 1)))
        rows += [child.theta_bounds for child in self.children]
        return np.concatenate(rows) if rows else np.zeros((0, 2))

    @property
    def theta_entries(self) -> tuple[ThetaEntry, ...]:
        """What each entry of theta is."""
        entries = []
        for name, (value, _, fixed, positive, role) in self.parameters.items():
            indices = [f"[{j}]" for j in range(np.size(value))] if np.ndim(value) else [""]
            if not fixed:
                entries += [ThetaEntry(name + index, name, role, positive) for index in indices]
        return tuple(entries)

    @property
    def theta_names(self) -> list[str]:
        """A readable name for each entry of theta, ``name`` or ``name[j]``."""
        return [entry.name for entry in self.theta_entries]

    @property
    def n_theta(self) -> int:
        """Number of entries of theta."""
        return sum(np.size(getattr(self, name)) for name in self._free()) + sum(c.n_theta for c in self.children)

    def with_theta(self, theta: Any) -> Self:
        """A copy whose free parameters have these unconstrained values."""
        theta = np.asarray(theta, dtype=float)
        if theta.shape != (self.n_theta,):
            raise ValueError(f"{type(self).__name__}: expected theta of shape {(self.n_theta,)}, got {theta.shape}")
        return self._moved(theta, 0)[0]

    def _moved(self, theta: np.ndarray, start: int) -> tuple[Self, int]:
        """A copy with the values that begin at ``start``, and where those of what comes next begin.

        Learning calls this at every evaluation, so what is already known of names, shapes and bounds is not checked
        again.
        """
        own: dict[str, Any] = {}
        for name in self._free():
            old = getattr(self, name)
            stop = start + np.size(old)
            value = np.exp(theta[start:stop]) if self.domains[name].positive else theta[start:stop].copy()
            low, high = self._bounds_of(name)
            if not np.all((value >= low) & (value <= high) & np.isfinite(value)):  # rounding, or a mistake
                value = np.atleast_1d(self._checked(name, value if np.ndim(old) else float(value[0])))
            value.setflags(write=False)
            own[name], start = value if np.ndim(old) else float(value[0]), stop
        moved, children = self._unchecked(**own) if own else self, []
        for child in self.children:
            at, start = child._moved(theta, start)
            children.append(at)
        return moved._with_children(children) if children else moved, start

    # ---- value semantics ----------------------------------------------------------------------------

    def __repr__(self) -> str:
        shown = []
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in ("bounds", "fixed") and not value:
                continue
            if isinstance(value, np.ndarray):
                value = value.tolist()
            shown.append(f"{item.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

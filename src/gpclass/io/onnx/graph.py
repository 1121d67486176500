"""A graph of ONNX operators that records a computation on arrays, and the arrays that stand in for numbers.

``RecordedArray`` follows the array API standard, so kernels and posteriors run on it as they do on arrays of a device;
every operation becomes a node. Arrays whose values are known are constants: what is computed from constants alone is
computed at once. Nodes that compute the same are one node, and those that no output needs are left out.

The number of rows is not known when a graph is recorded. ``ROWS`` stands for it in shapes, ``NODES`` for the number of
nodes of a quadrature rule that depends on the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

#: Dimensions that are known when the graph runs; larger than any that a model has.
ROWS, NODES = 2**40, 2**41
#: The version of the standard operators: comparisons of text came with 19.
OPSET, IR_VERSION = 19, 9


class ExportError(TypeError):
    """A model, or a part of one, that standard ONNX operators cannot compute."""


@dataclass(frozen=True)
class Node:
    """One operator; ``implicit`` are names that a subgraph takes from outside."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    implicit: tuple[str, ...] = ()


class Graph:
    """Nodes, constants and inputs in the order in which they were made."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: dict[str, tuple[Any, tuple[Any, ...]]] = {}
        self._known: dict[Any, tuple[str, ...]] = {}
        self._names: dict[Any, str] = {}
        self._count = 0

    def new_name(self) -> str:
        self._count += 1
        return f"gpclass/v{self._count}"

    # ---- arrays --------------------------------------------------------------------------------------

    def input(self, name: str, dtype: Any, n_columns: int | None) -> RecordedArray:
        """An input of so many columns, or (None) with one value for each row."""
        shape = (ROWS,) if n_columns is None else (ROWS, n_columns)
        self.inputs[name] = np.dtype(dtype), shape
        return RecordedArray(self, shape, np.dtype(dtype), name)

    def constant(self, value: Any) -> RecordedArray:
        """An array whose values are known."""
        value = np.asarray(value)
        return RecordedArray(self, value.shape, value.dtype, None, value)

    def array(self, value: Any, dtype: Any = None) -> RecordedArray:
        """An array of this graph, from one or from numbers, which take the ``dtype`` of what they meet."""
        if isinstance(value, RecordedArray):
            return value
        value = np.asarray(value)
        numeric = value.dtype.kind in "iuf" and dtype is not None and np.dtype(dtype).kind in "iuf"
        return self.constant(value.astype(dtype) if numeric else value)

    def name_of(self, array: RecordedArray) -> str:
        """The name under which nodes refer to an array; equal constants share one."""
        if array.name is not None:
            return array.name
        assert array.value is not None
        value = np.ascontiguousarray(array.value).reshape(array.shape)
        text = value.dtype.kind in "OU"
        key = (value.dtype.kind, value.shape, repr(value.tolist()) if text else value.tobytes())
        if key not in self._names:
            self._names[key] = f"gpclass/c{len(self._names) + 1}"
            self.constants[self._names[key]] = value
        return self._names[key]

    def n_rows(self) -> RecordedArray:
        """The number of rows, an array of one."""
        name, (dtype, shape) = next(iter(self.inputs.items()))
        whole = self.emit("Shape", [RecordedArray(self, shape, dtype, name)], (len(shape),), np.int64)
        return whole[:1]

    # ---- nodes ---------------------------------------------------------------------------------------

    def emit(
        self, op: str, arrays: Sequence[RecordedArray], shape: tuple[int, ...], dtype: Any, **attributes: Any
    ) -> RecordedArray:
        """The output of one more node, or of an equal one that is there already."""
        inputs = tuple(self.name_of(array) for array in arrays)
        key = (op, inputs, repr(sorted(attributes.items())))
        if key not in self._known:
            self._known[key] = (self.new_name(),)
            self.nodes.append(Node(op, inputs, self._known[key], attributes))
        return RecordedArray(self, shape, np.dtype(dtype), self._known[key][0])

    def apply(
        self,
        op: str,
        function: Callable[..., Any],
        arrays: Sequence[RecordedArray],
        shape: tuple[int, ...],
        dtype: Any,
        *more: Any,
        **attributes: Any,
    ) -> RecordedArray:
        """``emit``, or the result of the NumPy function where all arrays are constants; ``more`` are inputs that are no
        operands, such as axes."""
        if all(array.value is not None for array in arrays):
            return self.constant(function(*(array.value for array in arrays)))
        return self.emit(op, [*arrays, *map(self.constant, more)], shape, dtype, **attributes)

    def loop(
        self,
        step: Callable[..., tuple[RecordedArray, tuple[RecordedArray, ...]]],
        state: tuple[RecordedArray, ...],
        most: int,
    ) -> tuple[RecordedArray, ...]:
        """``goes_on, state = step(*state)`` until ``goes_on`` is False, at most so many times."""
        outer, known = self.nodes, dict(self._known)
        self.nodes = []
        names = [self.new_name() for _ in state]
        inside = [RecordedArray(self, part.shape, part.dtype, name) for part, name in zip(state, names, strict=True)]
        goes_on, after = step(*inside)
        ends = [self.emit("Identity", [part], part.shape, part.dtype) for part in (goes_on, *after)]
        counter, going = self.new_name(), self.new_name()
        outputs = tuple(self.name_of(part) for part in ends)
        body = needed(self.nodes, outputs)
        self.nodes, self._known = outer, known
        local = {name for node in body for name in node.outputs} | {*names, counter, going}
        outside = tuple({name for node in body for name in (*node.inputs, *node.implicit) if name not in local})
        arguments: list[tuple[str, Any, tuple[int, ...]]] = [(counter, np.int64, ()), (going, bool, ())]
        arguments += [(name, part.dtype, part.shape) for name, part in zip(names, state, strict=True)]
        results = [(name, part.dtype, part.shape) for name, part in zip(outputs, ends, strict=True)]
        made = tuple(self.new_name() for _ in state)
        inputs = [self.constant(np.int64(most)), self.constant(np.bool_(True)), *state]
        self.nodes.append(
            Node("Loop", tuple(map(self.name_of, inputs)), made, {"body": (body, arguments, results)}, outside)
        )
        return tuple(RecordedArray(self, part.shape, part.dtype, name) for part, name in zip(state, made, strict=True))


def needed(nodes: list[Node], outputs: Iterable[str]) -> list[Node]:
    """The nodes that some outputs depend on."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted & set(node.outputs):
            kept.append(node)
            wanted |= {*node.inputs, *node.implicit}
    return kept[::-1]


class RecordedArray:
    """An array of the array API standard whose values are not there yet, unless it is a constant."""

    #: NumPy leaves operations with such arrays to them.
    __array_ufunc__ = None

    def __init__(
        self, graph: Graph, shape: tuple[int, ...], dtype: Any, name: str | None, value: np.ndarray | None = None
    ) -> None:
        self.graph = graph
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.name = name
        self.value = value

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from . import namespace

        return namespace

    @property
    def device(self) -> Graph:
        """Arrays are in one place where they are of one graph."""
        return self.graph

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> RecordedArray:
        return self.transposed(tuple(reversed(range(self.ndim))))

    def __array__(self, *settings: Any, **named: Any) -> np.ndarray:
        if self.value is None:
            raise ExportError("expected a computation over an array namespace, got one that needs NumPy arrays")
        return self.value

    def __bool__(self) -> bool:
        if self.value is None:
            raise ExportError("expected a computation that is the same for all rows, got one that depends on values")
        return bool(self.value)

    def transposed(self, axes: tuple[int, ...]) -> RecordedArray:
        shape = tuple(self.shape[axis] for axis in axes)
        return self.graph.apply("Transpose", lambda x: x.transpose(axes), [self], shape, self.dtype, perm=axes)

    def __getitem__(self, key: Any) -> RecordedArray:
        """Whole numbers, slices, None and an ellipsis, as the standard has them."""
        keys = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in keys:
            place = keys.index(Ellipsis)
            missing = self.ndim - sum(k is not None and k is not Ellipsis for k in keys)
            keys[place : place + 1] = [slice(None)] * missing
        found, axis = self, 0
        for k in keys:
            if k is None:
                found = found._with_axis(axis)
                axis += 1
            elif isinstance(k, slice):
                found = found._sliced(k, axis)
                axis += 1
            else:
                found = found._at(int(k), axis)
        return found

    def _with_axis(self, axis: int) -> RecordedArray:
        shape = (*self.shape[:axis], 1, *self.shape[axis:])
        axes = np.array([axis])
        return self.graph.apply("Unsqueeze", lambda x: np.expand_dims(x, axis), [self], shape, self.dtype, axes)

    def _sliced(self, which: slice, axis: int) -> RecordedArray:
        if which == slice(None):
            return self
        places = np.arange(self.shape[axis])[which]
        shape = (*self.shape[:axis], len(places), *self.shape[axis + 1 :])
        function = lambda x: np.take(x, places, axis)  # noqa: E731
        return self.graph.apply("Gather", function, [self], shape, self.dtype, places, axis=axis)

    def _at(self, place: int, axis: int) -> RecordedArray:
        shape = (*self.shape[:axis], *self.shape[axis + 1 :])
        place = place + self.shape[axis] if place < 0 else place
        function = lambda x: np.take(x, place, axis)  # noqa: E731
        return self.graph.apply("Gather", function, [self], shape, self.dtype, np.int64(place), axis=axis)

    def __pow__(self, exponent: Any) -> RecordedArray:
        return self * self if isinstance(exponent, (int, float)) and exponent == 2 else _power(self, exponent)

    def __add__(self, other: Any) -> RecordedArray:
        return _add(self, other)

    def __radd__(self, other: Any) -> RecordedArray:
        return _add(other, self)

    def __sub__(self, other: Any) -> RecordedArray:
        return _subtract(self, other)

    def __rsub__(self, other: Any) -> RecordedArray:
        return _subtract(other, self)

    def __mul__(self, other: Any) -> RecordedArray:
        return _multiply(self, other)

    def __rmul__(self, other: Any) -> RecordedArray:
        return _multiply(other, self)

    def __truediv__(self, other: Any) -> RecordedArray:
        return _divide(self, other)

    def __rtruediv__(self, other: Any) -> RecordedArray:
        return _divide(other, self)

    def __lt__(self, other: Any) -> RecordedArray:
        return _less(self, other)

    def __le__(self, other: Any) -> RecordedArray:
        return _less_equal(self, other)

    def __gt__(self, other: Any) -> RecordedArray:
        return _less(other, self)

    def __ge__(self, other: Any) -> RecordedArray:
        return _less_equal(other, self)

    def equal(self, other: Any) -> RecordedArray:
        """Element by element; numbers or text."""
        return _equal(self, other)

    def __ne__(self, other: Any) -> Any:
        return ~_equal(self, other)

    __hash__ = object.__hash__

    def __and__(self, other: Any) -> RecordedArray:
        return _and(self, other)

    def __or__(self, other: Any) -> RecordedArray:
        return _or(self, other)

    def __invert__(self) -> RecordedArray:
        return _not(self)

    def __neg__(self) -> RecordedArray:
        return _negative(self)

    def __matmul__(self, other: Any) -> RecordedArray:
        other = self.graph.array(other, self.dtype)
        rows, columns = self.shape[:-1][-1:], other.shape[1:][-1:]
        shape = (*broadcast_shapes(self.shape[:-2], other.shape[:-2]), *rows, *columns)
        return self.graph.apply("MatMul", np.matmul, [self, other], shape, self.dtype)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """``np.broadcast_shapes``, which refuses sizes as large as ``ROWS``."""
    aligned = list(zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1))
    for sizes in aligned:
        if len({*sizes} - {1}) > 1:
            raise ValueError(f"expected shapes that can be broadcast, got {shapes}")
    return tuple(max(sizes) for sizes in reversed(aligned))


def _product_with_number(x: RecordedArray, factor: float) -> RecordedArray:
    """x times a number, which is written as a vector along the first axis of known length, or a matrix of one.

    ONNX Runtime would merge a product of matrices with a number before or after it, and round that to single precision.
    """
    axis = next((a for a, size in enumerate(x.shape) if 1 < size < ROWS), None)
    if axis is None and x.shape[-1] == 1:
        return x @ np.full((1, 1), factor)
    return x * np.full([size if a == axis else 1 for a, size in enumerate(x.shape)], factor)


def _number(x: Any) -> float | None:
    """The value of a number, also of one that is a constant of a graph."""
    value = x.value if isinstance(x, RecordedArray) else x
    return None if value is None or np.shape(value) else float(value)


def _multiply(x: Any, y: Any) -> RecordedArray:
    for one, other in ((x, y), (y, x)):
        factor = _number(other)
        if factor is not None and isinstance(one, RecordedArray) and one.value is None and one.ndim > 1:
            return _product_with_number(one, factor)
    return _times(x, y)


def _divide(x: Any, y: Any) -> RecordedArray:
    divisor = _number(y)
    if divisor is not None and divisor != 0.0 and isinstance(x, RecordedArray) and x.value is None and x.ndim > 1:
        return _product_with_number(x, 1.0 / divisor)
    return _ratio(x, y)


def elementwise(op: str, function: Callable[..., Any], dtype: Any = None) -> Callable[..., RecordedArray]:
    """A function of arrays and numbers that meet by broadcasting."""

    def apply(*operands: Any) -> RecordedArray:
        first = next(x for x in operands if isinstance(x, RecordedArray))
        kind = next((x.dtype for x in operands if isinstance(x, RecordedArray) and x.dtype.kind != "b"), first.dtype)
        arrays = [first.graph.array(x, kind) for x in operands]
        shape = broadcast_shapes(*(array.shape for array in arrays))
        return first.graph.apply(op, function, arrays, shape, kind if dtype is None else dtype)

    return apply


_power = elementwise("Pow", np.power)
_add = elementwise("Add", np.add)
_subtract = elementwise("Sub", np.subtract)
_times = elementwise("Mul", np.multiply)
_ratio = elementwise("Div", np.divide)
_negative = elementwise("Neg", np.negative)
_less = elementwise("Less", np.less, bool)
_less_equal = elementwise("LessOrEqual", np.less_equal, bool)
_equal = elementwise("Equal", np.equal, bool)
_and = elementwise("And", np.logical_and, bool)
_or = elementwise("Or", np.logical_or, bool)
_not = elementwise("Not", np.logical_not, bool)

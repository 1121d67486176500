"""The ONNX file of a recorded graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .graph import IR_VERSION, NODES, OPSET, ROWS, ExportError, Graph, Node, RecordedArray, needed

#: What one file can hold, as the format counts bytes in 32 bits.
_LARGEST_BYTES = 2**31 - 2**20


def onnx_modules() -> tuple[Any, Any]:
    """``onnx`` and its helpers, or an error that names the extra."""
    try:
        import onnx
        from onnx import helper
    except ImportError as error:
        raise ImportError("export to ONNX needs onnx: pip install 'gpclass[onnx]'") from error
    return onnx, helper


def model_bytes(graph: Graph, outputs: Mapping[str, RecordedArray], about: Mapping[str, str]) -> bytes:
    """The file, checked."""
    onnx, helper = onnx_modules()
    taken = sorted(set(graph.inputs) & set(outputs))
    if taken:
        raise ExportError(f"expected columns with other names than the outputs {list(outputs)}, got {taken[0]!r}")
    nodes = [*graph.nodes]
    for name, array in outputs.items():
        nodes.append(Node("Identity", (graph.name_of(array),), (name,)))
    nodes = needed(nodes, outputs)
    used = {name for node in nodes for name in (*node.inputs, *node.implicit)}
    constants = {name: value for name, value in graph.constants.items() if name in used}
    size = sum(value.nbytes for value in constants.values())
    if size > _LARGEST_BYTES:
        raise ValueError(
            f"expected a model of at most 2 GB, got {size / 1e9:.1f} GB; SparseGPClassifier and IVMClassifier make "
            "small ones"
        )
    proto = helper.make_graph(
        [_node(helper, node) for node in nodes],
        "gpclass",
        [_info(helper, name, *settings) for name, settings in graph.inputs.items()],
        [_info(helper, name, array.dtype, array.shape) for name, array in outputs.items()],
        [_tensor(onnx, name, value) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(proto, opset_imports=opsets, ir_version=IR_VERSION, producer_name="gpclass")
    model.producer_version = about["gpclass"]
    helper.set_model_props(model, dict(about))
    content = model.SerializeToString()
    onnx.checker.check_model(content, full_check=size < 2**28)
    return content


def _tensor(onnx: Any, name: str, value: np.ndarray) -> Any:
    return onnx.numpy_helper.from_array(value.astype(object) if value.dtype.kind == "U" else value, name)


def _node(helper: Any, node: Node) -> Any:
    attributes = {name: _attribute(helper, node.op, name, value) for name, value in node.attributes.items()}
    return helper.make_node(node.op, node.inputs, node.outputs, **attributes)


def _attribute(helper: Any, op: str, name: str, value: Any) -> Any:
    if op == "Cast":
        return helper.np_dtype_to_tensor_dtype(np.dtype(value))
    if name == "body":
        nodes, arguments, results = value
        first = helper.make_tensor_value_info(results[0][0], _kind(helper, results[0][1]), [])
        rest = [_info(helper, *settings) for settings in results[1:]]
        inputs = [_info(helper, *settings) for settings in arguments]
        return helper.make_graph([_node(helper, inner) for inner in nodes], "body", inputs, [first, *rest])
    return value


def _kind(helper: Any, dtype: Any) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(object if np.dtype(dtype).kind == "U" else dtype))


def _info(helper: Any, name: str, dtype: Any, shape: Iterable[int]) -> Any:
    known = {ROWS: "N", NODES: None}
    return helper.make_tensor_value_info(name, _kind(helper, dtype), [known.get(size, size) for size in shape])

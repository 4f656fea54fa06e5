"""ONNX ops that QNN does not have: the engine runs them as they are, or ONNX's own reference does."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.reference

from edgewright.backends.cpu.empties import refuse_empty
from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import Array
from edgewright.ir.graph import Node
from edgewright.ops.source import SourceOp

CRASH_ON_EMPTY = frozenset({"GRU", "LSTM", "RNN", "RoiAlign"})


@lowers(SourceOp)
def source_op(w: Writer, op: SourceOp, inputs: list[str], node: Node) -> list[str]:
    """The same op with the same attributes."""
    if op.type in CRASH_ON_EMPTY:
        inputs = [refuse_empty(w, inputs[0], w.type(node.inputs[0])), *inputs[1:]]
    return w.node_all(op.type, *inputs, outputs=len(node.outputs), **_list_attributes(op))


def run_source_op(op: SourceOp, arrays: Sequence[Any]) -> tuple[Array, ...]:
    """The op's results by ONNX's reference implementation."""
    names = ["" if array is None else f"in{i}" for i, array in enumerate(arrays)]
    outputs = [f"out{i}" for i in range(len(op.results))]
    node = onnx.helper.make_node(op.type, names, outputs, **_list_attributes(op))
    graph = onnx.helper.make_graph([node], "single", [], [onnx.ValueInfoProto(name=name) for name in outputs])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", op.version)])
    for name, array in zip(names, arrays, strict=True):
        if name:
            code = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(onnx.helper.make_tensor_value_info(name, code, array.shape))
            model.graph.input.append(graph.input[-1])
    feed = {name: array for name, array in zip(names, arrays, strict=True) if name}
    try:
        results = onnx.reference.ReferenceEvaluator(model).run(None, feed)
    except Exception as problem:
        raise BadInput(
            f"ONNX's reference stopped: {shown(problem)}",
            Where(op=op.type),
            do="check the op's attributes and the values of its inputs",
        ) from problem
    return tuple(_as_array(result) for result in results)


def _as_array(result: Any) -> Array:
    """Text as objects, as every other string tensor here."""
    array: Array = np.asarray(result)
    return array.astype(object) if array.dtype.kind in "US" else array


def _list_attributes(op: SourceOp) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in op.attributes}

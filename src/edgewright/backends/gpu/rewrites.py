"""Written ops that the WebGPU provider lacks, in ops that it has."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import onnx

from edgewright.backends.cpu.engine_model import WrittenModel


def rewrite_for_gpu(model: WrittenModel) -> WrittenModel:
    """The model, with other nodes for the ops that have a rewriting; nodes keep the names of their owners."""
    if not any(node.op_type in REWRITINGS for node in model.proto.graph.node):
        return model
    rewriter = _Rewriter(model.proto)
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    del proto.graph.node[:]
    for node in model.proto.graph.node:
        proto.graph.node.extend(rewriter.rewrite(node))
    proto.graph.initializer.extend(rewriter.constants)
    return replace(model, proto=proto)


class _Rewriter:
    """Writes the nodes that stand for one."""

    def __init__(self, proto: onnx.ModelProto) -> None:
        inferred = onnx.shape_inference.infer_shapes(proto).graph
        known = (*inferred.input, *inferred.value_info, *inferred.output)
        self._types = {item.name: item.type.tensor_type for item in known}
        self.constants: list[onnx.TensorProto] = []
        self._nodes: list[onnx.NodeProto] = []
        self._owner = ""
        self._count = 0

    def rewrite(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """The nodes for a node: itself where it has no rewriting, or where a shape is open."""
        self._nodes, self._owner = [], node.name
        write = REWRITINGS.get(node.op_type)
        result = write(self, node) if write is not None and node.input[0] in self._types else ""
        if not result:
            return [node]
        last = next(made for made in self._nodes if result in made.output)
        last.output[:], last.name = node.output, node.name
        return self._nodes

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node; the name of what it makes."""
        self._count += 1
        made = f"{self._owner}.{self._count}"
        name = f"{self._owner}_{self._count}"
        self._nodes.append(onnx.helper.make_node(kind, inputs, [made], name=name, **attributes))
        return made

    def add_constant(self, array: np.ndarray[Any, Any]) -> str:
        """A constant; its name."""
        self._count += 1
        name = f"{self._owner}.{self._count}"
        self.constants.append(onnx.numpy_helper.from_array(array, name))
        return name

    def add_number(self, value: float, like: str) -> str:
        """A scalar in the datatype of a value."""
        kind = onnx.helper.tensor_dtype_to_np_dtype(self.find_dtype(like))
        return self.add_constant(np.asarray(value, kind))

    def find_dtype(self, value: str) -> int:
        """The code of a value's datatype."""
        return int(self._types[value].elem_type)

    def find_shape(self, value: str) -> list[int] | None:
        """A value's shape where it is known."""
        kind = self._types[value]
        dims = [dim.dim_value for dim in kind.shape.dim]
        return dims if kind.HasField("shape") and all(dims) else None


def _write_or(writer: _Rewriter, node: onnx.NodeProto) -> str:
    left, right = (writer.add("Not", name) for name in node.input)
    return writer.add("Not", writer.add("And", left, right))


def _write_xor(writer: _Rewriter, node: onnx.NodeProto) -> str:
    left, right = node.input
    only_left = writer.add("And", left, writer.add("Not", right))
    only_right = writer.add("And", writer.add("Not", left), right)
    neither = writer.add("And", writer.add("Not", only_left), writer.add("Not", only_right))
    return writer.add("Not", neither)


def _write_sign(writer: _Rewriter, node: onnx.NodeProto) -> str:
    x, zero = node.input[0], writer.add_number(0, node.input[0])
    above = writer.add("Cast", writer.add("Greater", x, zero), to=writer.find_dtype(x))
    below = writer.add("Cast", writer.add("Less", x, zero), to=writer.find_dtype(x))
    return writer.add("Sub", above, below)


def _write_round(writer: _Rewriter, node: onnx.NodeProto) -> str:
    """Middles go to the even neighbour."""
    x = node.input[0]
    half, one, two = (writer.add_number(value, x) for value in (0.5, 1, 2))
    floor = writer.add("Floor", x)
    rest = writer.add("Sub", x, floor)
    pairs = writer.add("Mul", writer.add("Floor", writer.add("Mul", floor, half)), two)
    is_odd = writer.add("Equal", writer.add("Sub", floor, pairs), one)
    is_odd_middle = writer.add("And", writer.add("Equal", rest, half), is_odd)
    is_less = writer.add("Not", writer.add("Greater", rest, half))
    is_kept = writer.add("And", is_less, writer.add("Not", is_odd_middle))
    return writer.add("Where", is_kept, floor, writer.add("Add", floor, one))


def _write_log_softmax(writer: _Rewriter, node: onnx.NodeProto) -> str:
    x = node.input[0]
    axis = next((item.i for item in node.attribute if item.name == "axis"), -1)
    axes = writer.add_constant(np.asarray([axis], np.int64))
    centred = writer.add("Sub", x, writer.add("ReduceMax", x, axes, keepdims=1))
    total = writer.add("ReduceSum", writer.add("Exp", centred), axes, keepdims=1)
    return writer.add("Sub", centred, writer.add("Log", total))


def _write_space_to_depth(writer: _Rewriter, node: onnx.NodeProto) -> str:
    shape = writer.find_shape(node.input[0])
    if shape is None:
        return ""
    size = next(item.i for item in node.attribute if item.name == "blocksize")
    batch, channels, height, width = shape
    cut = np.asarray([batch, channels, height // size, size, width // size, size], np.int64)
    whole = np.asarray([batch, channels * size * size, height // size, width // size], np.int64)
    blocks = writer.add("Reshape", node.input[0], writer.add_constant(cut))
    moved = writer.add("Transpose", blocks, perm=[0, 3, 5, 1, 2, 4])
    return writer.add("Reshape", moved, writer.add_constant(whole))


REWRITINGS: dict[str, Callable[[_Rewriter, onnx.NodeProto], str]] = {
    "Or": _write_or,
    "Xor": _write_xor,
    "Sign": _write_sign,
    "Round": _write_round,
    "LogSoftmax": _write_log_softmax,
    "SpaceToDepth": _write_space_to_depth,
}

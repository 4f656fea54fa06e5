"""Turns ops between Dequantize and Quantize into ops on the fixed-point values themselves."""

from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.quant import Convert, Dequantize, Quantize
from edgewright.passes.graph_pass import register_pass, rewrite_each

# The largest integer of the type that a single number is stored in.
TOP = 127


@register_pass(after=("fold_moved_weights",))
def absorb_encodings(graph: Graph) -> int:
    """An op whose operands are all decoded and whose results are all encoded means just that on fixed point.

    A quantized model of the source becomes a quantized graph; what does not fit keeps its real numbers.
    """
    return rewrite_each(graph, _absorb)


def _absorb(graph: Graph, node: Node) -> bool:
    if isinstance(node.op, Quantize):
        return _merge_requantization(graph, node, node.op)
    # They say themselves what integers stand for; what the source alone knows stays as it is.
    if node.op.has_fixed_types:
        return False
    stored = [_find_stored(graph, value) for value in node.inputs]
    encoders = [_find_encoder(graph, value) for value in node.outputs]
    if any(item is None for item in (*stored, *encoders)):
        return False
    if not any(item in graph.types and graph.types[item].dtype.is_fixed_point for item in stored):
        return False
    if all(value == own for value, own in zip(stored, node.inputs, strict=True)):
        return False
    _rewire(graph, node, stored)
    for value, encoder in zip(list(node.outputs), encoders, strict=True):
        if isinstance(encoder, Node):
            _take_over(graph, value, encoder)
    return True


def _rewire(graph: Graph, node: Node, stored: "list[str | _OneNumber | None]") -> None:
    for place, value in enumerate(stored):
        if isinstance(value, _OneNumber):
            graph.set_input(node, place, _encode_number(graph, value.name))
        elif value is not None and value != node.inputs[place]:
            graph.set_input(node, place, value)


def _merge_requantization(graph: Graph, node: Node, op: Quantize) -> bool:
    """What is decoded only to be encoded again changes its encoding, or nothing at all."""
    before = graph.producer(node.inputs[0])
    if before is None or not isinstance(before.op, Dequantize) or before.inputs[0] in graph.constants:
        return False
    source = before.inputs[0]
    source_type, made = graph.types[source], node.outputs[0]
    if (source_type.dtype, source_type.encoding) == (op.dtype, op.encoding) and made not in graph.outputs:
        graph.replace_uses(made, source)
        graph.remove(node)
        return True
    result_type = graph.types[made]
    graph.remove(node)
    convert = Convert(dtype=op.dtype, encoding=op.encoding, source=source_type.encoding)
    graph.add(Node(node.name, convert, [source], [made], node.source), [result_type])
    return True


@dataclass(frozen=True)
class _OneNumber:
    """A constant of one real number, which has an encoding that holds it exactly."""

    name: str


def _find_stored(graph: Graph, value: str) -> "str | _OneNumber | None":
    """The fixed-point value behind an operand; itself where it holds no real numbers, None without one."""
    if not value or not graph.types[value].dtype.is_float:
        return value
    before = graph.producer(value)
    if before is not None and isinstance(before.op, Dequantize):
        return before.inputs[0]
    array = graph.constants.get(value)
    is_number = array is not None and array.size and bool((array == array.reshape(-1)[0]).all())
    return _OneNumber(value) if is_number else None


def _encode_number(graph: Graph, name: str) -> str:
    array = graph.constants[name]
    number = float(array.reshape(-1)[0])
    encoding = Encoding((abs(number) / TOP if number else 1.0,), (0,))
    stored = np.full(array.shape, int(np.sign(number)) * TOP, np.int8)
    tensor_type = TensorType(array.shape, DType.SFIXED_POINT_8, None, encoding)
    return graph.add_constant(graph.fresh_name(name), stored, tensor_type, of=name)


def _find_encoder(graph: Graph, value: str) -> Node | str | None:
    """The only reader of a real result, where it encodes it; the value where it is no real number."""
    if not value or not graph.types[value].dtype.is_float:
        return value
    readers = graph.consumers(value)
    is_encoded = len(readers) == 1 and isinstance(readers[0].op, Quantize) and value not in graph.outputs
    return readers[0] if is_encoded else None


def _take_over(graph: Graph, value: str, encoder: Node) -> None:
    """The op makes what was encoded from its result, under that name."""
    made = encoder.outputs[0]
    encoded_type = graph.types[made]
    graph.remove(encoder)
    graph.rename_value(value, made)
    graph.types[made] = encoded_type

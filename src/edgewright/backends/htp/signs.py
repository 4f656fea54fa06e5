"""Signed activations of 8 bits as the unsigned ones that HTP computes with, which are shifted by 128."""

from collections.abc import Iterable
from dataclasses import replace

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.quant import Convert
from edgewright.passes.target.retype_io import insert_after_input, insert_before_output

SHIFT = 128
# Fields of ops that repeat the types of their tensors.
OF_TYPES = frozenset({"dtype", "encoding", "source"})


def with_unsigned(graph: Graph, outputs: Iterable[str]) -> Graph:
    """A copy whose activations are unsigned; graph inputs and outputs keep their types.

    On the emulator an int8 network gives what the same network in uint8 gives, roundings of sums included.
    """
    signed = {name: t for name, t in graph.types.items() if _is_signed(t) and name not in graph.constants}
    if not signed:
        return graph
    found = graph.copy()
    found.types |= {name: _unsigned(t) for name, t in signed.items()}
    for node in found.nodes:
        if not signed.keys().isdisjoint((*node.inputs, *node.outputs)):
            _refit(found, node)
    for name in [name for name in found.inputs if name in signed]:
        insert_after_input(found, name, signed[name], _turn(signed[name], found.types[name]))
    for name in dict.fromkeys(outputs):
        if name in signed and found.producer(name) is not None:
            insert_before_output(found, name, _turn(found.types[name], signed[name]))
    found.sort()
    return found


def _is_signed(tensor_type: TensorType) -> bool:
    encoding = tensor_type.encoding
    is_whole = encoding is not None and encoding.axis is None and encoding.bitwidth == 8
    return tensor_type.dtype == DType.SFIXED_POINT_8 and is_whole


def _unsigned(tensor_type: TensorType) -> TensorType:
    assert tensor_type.encoding is not None
    offsets = tuple(offset - SHIFT for offset in tensor_type.encoding.offsets)
    return replace(
        tensor_type, dtype=DType.UFIXED_POINT_8, encoding=replace(tensor_type.encoding, offsets=offsets)
    )


def _refit(graph: Graph, node: Node) -> None:
    made = type(node.op).read_structure(graph.input_types(node), graph.output_types(node))
    changed = {name: value for name, value in made.items() if name in OF_TYPES}
    if changed:
        node.op = replace(node.op, **changed)


def _turn(before: TensorType, after: TensorType) -> Convert:
    return Convert(dtype=after.dtype, encoding=after.encoding, source=before.encoding)

"""Weights that are stored as integers but multiply real numbers: decoded once, not in every run."""

from collections.abc import Collection, Iterator

from edgewright.backends.cpu.recurrent_integer import feeds_integer_lstm
from edgewright.ir.graph import Graph, Node
from edgewright.ops.quant import Dequantize
from edgewright.ops.rearrange import Reshape, Transpose


def with_decoded_weights(graph: Graph, keep: Collection[str]) -> Graph:
    """The graph, or a copy with real constants; values in ``keep`` stay results of nodes.

    Where the other operand is decoded in the run too, the engine makes one integer kernel of all of it and
    must see the integers.
    """
    found = [node.name for node in graph.nodes if _is_plain(graph, node, keep)]
    if not found:
        return graph
    changed = graph.copy()
    for name in found:
        _decode(changed, changed.node(name))
    return changed


def _is_plain(graph: Graph, node: Node, keep: Collection[str]) -> bool:
    return (
        isinstance(node.op, Dequantize)
        and node.inputs[0] in graph.constants
        and node.outputs[0] not in keep
        and not any(_is_decoded(graph, value) for value in _list_partners(graph, node.outputs[0]))
        and not feeds_integer_lstm(graph, node.outputs[0])
    )


def _list_partners(graph: Graph, value: str) -> Iterator[str]:
    """The other operands of the ops that read a value, also behind moves of it."""
    for reader in graph.consumers(value):
        if isinstance(reader.op, Reshape | Transpose):
            yield from _list_partners(graph, reader.outputs[0])
        else:
            yield from (other for other in reader.inputs if other and other != value)


def _is_decoded(graph: Graph, value: str) -> bool:
    """Whether a value is decoded from integers that only a run knows."""
    maker = graph.producer(value)
    while maker is not None and isinstance(maker.op, Reshape | Transpose):
        maker = graph.producer(maker.inputs[0])
    return maker is not None and isinstance(maker.op, Dequantize) and maker.inputs[0] not in graph.constants


def _decode(graph: Graph, node: Node) -> None:
    stored, result = node.inputs[0], node.outputs[0]
    tensor_type = graph.types[result]
    (array,) = node.op.compute(graph.constants[stored])
    graph.remove(node)
    graph.replace_uses(result, graph.add_constant(graph.fresh_name(result), array, tensor_type))

"""Moves Dequantize before the transposes and reshapes of stored integers, so that it meets its Quantize."""

from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ops.cast import Cast
from edgewright.ops.quant import Dequantize, Quantize
from edgewright.ops.rearrange import Reshape, Transpose


def lift_moves(graph: Graph) -> None:
    """Quantize, moves of integers, Dequantize become Quantize, Dequantize, moves of real numbers; in place.

    Both compute the same; exporters write the first where it is the cheaper one.
    """
    for node in graph.nodes:
        if isinstance(node.op, Dequantize) and node.op.encoding.axis is None:
            _lift(graph, node, node.op)
    graph.sort()


def _lift(graph: Graph, node: Node, op: Dequantize) -> None:
    source, moves = _find_chain(graph, node.inputs[0], op.encoding)
    if source == node.inputs[0] or node.outputs[0] in graph.outputs:
        return
    made = node.outputs[0]
    real = graph.fresh_name(made)
    graph.add(Node(f"{node.name}_first", op, [source], [real], node.source))
    for move in moves:
        moved = graph.fresh_name(made)
        graph.add(Node(f"{move.name}_{moved}", move.op, [real], [moved], move.source))
        real = moved
    graph.replace_uses(made, real)
    graph.remove(node)
    _drop_unread(graph, node.inputs[0])


def _find_chain(graph: Graph, value: str, encoding: Encoding) -> tuple[str, list[Node]]:
    """The quantized value that integers come from, and the moves on the way, first things first.

    The value itself where they come from nowhere that is known.
    """
    start, moves = value, list[Node]()
    maker = graph.producer(value)
    while maker is not None and isinstance(maker.op, Cast | Transpose | Reshape):
        # A cast between types of one width keeps the stored integers; any other changes them.
        if graph.types[maker.inputs[0]].dtype.numpy != graph.types[maker.outputs[0]].dtype.numpy:
            return start, []
        if not isinstance(maker.op, Cast):
            moves.insert(0, maker)
        value = maker.inputs[0]
        maker = graph.producer(value)
    is_met = maker is not None and isinstance(maker.op, Quantize) and maker.op.encoding == encoding
    return (value, moves) if is_met else (start, [])


def _drop_unread(graph: Graph, value: str) -> None:
    maker = graph.producer(value)
    while maker is not None and not graph.consumers(value) and value not in graph.outputs:
        if not isinstance(maker.op, Cast | Transpose | Reshape):
            return
        graph.remove(maker)
        value = maker.inputs[0]
        maker = graph.producer(value)

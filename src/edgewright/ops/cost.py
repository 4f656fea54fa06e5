"""What a node costs in arithmetic."""

from collections.abc import Mapping

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.symbols import batch_symbols, resolve, resolve_op


def node_macs(graph: Graph, node: Node) -> int:
    """Multiply-accumulates of one run with a batch of 1; 0 where another dimension is open."""
    if not is_product(node):
        return 0
    batch = dict.fromkeys(batch_symbols({name: graph.types[name] for name in graph.inputs}), 1)
    return known_macs(graph, node, batch) or 0


def known_macs(graph: Graph, node: Node, symbols: Mapping[str, int]) -> int | None:
    """Multiply-accumulates with these numbers for symbols; None where a dimension stays open."""
    if not is_product(node):
        return 0
    inputs = [None if item is None else resolve(item, symbols) for item in graph.input_types(node)]
    outputs = [resolve(item, symbols) for item in graph.output_types(node)]
    if not all(item is None or item.is_static for item in (*inputs, *outputs)):
        return None
    return int(resolve_op(node.op, symbols).macs(inputs, outputs))


def is_product(node: Node) -> bool:
    """Whether the op is made of multiply-accumulates."""
    return type(node.op).macs is not Op.macs

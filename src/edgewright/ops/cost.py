"""What a node costs in arithmetic."""

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op

__all__ = ["node_macs"]


def node_macs(graph: Graph, node: Node) -> int:
    """Multiply-accumulates of one run; 0 where a dimension is open, or where the op multiplies nothing."""
    if type(node.op).macs is Op.macs:
        return 0
    types = [*graph.input_types(node), *graph.output_types(node)]
    if not all(item is None or item.is_static for item in types):
        return 0
    return int(node.op.macs(graph.input_types(node), graph.output_types(node)))

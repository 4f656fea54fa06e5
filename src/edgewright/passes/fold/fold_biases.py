"""Folds summands of channels into the bias of the product before them, and nothing that scales."""

from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.passes.fold.fold_channels import fold_node
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass(after=("assign_layout",), rtol=1e-4)
def fold_biases(graph: Graph) -> int:
    """What is left of fold_channels with --disable_batchnorm_folding: biases are no batch norms."""
    return rewrite_each(graph, _fold)


def _fold(graph: Graph, node: Node) -> bool:
    return isinstance(node.op, ElementWiseAdd) and fold_node(graph, node)

"""Writes products by a constant matrix as FullyConnected."""

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each
from edgewright.passes.match import take_over


@register_pass(after=("fold_constants",), rtol=1e-6)
def fuse_fully_connected(graph: Graph) -> int:
    """Products x @ w with a constant w of rank 2; the weights are a transposed view of it."""
    return rewrite_each(graph, _fuse)


def _fuse(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, MatMul) or node.inputs[1] not in graph.constants:
        return False
    right, name = graph.types[node.inputs[1]], node.inputs[1]
    if right.rank != 2 or not right.dtype.is_float:
        return False
    if node.op.transpose_in0:
        raise Refused("its left operand is swapped")
    if not node.op.transpose_in1:
        name = graph.add_constant(graph.fresh_name(name), np.transpose(graph.constants[name]), of=name)
    bias = given(node.inputs, 2) or ""
    has_rows = graph.types[node.inputs[0]].rank > 2
    inputs = [value for value in (node.inputs[0], name, bias) if value]
    take_over(graph, node, FullyConnected(keep_dims=has_rows), inputs)
    return True

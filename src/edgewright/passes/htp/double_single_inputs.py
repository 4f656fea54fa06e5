"""Writes fully connected layers of one value as layers of two: HTP's compiler never ends on them."""

from dataclasses import replace
from math import prod

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.rearrange import Concat
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass(after=("flatten_rows",))
def double_single_inputs(graph: Graph) -> int:
    """In fixed point with one row (2.51): the value comes twice, the second time with a weight of zero."""
    return rewrite_each(graph, _rewrite)


def _rewrite(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, FullyConnected) or node.inputs[1] not in graph.constants:
        return False
    x, weights = graph.types[node.inputs[0]], graph.types[node.inputs[1]]
    if not (x.is_static and x.dtype.is_fixed_point and x.rank) or prod(x.static_shape()) != 1:
        return False
    units, _ = weights.static_shape()
    zeros = np.zeros((units, 2), np.float32)
    array = graph.constants[node.inputs[1]]
    doubled = (
        zeros.astype(array.dtype)
        if weights.encoding is None
        else weights.encoding.encode(zeros, weights.dtype)
    )
    doubled[:, :1] = array
    kind = replace(weights, shape=(units, 2))
    twice = replace(x, shape=(*x.shape[:-1], 2), layout=None)
    pair = graph.fresh_name(node.inputs[0])
    name = graph.fresh_name(f"{node.name}_pair")
    graph.add(Node(name, Concat(axis=x.rank - 1), [node.inputs[0]] * 2, [pair], node.source), [twice])
    graph.set_input(node, 0, pair)
    graph.set_input(
        node, 1, graph.add_constant(graph.fresh_name(node.inputs[1]), doubled, kind, of=node.inputs[1])
    )
    return True

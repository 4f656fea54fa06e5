"""Counts negative indices that are constants from the front: HTP's validator knows no others."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.gather import Gather, GatherElements, GatherNd
from edgewright.ops.gather_scatter import ScatterElements, ScatterNd
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def wrap_indices(graph: Graph) -> int:
    """-1 becomes the length of its axis less one."""
    return rewrite_each(graph, _wrap)


def _wrap(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, Gather | GatherElements | GatherNd | ScatterElements | ScatterNd):
        return False
    name, data = node.inputs[1], graph.types[node.inputs[0]]
    indices = graph.constants.get(name)
    if indices is None or not data.is_static or indices.min(initial=0) >= 0:
        return False
    lengths = _find_lengths(node, data.static_shape(), indices)
    wrapped = np.where(indices < 0, indices + lengths, indices).astype(indices.dtype)
    graph.set_input(node, 1, graph.add_constant(graph.fresh_name(name), wrapped, graph.types[name], of=name))
    return True


def _find_lengths(node: Node, shape: tuple[int, ...], indices: Array) -> Array:
    """The length of the axis that each index counts along."""
    if isinstance(node.op, GatherNd):
        first = node.op.batch_dims
        return np.asarray(shape[first : first + indices.shape[-1]])
    if isinstance(node.op, ScatterNd):
        return np.asarray(shape[: indices.shape[-1]])
    assert isinstance(node.op, Gather | GatherElements | ScatterElements)
    return np.asarray(shape[node.op.axis])

"""Picks booleans and integers as HTP can: it gathers no booleans, and no integers by tuples of indices."""

from dataclasses import replace
from math import prod

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.cast import Cast
from edgewright.ops.gather import Gather, GatherElements, GatherNd
from edgewright.ops.rearrange import Reshape
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def gather_integers(graph: Graph) -> int:
    """The masks of transformers are booleans that are picked by tuples."""
    return rewrite_each(graph, _pick_as_integers) + rewrite_each(graph, _pick_flat)


def _pick_as_integers(graph: Graph, node: Node) -> bool:
    """Booleans become 0 and 1, and then booleans again."""
    data, result = node.inputs[0], node.outputs[0]
    if not isinstance(node.op, Gather | GatherElements | GatherNd):
        return False
    if graph.types[data].dtype != DType.BOOL_8:
        return False
    before, after = (graph.types[value].with_dtype(DType.INT_32) for value in (data, result))
    numbers, picked = graph.fresh_name(f"{data}_int"), graph.fresh_name(f"{result}_int")
    types = graph.output_types(node)
    graph.remove(node)
    cast = Node(graph.fresh_name(f"{node.name}_int"), Cast(dtype=DType.INT_32), [data], [numbers])
    graph.add(cast, [before])
    graph.add(replace(node, inputs=[numbers, node.inputs[1]], outputs=[picked]), [after])
    back = Node(graph.fresh_name(f"{node.name}_bool"), Cast(dtype=DType.BOOL_8), [picked], node.outputs)
    graph.add(back, types)
    return True


def _pick_flat(graph: Graph, node: Node) -> bool:
    """Constant tuples become places in the data, once the axes that they count along are one."""
    if not isinstance(node.op, GatherNd) or node.op.batch_dims:
        return False
    data, tuples = graph.types[node.inputs[0]], graph.constants.get(node.inputs[1])
    if tuples is None or not data.is_static or data.dtype.is_float or data.encoding is not None:
        return False
    shape, width = data.static_shape(), tuples.shape[-1]
    lengths = np.asarray(shape[:width])
    whole = tuples.astype(np.int64)
    if ((whole < -lengths) | (whole >= lengths)).any():
        return False
    places = np.ravel_multi_index(tuple(np.moveaxis(whole % lengths, -1, 0)), shape[:width])
    rows = (prod(shape[:width]), *shape[width:])
    types = graph.output_types(node)
    graph.remove(node)
    flat, index = graph.fresh_name(f"{node.inputs[0]}_flat"), graph.fresh_name(f"{node.inputs[1]}_flat")
    reshape = Node(graph.fresh_name(f"{node.name}_flat"), Reshape(shape=rows), [node.inputs[0]], [flat])
    graph.add(reshape, [replace(data, shape=rows, layout=None)])
    # Places are more than the indices of one axis, which a narrow type may hold.
    kind = graph.types[node.inputs[1]].with_shape(places.shape).with_dtype(DType.INT_32)
    graph.add_constant(index, np.asarray(places, np.int32), kind, of=node.inputs[1])
    graph.add(replace(node, op=Gather(axis=0), inputs=[flat, index]), types)
    return True

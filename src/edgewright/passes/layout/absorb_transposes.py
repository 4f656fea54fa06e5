"""Lets ops read what a transpose read: reductions name other axes, products swap, weights are reordered."""

from dataclasses import replace

import numpy as np

from edgewright.ir.dims import is_static
from edgewright.ir.graph import Graph, Node
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.ops.reduce import Reduction
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.layout.orders import Order
from edgewright.passes.match import drop_unread


@register_pass(after=("merge_moves", "assign_layout"), rtol=1e-5)
def absorb_transposes(graph: Graph) -> int:
    """A transpose goes where each op that reads it can say the same by its own means."""
    return rewrite_each(graph, _absorb)


def can_absorb(graph: Graph, node: Node, value: str, order: Order) -> bool:
    """Whether the node could as well read what ``value`` is a transpose by ``order`` of."""
    op = node.op
    if isinstance(op, Reduction):
        kept = [axis for place, axis in enumerate(order) if place not in op.axes]
        return not op.keep_dims and kept == sorted(kept)
    if isinstance(op, MatMul):
        rank = len(order)
        return order == (*range(rank - 2), rank - 1, rank - 2) and value in node.inputs[:2]
    return (
        isinstance(op, Reshape) and order[:1] == (0,) and _find_reader_of_rows(graph, node, value) is not None
    )


def _absorb(graph: Graph, node: Node) -> bool:
    for place, value in enumerate(node.inputs):
        before = graph.producer(value)
        if before is None or not isinstance(before.op, Transpose):
            continue
        if can_absorb(graph, node, value, before.op.perm):
            _absorb_order(graph, node, place, before.op.perm)
            graph.set_input(node, place, before.inputs[0])
            drop_unread(graph, value)
            return True
    return False


def _absorb_order(graph: Graph, node: Node, place: int, order: Order) -> None:
    """Lets the op, or the weights behind it, mean the transposed value."""
    op = node.op
    if isinstance(op, Reduction):
        node.op = replace(op, axes=tuple(sorted(order[axis] for axis in op.axes)))
    elif isinstance(op, MatMul):
        flag = f"transpose_in{place}"
        node.op = replace(op, **{flag: not getattr(op, flag)})
    else:
        reader = _find_reader_of_rows(graph, node, node.inputs[0])
        assert reader is not None
        _reorder_columns(graph, reader, tuple(int(d) for d in graph.types[node.inputs[0]].shape[1:]), order)


def _find_reader_of_rows(graph: Graph, reshape: Node, value: str) -> Node | None:
    """The one fully connected op that reads the value as rows, if its weights are known."""
    rows, output = graph.types[reshape.outputs[0]], reshape.outputs[0]
    readers = graph.consumers(output)
    if len(readers) != 1 or output in graph.outputs or not isinstance(readers[0].op, FullyConnected):
        return None
    whole = graph.types[value].shape
    is_flattening = rows.rank == 2 and rows.shape[:1] == whole[:1] and is_static(whole[1:])
    is_activation = readers[0].inputs[0] == output and readers[0].inputs.count(output) == 1
    weights = graph.types[readers[0].inputs[1]]
    has_axis = weights.encoding is not None and weights.encoding.axis == 1
    is_known = readers[0].inputs[1] in graph.constants and not has_axis
    return readers[0] if is_flattening and is_activation and is_known else None


def _reorder_columns(graph: Graph, node: Node, sizes: tuple[int, ...], order: Order) -> None:
    old = node.inputs[1]
    weights = graph.constants[old]
    places = [order.index(axis) for axis in range(1, len(order))]
    split = weights.reshape(weights.shape[0], *sizes)
    turned = np.transpose(split, (0, *places)).reshape(weights.shape)
    name = graph.add_constant(graph.fresh_name(old), turned, graph.types[old], of=old)
    graph.set_input(node, 1, name)
    if not graph.consumers(old):
        graph.drop_constant(old)

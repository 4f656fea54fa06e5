"""Moves channel-first transposes towards the outputs and channel-last ones towards the inputs.

A frontend puts a pair of them around each spatial op; where two pairs meet they cancel, and a network that
is spatial throughout keeps at most one at each end.
"""

from dataclasses import replace

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.axes import permute_shape
from edgewright.ops.rearrange import Transpose
from edgewright.passes.graph_pass import graph_pass, rewrite_each

__all__ = ["channel_first", "channel_last", "pull_transposes", "push_transposes"]

Order = tuple[int, ...]


def channel_first(rank: int) -> Order:
    """The order that brings N, spatial..., C to N, C, spatial..."""
    return (0, rank - 1, *range(1, rank - 1))


def channel_last(rank: int) -> Order:
    """The order that brings N, C, spatial... to N, spatial..., C."""
    return (0, *range(2, rank), 1)


@graph_pass(after=("merge_moves",))
def push_transposes(graph: Graph) -> int:
    """op(to_first(x)) becomes to_first(op(x)) where the op allows it."""
    return rewrite_each(graph, _push)


@graph_pass(after=("push_transposes",))
def pull_transposes(graph: Graph) -> int:
    """to_last(op(x)) becomes op(to_last(x)) where all readers want it so."""
    return rewrite_each(graph, _pull)


def _push(graph: Graph, node: Node) -> bool:
    orders = {_order_of(graph, value) for value in node.inputs if value and value not in graph.constants}
    order = next((o for o in orders if o is not None and o == channel_first(len(o)) and len(o) > 2), None)
    if order is None or isinstance(node.op, Transpose):
        return False
    back = channel_last(len(order))
    op, moved = _permuted(graph, node, back)
    if op is None or any(
        value not in graph.constants and _order_of(graph, value) != order
        for value, is_moved in zip(node.inputs, moved, strict=True)
        if is_moved
    ):
        return False
    for index, is_moved in enumerate(moved):
        if is_moved:
            value = node.inputs[index]
            graph.set_input(node, index, _turned_constant(graph, value, back) if value in graph.constants else _source(graph, value))
    _turn_outputs(graph, node, op, back, order)
    return True


def _pull(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, Transpose) or node.op.perm != channel_last(len(node.op.perm)) or len(node.op.perm) < 3:
        return False
    before, order = graph.producer(node.inputs[0]), node.op.perm
    if before is None or len(before.outputs) != 1 or node.inputs[0] in graph.outputs or isinstance(before.op, Transpose):
        return False
    readers = graph.consumers(node.inputs[0])
    if not all(isinstance(reader.op, Transpose) and reader.op.perm == order for reader in readers):
        return False
    op, moved = _permuted(graph, before, order)
    # More than one moved variable input would multiply the transposes.
    if op is None or sum(m and v not in graph.constants for v, m in zip(before.inputs, moved, strict=True)) != 1:
        return False
    for index, is_moved in enumerate(moved):
        if is_moved:
            value = before.inputs[index]
            graph.set_input(before, index, _turned_constant(graph, value, order) if value in graph.constants else _turned(graph, value, order))
    _drop_turned(graph, before, op, readers)
    return True


def _permuted(graph: Graph, node: Node, order: Order) -> tuple[Op | None, list[bool]]:
    """The op on transposed inputs; constants of lower rank get leading axes first."""
    types = [_full_rank(graph, value, len(order)) if value else None for value in node.inputs]
    if node.subgraphs or any(t is not None and t.rank not in {0, len(order)} and t.count != 1 for t in types):
        return None, []
    found = node.op.permuted(order, *types)  # type: ignore[arg-type]
    return found if found is not None else (None, [])


def _full_rank(graph: Graph, value: str, rank: int) -> TensorType:
    tensor_type = graph.types[value]
    if value in graph.constants and 0 < tensor_type.rank < rank:
        return tensor_type.with_shape((1,) * (rank - tensor_type.rank) + tensor_type.shape)
    return tensor_type


def _turned_constant(graph: Graph, value: str, order: Order) -> str:
    array, tensor_type = graph.constants[value], _full_rank(graph, value, len(order))
    turned = np.transpose(array.reshape(tensor_type.static_shape()), order)
    encoding = tensor_type.encoding
    if encoding is not None and encoding.axis is not None:
        axis = encoding.axis + tensor_type.rank - graph.types[value].rank
        encoding = replace(encoding, axis=order.index(axis))
    turned_type = replace(tensor_type, shape=permute_shape(tensor_type.shape, order), layout=None, encoding=encoding)
    return graph.add_constant(graph.fresh_name(value), turned, turned_type)


def _turned(graph: Graph, value: str, order: Order) -> str:
    name = graph.fresh_name(value)
    graph.add(Node(graph.fresh_name(name), Transpose(perm=order), [value], [name]))
    return name


def _turn_outputs(graph: Graph, node: Node, op: Op, back: Order, order: Order) -> None:
    """The node now makes transposed values; a transpose after each gives the old ones."""
    types = graph.output_types(node)
    wanted = [value for value in node.outputs if value]
    notes, source, inputs = node.notes, node.source, list(node.inputs)
    fresh = {value: graph.fresh_name(value) for value in wanted}
    graph.remove(node)
    turned = Node(node.name, op, inputs, [fresh.get(v, "") for v in node.outputs], source, node.subgraphs, notes)
    graph.add(turned, [_permute_type(t, back) for t in types])
    for value, tensor_type in zip(wanted, types, strict=True):
        graph.source_names[fresh[value]] = graph.source_names.get(value, value)
        graph.add(Node(graph.fresh_name(value), Transpose(perm=order), [fresh[value]], [value], source), [tensor_type])


def _drop_turned(graph: Graph, node: Node, op: Op, readers: list[Node]) -> None:
    """The node takes the place of the transposes that read it."""
    old = node.outputs[0]
    kept, tensor_type = readers[0].outputs[0], graph.types[readers[0].outputs[0]]
    inputs = list(node.inputs)
    for reader in readers:
        outputs = list(reader.outputs)
        graph.remove(reader)
        if outputs[0] != kept:
            graph.replace_uses(outputs[0], kept)
    graph.remove(node)
    graph.source_names[kept] = graph.source_names.get(old, old)
    graph.add(Node(node.name, op, inputs, [kept], node.source, node.subgraphs, node.notes), [tensor_type])


def _permute_type(tensor_type: TensorType, order: Order) -> TensorType:
    encoding = tensor_type.encoding
    if encoding is not None and encoding.axis is not None:
        encoding = replace(encoding, axis=order.index(encoding.axis))
    return replace(tensor_type, shape=permute_shape(tensor_type.shape, order), layout=None, encoding=encoding)


def _order_of(graph: Graph, value: str) -> Order | None:
    node = graph.producer(value)
    return node.op.perm if node is not None and isinstance(node.op, Transpose) else None


def _source(graph: Graph, value: str) -> str:
    node = graph.producer(value)
    assert node is not None
    return node.inputs[0]

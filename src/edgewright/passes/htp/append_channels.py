"""Writes constant padding behind the last axis as a concatenation: HTP leaves other numbers there."""

from dataclasses import replace

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ops.matmul import MatMul
from edgewright.ops.rearrange import Concat, Transpose
from edgewright.ops.rearrange_fill import Pad, Scheme
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.match import drop_unread_constant


@register_pass()
def append_channels(graph: Graph) -> int:
    """Where somebody else reads the padded value too, the emulator (2.51) shows what lay in its memory."""
    return rewrite_each(graph, _append)


def _append(graph: Graph, node: Node) -> bool:
    op = node.op
    if not isinstance(op, Pad) or op.scheme != Scheme.CONSTANT:
        return False
    x, result = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    *others, (before, behind) = op.pad_amount
    if not (x.is_static and result.is_static) or behind == 0:
        return False
    value, shape = node.inputs[0], result.static_shape()
    filling = _add_filling(graph, node, (*shape[:-1], int(behind)))
    graph.remove(node)
    if before or any(pair != (0, 0) for pair in others):
        value = graph.fresh_name(node.inputs[0])
        rest = replace(op, pad_amount=(*others, (before, 0)))
        kind = replace(result, shape=(*shape[:-1], shape[-1] - int(behind)))
        graph.add(Node(node.name, rest, node.inputs, [value], node.source), [kind])
    name = graph.fresh_name(f"{node.name}_concat")
    join = Concat(axis=x.rank - 1)
    graph.add(Node(name, join, [value, filling], node.outputs, node.source), [result])
    if x.rank > 1 and any(isinstance(reader.op, MatMul) for reader in graph.consumers(node.outputs[0])):
        _join_rows(graph, graph.node(name))
    return True


def _join_rows(graph: Graph, join: Node) -> None:
    """The same of turned matrices: HTP loses a column between two products of them."""
    rank = graph.types[join.outputs[0]].rank
    turn = Transpose(perm=(*range(rank - 2), rank - 1, rank - 2))
    turned = [_turn(graph, join, value, turn) for value in join.inputs]
    (result,) = graph.output_types(join)
    graph.remove(join)
    rows, shape = graph.fresh_name(join.outputs[0]), result.static_shape()
    kind = replace(result, shape=(*shape[:-2], shape[-1], shape[-2]), layout=None)
    graph.add(Node(join.name, Concat(axis=rank - 2), turned, [rows], join.source), [kind])
    name = graph.fresh_name(f"{join.name}_turn")
    graph.add(Node(name, turn, [rows], join.outputs, join.source), [result])
    for value in join.inputs:
        drop_unread_constant(graph, value)


def _turn(graph: Graph, join: Node, value: str, turn: Transpose) -> str:
    """A value with its last two axes swapped; constants are stored so."""
    kind, shape = graph.types[value], graph.types[value].static_shape()
    turned = replace(kind, shape=(*shape[:-2], shape[-1], shape[-2]), layout=None)
    if value in graph.constants:
        array = np.ascontiguousarray(np.swapaxes(graph.constants[value], -1, -2))
        return graph.add_constant(graph.fresh_name(value), array, turned)
    name = graph.fresh_name(value)
    graph.add(Node(graph.fresh_name(f"{join.name}_turn"), turn, [value], [name], join.source), [turned])
    return name


def _add_filling(graph: Graph, node: Node, shape: tuple[int, ...]) -> str:
    """A constant of the pad's value, stored as the padded tensor is."""
    assert isinstance(node.op, Pad)
    kind = replace(graph.types[node.outputs[0]], shape=shape, layout=None)
    real = np.full(shape, node.op.pad_constant_value)
    array = real.astype(kind.dtype.numpy) if kind.encoding is None else kind.encoding.encode(real, kind.dtype)
    return graph.add_constant(graph.fresh_name(f"{node.name}_filling"), array, kind)

"""Writes constant padding behind the last axis as a concatenation: HTP leaves other numbers there."""

from dataclasses import replace

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Concat
from edgewright.ops.rearrange_fill import Pad, Scheme
from edgewright.passes.graph_pass import register_pass, rewrite_each


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
    graph.add(Node(name, Concat(axis=x.rank - 1), [value, filling], node.outputs, node.source), [result])
    return True


def _add_filling(graph: Graph, node: Node, shape: tuple[int, ...]) -> str:
    """A constant of the pad's value, stored as the padded tensor is."""
    assert isinstance(node.op, Pad)
    kind = replace(graph.types[node.outputs[0]], shape=shape, layout=None)
    real = np.full(shape, node.op.pad_constant_value)
    array = real.astype(kind.dtype.numpy) if kind.encoding is None else kind.encoding.encode(real, kind.dtype)
    return graph.add_constant(graph.fresh_name(f"{node.name}_filling"), array, kind)

"""Transposed convolutions of 16 bits as HTP computes them: each place of the kernel by itself.

Sums of bytes are rounded with the weights that a result sees, not with those of the whole kernel.
"""

from dataclasses import replace
from typing import cast

import numpy as np

from edgewright.backends.htp.requantize import is_wide
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.conv import Conv2d
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.rearrange_blocks import DepthToSpace

NO_PADS = ((0, 0), (0, 0))


def with_phases(graph: Graph) -> Graph:
    """A copy in which kernels that do not overlap are convolutions of one place, with blocks of channels."""
    tiling = [node.name for node in graph.nodes if _is_tiling(graph, node)]
    if not tiling:
        return graph
    split = graph.copy()
    for name in tiling:
        _split_kernel(split, split.node(name))
    split.sort()
    return split


def _is_tiling(graph: Graph, node: Node) -> bool:
    op = node.op
    if not isinstance(op, TransposeConv2d) or not is_wide(graph.types[node.outputs[0]]):
        return False
    constants = [name for name in node.inputs[1:] if name]
    encodings = [graph.types[name].encoding for name in constants if name in graph.constants]
    has_blocks = any(e is not None and e.block_axis is not None for e in encodings)
    is_constant = len(encodings) == len(constants) and not has_blocks
    is_whole = op.pad_amount == NO_PADS and op.output_padding == (0, 0) and op.group == 1
    if not (is_constant and is_whole and graph.types[node.inputs[0]].is_static):
        return False
    return graph.constants[node.inputs[1]].shape[:2] == op.stride


def _split_kernel(graph: Graph, node: Node) -> None:
    value, result, stride = node.inputs[0], node.outputs[0], cast("TransposeConv2d", node.op).stride
    kind, places = graph.types[result], int(np.prod(stride))
    weights = graph.constants[node.inputs[1]]
    columns = weights.transpose(2, 0, 1, 3).reshape(1, 1, weights.shape[2], -1)
    biases = {name: np.tile(graph.constants[name], places) for name in node.inputs[2:] if name}
    repeated = {node.inputs[1]: columns, **biases}
    names = [value, *(_add_repeated(graph, name, stored, places) for name, stored in repeated.items())]
    sums = graph.fresh_name(result)
    made = kind.with_shape((*graph.types[value].shape[:3], columns.shape[-1]))
    graph.remove(node)
    point = Conv2d(stride=(1, 1), pad_amount=NO_PADS)
    graph.add(Node(sums, point, names, [sums], source=node.source), [made])
    spread = DepthToSpace(block_size=(stride[0], stride[1]))
    blocks = Node(node.name, spread, [sums], [result], source=node.source)
    graph.add(blocks, [kind])


def _add_repeated(graph: Graph, name: str, stored: Array, places: int) -> str:
    """A constant whose channels, the last axis, are there for each place."""
    kind, encoding = graph.types[name], graph.types[name].encoding
    if encoding is not None and encoding.axis is not None:
        encoding = replace(encoding, scales=encoding.scales * places, offsets=encoding.offsets * places)
    repeated = replace(kind, shape=stored.shape, encoding=encoding)
    return graph.add_constant(graph.fresh_name(name), stored, repeated)

"""LayerNorm of 16 bits and RmsNorm, as HTP rounds them."""

from typing import cast

import numpy as np

from edgewright.backends.cpu.row_norms import RowNorm
from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.requantize import is_wide
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.ops.norm import LayerNorm

# The largest weight, and what stands for one.
LARGEST_WEIGHT, WEIGHT_ONE = 0x7FFF, 1 << 15
FACTOR_BITS = 16
TINY = float(np.finfo(np.float32).tiny)


def normalize_wide(graph: Graph, node: Node) -> SumForm | None:
    """With constant weights and a constant bias, which is a whole number of steps."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    weights, bias = (_read_constant(graph, node, port) for port in (1, 2))
    if x is None or y is None or weights is None or bias is None:
        return None
    norm = cast("LayerNorm", node.op)
    step = max(float(np.abs(weights).max(initial=0.0)), TINY) / LARGEST_WEIGHT
    whole, added = np.rint(weights / step) / WEIGHT_ONE, np.rint(bias / y.scales[0]) + 0.5
    rank = graph.types[node.inputs[0]].rank
    rows = RowNorm(
        norm.axes,
        max(norm.epsilon, TINY) / x.scales[0] ** 2,
        step * WEIGHT_ONE / y.scales[0],
        spread_numbers(whole, norm.axes, rank),
        spread_numbers(added, norm.axes, rank),
        FACTOR_BITS,
    )
    return SumForm({node.inputs[0]: x}, {}, (Step("Cast", to=DType.FLOAT_32),), norm=rows)


def cut_root_norm(graph: Graph, node: Node) -> SumForm | None:
    """RmsNorm without a bias: steps are cut."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    name = given(node.inputs, 1)
    is_known = not given(node.inputs, 2) and (not name or name in graph.constants)
    if x is None or y is None or not is_known:
        return None
    constants = {name: _decode_constant(graph, name)} if name else {}
    scale = Step("Div", np.asarray(y.scales[0], np.float32))
    cut = (Step("Floor"),) if is_wide(graph.types[node.outputs[0]]) else _cut_halves(-y.offsets[0])
    return SumForm({node.inputs[0]: x}, constants, (scale, *cut))


def _cut_halves(zero: int) -> tuple[Step, ...]:
    """Steps, counted from the lowest integer, have the 11 bits of a float16 first."""
    added = np.asarray(zero, np.float32)
    halves = Step("Cast", to=DType.FLOAT_16), Step("Cast", to=DType.FLOAT_32)
    return Step("Add", added), *halves, Step("Floor"), Step("Sub", added)


def _decode_constant(graph: Graph, name: str) -> Array:
    encoding, array = graph.types[name].encoding, graph.constants[name]
    return (array if encoding is None else encoding.decode(array)).astype(np.float32)


def _read_constant(graph: Graph, node: Node, port: int) -> Array | None:
    """What a constant of one encoding stands for; None for all else."""
    name = given(node.inputs, port)
    encoding = graph.types[name].encoding if name in graph.constants else None
    if not name or encoding is None or encoding.axis is not None:
        return None
    return (graph.constants[name].astype(np.float64) + encoding.offsets[0]) * encoding.scales[0]


def spread_numbers(numbers: Array, axes: tuple[int, ...], rank: int) -> Array:
    """Numbers of the normalized axes in the rank of the input."""
    shape = [1] * rank
    for axis, length in zip(axes, numbers.shape, strict=True):
        shape[axis] = length
    return numbers.reshape(shape)

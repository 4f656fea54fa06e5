"""Merges axes of ops that work on more than HTP takes: five, for some of them four."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from edgewright.ir.dims import Shape
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Elu, HardSwish, Relu1, Relu6, ReluMinMax, Tanh
from edgewright.ops.elementwise import (
    Broadcasting,
    ElementWiseFloorDiv,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseSquaredDifference,
    Unary,
)
from edgewright.ops.elementwise_generic import Generic
from edgewright.ops.elementwise_unary import (
    ElementWiseAtan,
    ElementWiseCeil,
    ElementWiseCos,
    ElementWiseFloor,
    ElementWiseLog,
    ElementWiseNeg,
    ElementWiseRound,
    ElementWiseSin,
    ElementWiseSquareRoot,
)
from edgewright.ops.gather import Gather
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.rearrange import Concat, Reshape
from edgewright.ops.rearrange_slice import Split
from edgewright.ops.reduce import ReduceMax, ReduceMin, Reduction
from edgewright.ops.reduce_softmax import LogSoftmax, Softmax
from edgewright.passes.graph_pass import register_pass, rewrite_each

MOST_AXES = 5
# Refused with five axes by the validator (2.51).
TAKE_FOUR_AXES = (
    ElementWiseAtan,
    ElementWiseCeil,
    ElementWiseCos,
    ElementWiseFloor,
    ElementWiseFloorDiv,
    ElementWiseLog,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseNeg,
    ElementWiseRound,
    ElementWiseSin,
    ElementWiseSquareRoot,
    ElementWiseSquaredDifference,
    Elu,
    HardSwish,
    LogSoftmax,
    ReduceMax,
    ReduceMin,
    Relu1,
    Relu6,
    ReluMinMax,
    Tanh,
)
# Tensors of a matrix product without a bias.
MATRICES = 3


@dataclass(frozen=True)
class _Plan:
    """Which axes become one: runs of them, and the op for what they become."""

    groups: tuple[tuple[int, ...], ...]
    op: Op


@register_pass(after=("flatten_rows", "move_softmax_axis"))
def lower_ranks(graph: Graph) -> int:
    """Axes that an op treats alike are one to it; reshapes stand before and behind it."""
    return rewrite_each(graph, _flatten_indices) + rewrite_each(graph, _lower)


def _flatten_indices(graph: Graph, node: Node) -> bool:
    """A Gather whose indices add axes: a vector of indices, and a reshape."""
    if not isinstance(node.op, Gather) or node.inputs[1] not in graph.constants:
        return False
    x, result = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    indices = graph.constants[node.inputs[1]]
    if result.rank <= MOST_AXES or indices.ndim == 1 or not result.is_static:
        return False
    name = node.inputs[1]
    kind = graph.types[name].with_shape([indices.size])
    graph.set_input(node, 1, graph.add_constant(graph.fresh_name(name), indices.reshape(-1), kind, of=name))
    shape = (*x.shape[: node.op.axis], indices.size, *x.shape[node.op.axis + 1 :])
    _rebuild(graph, node, node.op, node.inputs, [shape])
    return True


def _lower(graph: Graph, node: Node) -> bool:
    kinds = [graph.types[value] for value in (*node.inputs, *node.outputs) if value]
    rank = max((kind.rank for kind in kinds), default=0)
    most = MOST_AXES - isinstance(node.op.specific(), TAKE_FOUR_AXES)
    if rank <= most or not all(kind.is_static for kind in kinds):
        return False
    plan = _plan(graph, node, rank)
    if plan is None or len(plan.groups) > most:
        return False
    if isinstance(node.op, FullyConnected):
        graph.set_input(node, 0, _merge_input(graph, node, node.inputs[0], plan, rank))
        return True
    inputs = [value and _merge_input(graph, node, value, plan, rank) for value in node.inputs]
    shapes = [
        _merge_shape(_read_result_shape(graph, node, value, rank), plan.groups) for value in node.outputs
    ]
    _rebuild(graph, node, plan.op, inputs, shapes)
    return True


def _plan(graph: Graph, node: Node, rank: int) -> _Plan | None:
    op = node.op
    if isinstance(op, Reduction):
        groups = _group([axis in op.axes for axis in range(rank)])
        axes = tuple(place for place, group in enumerate(groups) if group[0] in op.axes)
        return _Plan(groups, replace(op, axes=axes, keep_dims=True))
    if isinstance(op, Concat | Split | Softmax | LogSoftmax):
        axis = op.axis_of(rank) if isinstance(op, Softmax | LogSoftmax) else op.axis
        groups = _group([other == axis for other in range(rank)])
        return _Plan(groups, replace(op, axis=groups.index((axis,))))
    labels = _label_axes(graph, node, rank)
    return _Plan(_group(labels), op) if labels else None


def _label_axes(graph: Graph, node: Node, rank: int) -> list[object]:
    """What the op does along each axis, where it has no parameter that says so; none if it is not known."""
    shapes = [_align(graph.types[value], rank) for value in (*node.inputs, *node.outputs) if value]
    if isinstance(node.op, Unary | Broadcasting | Generic):
        return _label_broadcasts(shapes)
    if isinstance(node.op, MatMul) and len(shapes) == MATRICES:
        return [*_label_broadcasts(shapes)[:-2], "row", "column"]
    if isinstance(node.op, FullyConnected) and not node.op.keep_dims:
        return [*["row"] * (rank - 1), "column"]
    return []


def _label_broadcasts(shapes: Sequence[tuple[int, ...]]) -> list[object]:
    """Which of the tensors each axis is spread over; None for an axis that has one element in all of them."""
    labels = [tuple(size == 1 for size in sizes) for sizes in zip(*shapes, strict=True)]
    return [None if all(label) else label for label in labels]


def _group(labels: Sequence[object]) -> tuple[tuple[int, ...], ...]:
    """Runs of axes with the same label; None goes with any."""
    groups: list[tuple[int, ...]] = []
    current: object = None
    for axis, label in enumerate(labels):
        if groups and (label is None or current is None or label == current):
            groups[-1] = (*groups[-1], axis)
            current = current if label is None else label
        else:
            groups.append((axis,))
            current = label
    return tuple(groups)


def _align(kind: TensorType, rank: int) -> tuple[int, ...]:
    """The shape with the leading axes that broadcasting gives it."""
    return (*(1,) * (rank - kind.rank), *kind.static_shape())


def _merge_shape(shape: Sequence[int], groups: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(prod(shape[axis] for axis in group) for group in groups)


def _read_result_shape(graph: Graph, node: Node, value: str, rank: int) -> tuple[int, ...]:
    """The shape of an output, with an axis of 1 for each that was reduced."""
    if not isinstance(node.op, Reduction) or node.op.keep_dims:
        return _align(graph.types[value], rank)
    kept = iter(graph.types[value].static_shape())
    return tuple(1 if axis in node.op.axes else next(kept) for axis in range(rank))


def _merge_input(graph: Graph, node: Node, value: str, plan: _Plan, rank: int) -> str:
    kind = graph.types[value]
    shape = _merge_shape(_align(kind, rank), plan.groups)
    merged_type = replace(kind, shape=shape, layout=None)
    if value in graph.constants:
        array = graph.constants[value].reshape(shape)
        return graph.add_constant(graph.fresh_name(value), array, merged_type, of=value)
    merged = graph.fresh_name(value)
    name = graph.fresh_name(f"{node.name}_merge")
    graph.add(Node(name, Reshape(shape=shape), [value], [merged], node.source), [merged_type])
    return merged


def _rebuild(graph: Graph, node: Node, op: Op, inputs: list[str], shapes: Sequence[Shape]) -> None:
    """The node with other inputs and shapes of outputs, which reshapes bring back."""
    results = graph.output_types(node)
    merged = [graph.fresh_name(value) for value in node.outputs]
    graph.remove(node)
    kinds = [replace(kind, shape=shape, layout=None) for kind, shape in zip(results, shapes, strict=True)]
    graph.add(Node(node.name, op, inputs, merged, node.source, node.subgraphs, node.notes), kinds)
    for value, name, kind in zip(node.outputs, merged, results, strict=True):
        reshape = Reshape(shape=kind.static_shape())
        graph.add(
            Node(graph.fresh_name(f"{node.name}_unmerge"), reshape, [name], [value], node.source), [kind]
        )

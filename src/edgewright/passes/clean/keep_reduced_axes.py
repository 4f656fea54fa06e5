"""Lets reductions keep their axes where these are put back behind the arithmetic on their results."""

from collections.abc import Iterator
from dataclasses import replace

from edgewright.ir.dims import Shape
from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import Binary, Unary
from edgewright.ops.elementwise_generic import ElementWiseUnary
from edgewright.ops.rearrange import Reshape
from edgewright.ops.reduce import Reduction
from edgewright.passes.graph_pass import register_pass
from edgewright.passes.match import number_of


@register_pass(after=("fold_constants", "merge_moves"))
def keep_reduced_axes(graph: Graph) -> int:
    """Reduce, arithmetic, reshape to the kept axes: how JAX writes norms and softmax."""
    kept = _find_statistics(graph)
    for value, shape in kept.items():
        graph.types[value] = graph.types[value].with_shape(shape)
        maker = graph.producer(value)
        assert maker is not None
        if isinstance(maker.op, Reduction):
            maker.op = replace(maker.op, keep_dims=True)
        for reader in graph.consumers(value):
            if isinstance(reader.op, Reshape):
                graph.remove(reader)
                graph.replace_uses(reader.outputs[0], value)
    return len(kept)


def _find_statistics(graph: Graph) -> dict[str, Shape]:
    """Values that are made of reductions alone and read as reshaped only, with the shape that they get."""
    shapes = dict(_list_candidates(graph))
    while unfit := [value for value in shapes if not _is_fit(graph, value, shapes)]:
        for value in unfit:
            del shapes[value]
    return shapes


def _list_candidates(graph: Graph) -> Iterator[tuple[str, Shape]]:
    shapes: dict[str, Shape] = {}
    for node in graph.nodes:
        shape = _find_kept_shape(graph, node, shapes)
        if shape is not None and node.outputs[0] not in graph.outputs:
            shapes[node.outputs[0]] = shape
    yield from shapes.items()


def _find_kept_shape(graph: Graph, node: Node, shapes: dict[str, Shape]) -> Shape | None:
    if isinstance(node.op, Reduction) and not node.op.keep_dims:
        return replace(node.op, keep_dims=True).infer(graph.types[node.inputs[0]])[0].shape
    if not isinstance(node.op, Binary | Unary | ElementWiseUnary):
        return None
    operands = {shapes.get(value) for value in node.inputs if number_of(graph, value) is None}
    shape = operands.pop() if len(operands) == 1 else None
    # A number with axes of its own must not bring them in.
    numbers = [graph.types[value].rank for value in node.inputs if value in graph.constants]
    rank = graph.types[node.outputs[0]].rank
    return shape if shape is not None and max(numbers, default=0) <= rank else None


def _is_fit(graph: Graph, value: str, shapes: dict[str, Shape]) -> bool:
    maker = graph.producer(value)
    assert maker is not None
    is_made = isinstance(maker.op, Reduction) or all(
        operand in shapes for operand in maker.inputs if operand not in graph.constants
    )
    readers = graph.consumers(value)
    return is_made and bool(readers) and all(_is_reader(graph, node, value, shapes) for node in readers)


def _is_reader(graph: Graph, node: Node, value: str, shapes: dict[str, Shape]) -> bool:
    result = node.outputs[0]
    if isinstance(node.op, Reshape):
        return graph.types[result].shape == shapes[value] and result not in graph.outputs
    return shapes.get(result) == shapes[value]

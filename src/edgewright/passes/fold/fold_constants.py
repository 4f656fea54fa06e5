"""Computes nodes whose inputs are all constant, up to a size."""

import numpy as np

from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange_fill import Shape
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each

# Elements of a result. What is larger than its inputs and this stays a node: a file of a few bytes
# must not become a file of gigabytes.
LARGEST_RESULT = 1 << 20


@register_pass()
def fold_constants(graph: Graph) -> int:
    """Replaces such nodes by their results."""
    return rewrite_each(graph, _fold)


def _fold(graph: Graph, node: Node) -> bool:
    if isinstance(node.op, Shape) and graph.types[node.inputs[0]].is_static:
        return _fold_shape(graph, node)
    values = [value for value in node.inputs if value]
    if not values or not all(value in graph.constants for value in values):
        return False
    if not (node.op.is_pure and node.op.is_foldable and node.op.has_reference()) or node.subgraphs:
        return False
    if any(value in graph.outputs for value in node.outputs):
        raise Refused("its result is a graph output and must be made by a node")
    _check_size(graph, node, values)
    results = _compute_results(node, [graph.constants[v] if v else None for v in node.inputs])
    types = graph.output_types(node)
    graph.remove(node)
    for name, array, tensor_type in zip([v for v in node.outputs if v], results, types, strict=False):
        graph.add_constant(name, array, tensor_type)
    return True


def _compute_results(node: Node, arrays: list[Array | None]) -> tuple[Array, ...]:
    try:
        with np.errstate(all="ignore"):
            return node.op.values_for(arrays)
    except EdgewrightError as problem:
        raise Refused(problem.what) from problem


def _fold_shape(graph: Graph, node: Node) -> bool:
    """Sizes that are numbers do not depend on what the input holds."""
    if node.outputs[0] in graph.outputs:
        raise Refused("its result is a graph output and must be made by a node")
    source, result_type = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    stand_in = np.broadcast_to(np.zeros((), source.dtype.numpy), source.static_shape())
    (sizes,) = node.op.values_for([stand_in])
    graph.remove(node)
    graph.add_constant(node.outputs[0], sizes, result_type)
    return True


def _check_size(graph: Graph, node: Node, values: list[str]) -> None:
    read = sum(graph.constants[value].size for value in values)
    for tensor_type in graph.output_types(node):
        count = tensor_type.count
        if not isinstance(count, int) or count > max(LARGEST_RESULT, read):
            raise Refused(f"its result has {count} elements, more than {LARGEST_RESULT} and than its inputs")

"""Means over all places of an image as the engine's own pool: it reads the blocks that convolutions make."""

from math import prod

from edgewright.backends.cpu.graph_edits import add_source_op, move_value, replace_value
from edgewright.backends.cpu.patterns import cast_op
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Transpose
from edgewright.ops.reduce import ReduceMean

# The pool adds place after place: of more, the last bits of a sum are lost, and then more than those.
MOST_PLACES = 64 * 64
# Channels last to first, and back.
FIRST, LAST = Transpose(perm=(0, 3, 1, 2)), Transpose(perm=(0, 2, 3, 1))


def with_global_pools(graph: Graph) -> Graph:
    """The graph, or a copy with these pools; the means that nothing reads any more stay in it."""
    means = [node for node in graph.nodes if _is_pool(graph, node)]
    if not means:
        return graph
    changed = graph.copy()
    for node in means:
        x, kind = move_value(changed, node.inputs[0], [FIRST]), graph.types[node.outputs[0]]
        (pooled,) = add_source_op(changed, "GlobalAveragePool", [x], [kind.permuted(FIRST.perm)])
        replace_value(changed, node.outputs[0], move_value(changed, pooled, [LAST]))
    changed.sort()
    return changed


def _is_pool(graph: Graph, node: Node) -> bool:
    op = cast_op(node, ReduceMean)
    if op is None or not op.keep_dims or sorted(op.axes) != [1, 2]:
        return False
    kind = graph.types[node.inputs[0]]
    places = [dim for dim in kind.shape[1:3] if isinstance(dim, int)]
    is_small = len(places) == 2 and 0 < prod(places) <= MOST_PLACES
    is_image = kind.rank == 4 and kind.dtype == DType.FLOAT_32 and 0 not in kind.shape
    return is_small and is_image and bool(graph.consumers(node.outputs[0]))

"""Moves transposes to that side of a reshape where there are fewer axes.

A 1-D convolution is a 2-D one between reshapes that add and remove an axis of size 1. Where the transposes
stand outside of these reshapes they meet those of the ops around, and the layout is assigned for three axes.
"""

from collections.abc import Sequence

from edgewright.ir.dims import Dim, Shape
from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.match import find_maker


@register_pass(after=("merge_moves",))
def narrow_transposes(graph: Graph) -> int:
    """Only past reshapes that add or remove axes of size 1."""
    return rewrite_each(graph, _move)


def _move(graph: Graph, node: Node) -> bool:
    before = find_maker(graph, node.inputs[0], Reshape, Transpose) if node.inputs else None
    if before is None or not graph.is_used_once(node.inputs[0]):
        return False
    encoding = graph.types[before.inputs[0]].encoding
    if encoding is not None and encoding.axis is not None:
        return False
    if isinstance(node.op, Transpose) and isinstance(before.op, Reshape):
        return _transpose_before_widening(graph, before, node, node.op.perm)
    if isinstance(node.op, Reshape) and isinstance(before.op, Transpose):
        return _transpose_after_narrowing(graph, before, node, before.op.perm)
    return False


def _transpose_before_widening(graph: Graph, reshape: Node, transpose: Node, perm: Sequence[int]) -> bool:
    """Transpose(Reshape(x)) becomes Reshape(Transpose(x)) where the reshape adds axes."""
    narrow, wide = graph.types[reshape.inputs[0]].shape, graph.types[reshape.outputs[0]].shape
    places = _find_places(narrow, wide)
    if places is None:
        return False
    order = tuple(places.index(axis) for axis in perm if axis in places)
    shape = graph.types[transpose.outputs[0]].shape
    _rewire(graph, reshape, transpose, Transpose(perm=order), Reshape(shape=shape))
    return True


def _transpose_after_narrowing(graph: Graph, transpose: Node, reshape: Node, perm: Sequence[int]) -> bool:
    """Reshape(Transpose(x)) becomes Transpose(Reshape(x)) where the reshape removes axes."""
    wide, narrow = graph.types[reshape.inputs[0]].shape, graph.types[reshape.outputs[0]].shape
    places = _find_places(narrow, wide)
    if places is None:
        return False
    kept = [perm[place] for place in places]
    source = graph.types[transpose.inputs[0]].shape
    shape = tuple(source[axis] for axis in sorted(kept))
    order = tuple(sorted(kept).index(axis) for axis in kept)
    _rewire(graph, transpose, reshape, Reshape(shape=shape), Transpose(perm=order))
    return True


def _find_places(narrow: Shape, wide: Shape) -> list[int] | None:
    """Where each axis of the narrow shape stands in the wide one, whose other axes have size 1."""
    places: list[int] = []
    for place, dim in enumerate(wide):
        if len(places) < len(narrow) and dim == narrow[len(places)]:
            places.append(place)
        elif not _is_one(dim):
            return None
    return places if len(places) == len(narrow) < len(wide) else None


def _is_one(dim: Dim) -> bool:
    return isinstance(dim, int) and dim == 1


def _rewire(
    graph: Graph, first: Node, second: Node, new_first: Reshape | Transpose, new_second: Reshape | Transpose
) -> None:
    """Two moves in a row do other moves; what the second one makes stays the same value."""
    middle, result, types = first.outputs[0], second.outputs, graph.output_types(second)
    graph.remove(second)
    graph.remove(first)
    graph.add(Node(first.name, new_first, first.inputs, [middle], first.source))
    graph.add(Node(second.name, new_second, [middle], result, second.source), types)

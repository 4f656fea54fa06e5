"""Gives masks before a softmax a number that fixed point and half precision can hold."""

from collections.abc import Iterator

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import ElementWiseDivide, ElementWiseMultiply
from edgewright.passes.graph_pass import register_pass

# Exporters mask with infinity or the least float; BERT's own -10000 is enough, as exp() makes 0 of it too.
ENOUGH = 1e4
# A factor of less may be meant: half precision's least number is, and holds.
LARGEST_FACTOR = 1e5


@register_pass()
def bound_masks(graph: Graph) -> int:
    """(1 - mask) * -3.4e38 has steps of 1e34 in fixed point, which Qualcomm's compiler refuses."""
    masking = _find_masking_values(graph)
    places: dict[str, list[tuple[Node, int]]] = {}
    for node in graph.nodes:
        if masking.issuperset(value for value in node.outputs if value):
            for place, value in _list_masks(graph, node):
                places.setdefault(value, []).append((node, place))
    for value, readers in places.items():
        _replace_mask(graph, value, readers)
    return len(places)


def _replace_mask(graph: Graph, value: str, places: list[tuple[Node, int]]) -> None:
    """Bounds a mask for its readers; what others read as well stays as it is for them."""
    bounded = np.clip(graph.constants[value], -ENOUGH, ENOUGH)
    readings = sum(node.inputs.count(value) for node in graph.consumers(value))
    if readings == len(places) and value not in graph.outputs:
        graph.constants[value] = bounded
        return
    name = graph.add_constant(graph.fresh_name(value), bounded)
    graph.source_names[name] = graph.source_names.get(value, value)
    for node, place in places:
        graph.set_input(node, place, name)


def _find_masking_values(graph: Graph) -> set[str]:
    """Values that nothing but a softmax reads, as they are or behind sums, choices, scalings and moves."""
    masking: set[str] = set()
    for node in reversed(graph.nodes):
        for value in (value for value in node.outputs if value):
            readers = graph.consumers(value)
            is_masking = all(_is_passing_masks_on(graph, reader, masking) for reader in readers)
            if readers and is_masking and value not in graph.outputs:
                masking.add(value)
    return masking


def _is_passing_masks_on(graph: Graph, node: Node, masking: set[str]) -> bool:
    op = node.op.specific()
    if op.ignores_masked:
        return True
    is_scaled = isinstance(op, (ElementWiseMultiply, ElementWiseDivide)) and any(
        value in graph.constants for value in node.inputs
    )
    is_kept = op.slopes is not None or op.only_moves() or is_scaled
    return is_kept and masking.issuperset(value for value in node.outputs if value)


def _list_masks(graph: Graph, node: Node) -> Iterator[tuple[int, str]]:
    """The constants that a node masks with, and where it reads them."""
    op = node.op.specific()
    is_factor = isinstance(op, ElementWiseMultiply)
    if not is_factor and op.slopes is None and not op.only_moves():
        return
    limit = LARGEST_FACTOR if is_factor else ENOUGH
    for place, value in enumerate(node.inputs):
        array = graph.constants.get(value)
        if array is not None and array.dtype.kind == "f" and _is_beyond(array, limit):
            yield place, value


def _is_beyond(array: Array, limit: float) -> bool:
    return bool(array.size) and not np.isnan(array).any() and float(np.abs(array).max()) > limit

"""One name for each value of two graphs: files have the names of the source, not those in memory."""

from collections import defaultdict

from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType


def align_names(source: Graph, quantized: Graph) -> Graph:
    """A copy of the quantized graph in which values have the names that they have in the float graph.

    Values belong together that come from the same tensor of the source model and have its elements, in any
    order of axes. Others keep their names, unless these stand for something else in the float graph.
    """
    pairs = _pair_values(source, quantized)
    twin = quantized.copy()
    io_names = {*quantized.inputs, *quantized.outputs}
    moved = {
        value: pairs.get(value)
        for value in quantized.types
        if value not in io_names and pairs.get(value) != value and (value in pairs or value in source.types)
    }
    # First out of the way, then in place: names may be exchanged.
    twin.reserve(source.types)
    aside = {value: twin.fresh_name(value) for value in moved}
    for value, other in aside.items():
        twin.rename_value(value, other)
    for value, name in moved.items():
        if name is not None:
            twin.rename_value(aside[value], name)
        twin.source_names.pop(value, None)
    for value, name in moved.items():
        twin.source_names[name or aside[value]] = quantized.source_names.get(value, value)
    return twin


def _pair_values(source: Graph, quantized: Graph) -> dict[str, str]:
    """Values of the quantized graph -> those of the float one; none is taken twice."""
    known: dict[str, list[str]] = defaultdict(list)
    for value in source.types:
        known[source.source_names.get(value, value)].append(value)
    pairs: dict[str, str] = {}
    for value, kind in quantized.types.items():
        others = known[quantized.source_names.get(value, value)]
        fitting = [other for other in others if _has_same_elements(kind, source.types[other])]
        if fitting:
            same = [other for other in fitting if source.types[other].shape == kind.shape]
            pairs[value] = (same or fitting)[0]
            others.remove(pairs[value])
    return pairs


def _has_same_elements(one: TensorType, other: TensorType) -> bool:
    return one.is_static and other.is_static and sorted(one.static_shape()) == sorted(other.static_shape())

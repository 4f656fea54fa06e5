"""Gives graph inputs and outputs another datatype than the one the network computes in."""

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.cast import Cast

__all__ = ["retype_input", "retype_output"]


def retype_input(graph: Graph, name: str, dtype: DType) -> bool:
    """The input takes this type and a cast leads to the old one; False where it has the type already."""
    inner = graph.types[name].dtype
    if inner == dtype:
        return False
    readers = graph.consumers(name)
    graph.types[name] = graph.types[name].with_dtype(dtype)
    fresh = graph.fresh_name(name)
    graph.add(Node(graph.fresh_name(name), Cast(dtype=inner), [name], [fresh], source=name))
    for reader in readers:
        for index, value in enumerate(reader.inputs):
            if value == name:
                graph.set_input(reader, index, fresh)
    graph.sort()
    return True


def retype_output(graph: Graph, name: str, dtype: DType) -> bool:
    """A cast after the old value makes the output in this type; False where it has the type already."""
    if graph.types[name].dtype == dtype:
        return False
    fresh = graph.fresh_name(name)
    graph.rename_value(name, fresh)
    graph.add(Node(graph.fresh_name(name), Cast(dtype=dtype), [fresh], [name], source=name))
    graph.outputs = [name if value == fresh else value for value in graph.outputs]
    return True

"""Gives graph inputs and outputs another datatype than the one the network computes in."""

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.cast import Cast


def retype_input(graph: Graph, name: str, dtype: DType) -> bool:
    """The input takes this type and a cast leads to the old one; False where it has the type already."""
    inner = graph.types[name]
    if inner.dtype == dtype:
        return False
    insert_after_input(graph, name, inner.with_dtype(dtype), Cast(dtype=inner.dtype))
    return True


def retype_output(graph: Graph, name: str, dtype: DType) -> bool:
    """A cast after the old value makes the output in this type; False where it has the type already."""
    if graph.types[name].dtype == dtype:
        return False
    insert_before_output(graph, name, Cast(dtype=dtype))
    return True


def insert_after_input(graph: Graph, name: str, outer: TensorType, op: Op, *more: str) -> Node:
    """The input takes a type; an op, with more inputs if needed, makes what its readers read before."""
    readers, inner = graph.consumers(name), graph.types[name]
    graph.types[name] = outer
    fresh = graph.fresh_name(name)
    lead = graph.add(Node(graph.fresh_name(name), op, [name, *more], [fresh], source=name), [inner])
    graph.source_names.setdefault(fresh, graph.source_names.get(name, name))
    for reader in readers:
        for index, value in enumerate(reader.inputs):
            if value == name:
                graph.set_input(reader, index, fresh)
    graph.sort()
    return lead


def insert_before_output(graph: Graph, name: str, op: Op) -> None:
    """An op makes the output of what was the output before."""
    fresh = graph.fresh_name(name)
    graph.rename_value(name, fresh)
    graph.add(Node(graph.fresh_name(name), op, [fresh], [name], source=name))
    graph.source_names.setdefault(fresh, graph.source_names.get(name, name))
    graph.outputs = [name if value == fresh else value for value in graph.outputs]

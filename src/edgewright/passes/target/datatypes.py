"""Replaces one datatype by another in a whole graph: types, constants and what ops say of their results."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph
from edgewright.ir.op import Op

# Name, content and new datatype of a constant -> its new content.
Convert = Callable[[str, Array, DType], Array]


def replace_dtypes(
    graph: Graph, changes: Mapping[DType, DType], convert: Convert, *, keep: Collection[str] = ()
) -> int:
    """Changes every value of the datatypes, except those to keep; returns how many."""
    names = [name for name, t in graph.types.items() if t.dtype in changes and name not in keep]
    for name in names:
        dtype = changes[graph.types[name].dtype]
        if name in graph.constants:
            graph.constants[name] = convert(name, graph.constants[name], dtype)
        graph.types[name] = graph.types[name].with_dtype(dtype)
    for node in graph.nodes:
        node.op = _retype_op(node.op, changes)
    return len(names)


def _retype_op(op: Op, changes: Mapping[DType, DType]) -> Op:
    said = {item.name: getattr(op, item.name) for item in fields(op)}
    changed = {name: changes[v] for name, v in said.items() if isinstance(v, DType) and v in changes}
    return replace(op, **changed) if changed else op

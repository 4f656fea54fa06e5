"""Graphs as text: what a person reads, what tests are written in, and what parses back to the same graph.

    graph main {
      input x: float_32[batch,8,8,3] layout NHWC
      const scale: float_32[3] = [1.0, 2.0, 0.5]
      const filters: float_32[3,3,3,16] #0c1f0a3b9a7e51d2
      y: float_32[batch,6,6,16] = Conv2d(x, filters, _) {stride=(1, 1), pad_amount=((0, 0), (0, 0))} @conv_1
      output y
    }

The types of outputs (they are inferred), params that have a default, and the ``@name`` of a node that is
named like its first output may be left out. Notes of nodes are not part of the text.
"""

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, Expr
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.text_reader import ABSENT, KEYWORDS, digest, parse
from edgewright.ir.types import TensorType

__all__ = ["LARGEST_INLINE", "digest", "parse", "to_text"]

# The most elements of a constant that are written out; larger ones are named, with a digest.
LARGEST_INLINE = 16
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_/.]*")


def to_text(graph: Graph) -> str:
    """The graph as text; ``parse`` turns it back into the same graph."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    yield f"graph {_name(graph.name)} {{"
    for value in graph.inputs:
        yield f"  input {_typed(graph, value)}"
    for value, array in graph.constants.items():
        yield f"  const {_typed(graph, value)} {_content(array)}"
    for node in graph.nodes:
        yield from _node(graph, node)
    for value, source in graph.source_names.items():
        yield f"  alias {_name(value)} {_name(source)}"
    if graph.outputs:
        yield f"  output {', '.join(map(_name, graph.outputs))}"
    yield "}"


def _node(graph: Graph, node: Node) -> Iterator[str]:
    made = ", ".join(_typed(graph, value) for value in node.outputs)
    params = ", ".join(f"{name}={_value(value)}" for name, value in _fields(node.op))
    text = f"  {made} = {node.op.qnn_name()}({', '.join(map(_name, node.inputs))})"
    text += f" {{{params}}}" if params else ""
    first = next(iter(node.outputs), "")
    text += f" @{_name(node.name)}" if node.name != first else ""
    text += f" from {_name(node.source)}" if node.source else ""
    yield text
    for subgraph in node.subgraphs:
        yield from (f"    {line}" for line in _lines(subgraph))


def _fields(op: Op) -> Iterator[tuple[str, Any]]:
    """The params that are not at their defaults."""
    for item in dataclasses.fields(op):
        value = getattr(op, item.name)
        if (
            item.default is dataclasses.MISSING
            or value != item.default
            or type(value) is not type(item.default)
        ):
            yield item.name, value


def _typed(graph: Graph, value: str) -> str:
    return f"{_name(value)}: {_type(graph.types[value])}" if value else ABSENT


def _type(tensor_type: TensorType) -> str:
    text = f"{tensor_type.dtype.name.lower()}[{','.join(map(_dim, tensor_type.shape))}]"
    if tensor_type.layout is not None:
        text += f" layout {_name(tensor_type.layout)}"
    if tensor_type.encoding is not None:
        text += f" {_encoding(tensor_type.encoding)}"
    return text


def _encoding(encoding: Encoding) -> str:
    fields = dataclasses.fields(encoding)
    return f"encoding({', '.join(f'{f.name}={_value(getattr(encoding, f.name))}' for f in fields)})"


def _content(array: Array) -> str:
    if array.size > LARGEST_INLINE:
        return f"#{digest(array)}"
    return f"= [{', '.join(map(_element, array.reshape(-1).tolist()))}]"


def _element(item: Any) -> str:
    if isinstance(item, complex):
        return f"{_value(item.real)} {_value(item.imag)}"
    # tolist() returns small types as their own scalars.
    plain = item if isinstance(item, (bool, int, float, str, bytes)) else float(item)
    return _value(plain)


def _value(value: Any) -> str:
    """A parameter in a form that shows its type."""
    spell = next((spell for kind, spell in _SPELLINGS.items() if isinstance(value, kind)), _plain_value)
    return spell(value)


def _plain_value(value: Any) -> str:
    if value is None or isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    number = float(value)
    if math.isnan(number):
        return "nan"
    return repr(number)


def _dim(dim: Dim) -> str:
    if isinstance(dim, int):
        return str(dim)
    return "+".join(_product(monomial, factor) for monomial, factor in dim.terms).replace("+-", "-")


def _product(monomial: Iterable[Any], factor: int) -> str:
    atoms = [_atom(atom) for atom in monomial]
    return "*".join(atoms if factor == 1 and atoms else [str(factor), *atoms])


def _atom(atom: Any) -> str:
    if isinstance(atom, str):
        return _name(atom)
    return f"{atom.function}({', '.join(map(_dim, atom.arguments))})"


def _name(name: str) -> str:
    """A name, quoted where it would be ambiguous; the absent value has its own sign."""
    if not name:
        return ABSENT
    return name if _PLAIN.fullmatch(name) and name not in KEYWORDS else json.dumps(name)


def _tuple(items: tuple[Any, ...]) -> str:
    return f"({', '.join(map(_value, items))}{',' if len(items) == 1 else ''})"


# DType first: it is an enum too.
_SPELLINGS: dict[type, Callable[[Any], str]] = {
    DType: lambda dtype: f"dtype({dtype.name.lower()})",
    Enum: lambda member: str(member.name),
    tuple: _tuple,
    Expr: lambda dim: f"{{{_dim(dim)}}}",
    TensorType: lambda tensor_type: f"type({_type(tensor_type)})",
    Encoding: _encoding,
    bytes: lambda data: f'bytes("{data.hex()}")',
    str: json.dumps,
}

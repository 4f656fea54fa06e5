"""Shapes of small subgraphs: what makes a value, and what makes that, down to values with a name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op

T = TypeVar("T", bound=Op)


@dataclass(frozen=True)
class Made:
    """A value that an op makes of others.

    An input is such a value again, a name for whatever is there (the same wherever the name comes up), or
    the number that a constant holds.
    """

    op: type[Op]
    inputs: tuple["Made | str | float", ...]
    params: Mapping[str, object] = field(default_factory=dict)
    # A name for the value itself.
    name: str = ""
    # Whether two inputs may come in either order.
    is_symmetric: bool = False


def match(graph: Graph, value: str, wanted: "Made | str | float") -> dict[str, str] | None:
    """The values behind the names, or None where the value is made in another way."""
    return _match_value(graph, value, wanted, {})


def cast_op(node: Node | None, kind: type[T]) -> T | None:
    """The op of a node, where it is of a kind."""
    return node.op if node is not None and isinstance(node.op, kind) else None


def find_origin(graph: Graph, value: str, moves: tuple[type[Op], ...]) -> tuple[str, tuple[Op, ...]]:
    """The value before the moves that were made with it, and these in their order."""
    ops: list[Op] = []
    maker = graph.producer(value)
    while maker is not None and isinstance(maker.op, moves):
        ops.insert(0, maker.op)
        value = maker.inputs[0]
        maker = graph.producer(value)
    return value, tuple(ops)


def _match_value(
    graph: Graph, value: str, wanted: "Made | str | float", found: dict[str, str]
) -> dict[str, str] | None:
    if isinstance(wanted, str):
        return {**found, wanted: value} if found.get(wanted, value) == value else None
    if isinstance(wanted, Made):
        return _match_producer(graph, value, wanted, found)
    array = graph.constants.get(value)
    return found if array is not None and array.size == 1 and array.item() == wanted else None


def _match_producer(graph: Graph, value: str, wanted: Made, found: dict[str, str]) -> dict[str, str] | None:
    node = graph.producer(value)
    if node is None or type(node.op) is not wanted.op or len(node.inputs) != len(wanted.inputs):
        return None
    if any(getattr(node.op, param) != setting for param, setting in wanted.params.items()):
        return None
    start = {**found, wanted.name: value} if wanted.name else found
    orders = [node.inputs, node.inputs[::-1]] if wanted.is_symmetric else [node.inputs]
    tries = (_match_all(graph, inputs, wanted.inputs, start) for inputs in orders)
    return next((result for result in tries if result is not None), None)


def _match_all(
    graph: Graph, values: list[str], wanted: tuple["Made | str | float", ...], found: dict[str, str]
) -> dict[str, str] | None:
    result: dict[str, str] | None = found
    for value, each in zip(values, wanted, strict=True):
        result = None if result is None else _match_value(graph, value, each, result)
    return result

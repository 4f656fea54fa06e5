"""Ops that are known by their signature only are refused before anything runs."""

from dataclasses import dataclass

import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.errors import UnsupportedOp
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType


@dataclass(frozen=True, kw_only=True)
class Unheard(Op):
    """An op of a newer library."""

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the input."""
        return inputs


def test_all_of_them_are_named_at_once():
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 8, 8, 3)))
    for name in ("first", "second"):
        graph.add(Node(name, Unheard(), ["x"], [f"{name}_out"]))
    graph.outputs = ["first_out", "second_out"]
    with pytest.raises(UnsupportedOp, match=r"2 ops .* Unheard 'first', Unheard 'second'"):
        find_backend("cpu").prepare(graph, RunOptions())

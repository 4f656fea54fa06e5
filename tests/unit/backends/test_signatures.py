"""Ops that are known by their signature only are refused before anything runs."""

import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.errors import UnsupportedOp
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.resize_sample import ExtractGlimpse


def test_all_of_them_are_named_at_once():
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 8, 8, 3)))
    graph.add_input("at", TensorType((1, 2), DType.FLOAT_32))
    for name in ("first", "second"):
        graph.add(Node(name, ExtractGlimpse(size=(4, 4)), ["x", "at"], [f"{name}_out"]))
    graph.outputs = ["first_out", "second_out"]
    with pytest.raises(UnsupportedOp, match=r"2 ops .* ExtractGlimpse 'first', ExtractGlimpse 'second'"):
        find_backend("cpu").prepare(graph, RunOptions())

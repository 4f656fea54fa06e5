"""Rules of the HTP that encodings break are named; what our quantizer makes breaks none."""

from dataclasses import replace

import numpy as np
import pytest

import edgewright as ew
from edgewright.analyse.encoding_rules import list_broken_rules
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu, Sigmoid, Tanh
from edgewright.ops.matmul import MatMul
from edgewright.ops.rearrange import Concat, Reshape
from tests.browser.sample_build import mnist


def fixed(*shape, bits=8, scale=0.1, offset=-100):
    return TensorType(shape, DType[f"UFIXED_POINT_{bits}"], None, Encoding((scale,), (offset,), None, bits))


def graph_of(op, result, *inputs):
    graph = Graph("net")
    names = [graph.add_input(f"x{place}", kind) for place, kind in enumerate(inputs or (fixed(1, 4),))]
    graph.add(Node("op", op, names, ["y"]), [result])
    graph.outputs = ["y"]
    return graph


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (graph_of(Sigmoid(), fixed(1, 4, scale=1 / 128, offset=0)), "0.00390625"),
        (graph_of(Sigmoid(), fixed(1, 4, bits=16, scale=1 / 65535, offset=-3)), "1.52588e-05"),
        (graph_of(Tanh(), fixed(1, 4, bits=16, scale=1 / 32768, offset=0)), "offset -32768"),
        (graph_of(Relu(), fixed(1, 4, scale=1e-8, offset=0)), "smallest that QNN takes"),
        (graph_of(Relu(), fixed(1, 4, offset=-85)), "33% of its steps are below 0"),
        (graph_of(Reshape(shape=(4,)), fixed(4, scale=0.2)), "only moved by Reshape"),
        (
            graph_of(MatMul(), fixed(4, 4, bits=16), fixed(4, 4, bits=16), fixed(4, 4, bits=16, offset=-9)),
            "not symmetric",
        ),
    ],
)
def test_a_broken_rule_is_named(graph, text):
    (finding,) = list_broken_rules(graph)
    assert text in f"{finding.what} {finding.do}"


def test_the_fixed_encodings_themselves_are_right():
    assert list_broken_rules(graph_of(Sigmoid(), fixed(1, 4, scale=1 / 256, offset=0))) == ()
    assert list_broken_rules(graph_of(Tanh(), fixed(1, 4, bits=16, scale=1 / 32768, offset=-32768))) == ()


def test_a_range_below_zero_is_right_where_it_is_symmetric_small_or_shared():
    for offset, bits in ((-128, 8), (-127, 8), (-10, 8), (0, 8), (-32768, 16)):
        assert list_broken_rules(graph_of(Relu(), fixed(1, 4, bits=bits, offset=offset))) == ()
    # Others that may be below 0 have the same encoding, because a Concat gives all of its inputs one.
    graph = graph_of(Relu(), fixed(1, 4, offset=-85))
    other = graph.add_input("other", fixed(1, 4, offset=-85))
    graph.add(Node("join", Concat(axis=1), ["y", other], ["z"]), [fixed(1, 8, offset=-85)])
    graph.outputs = ["z"]
    assert list_broken_rules(graph) == ()
    assert len(list_broken_rules(graph_of(Relu(), fixed(1, 4, bits=16, offset=-20000)))) == 1


@pytest.mark.parametrize("precision", ["w8a8", "w8a16"])
def test_what_is_quantized_here_breaks_no_rule(precision):
    _, quantized = mnist(precision)
    assert list_broken_rules(quantized.fixed_graph(), 73) == ()


def test_old_chips_have_rules_of_their_own():
    eight = graph_of(MatMul(), fixed(4, 4), fixed(4, 4), fixed(4, 4, offset=-9))
    assert list_broken_rules(eight, 73) == ()
    (finding,) = list_broken_rules(eight, 69)
    assert "second operand" in finding.what
    half = graph_of(Relu(), TensorType((1, 4)), TensorType((1, 4)))
    assert "needs Hexagon v73" in list_broken_rules(half, 69)[0].what


def test_channels_must_be_symmetric():
    _, quantized = mnist("w8a8")
    graph = quantized.fixed_graph().copy()
    name = next(
        n for n in graph.constants if graph.types[n].encoding and graph.types[n].encoding.axis is not None
    )
    kind = graph.types[name]
    offsets = tuple(np.full(len(kind.encoding.offsets), -3).tolist())
    graph.types[name] = replace(kind, encoding=replace(kind.encoding, offsets=offsets))
    assert any("not symmetric" in finding.what for finding in list_broken_rules(graph))
    assert ew.__version__

"""Ops between Dequantize and Quantize become ops on fixed point."""

import numpy as np

import edgewright.passes.pipeline  # noqa: F401 - registers the passes
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.activation import Prelu, Relu
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.quant import Convert, Dequantize, Quantize
from edgewright.passes.graph_pass import PASSES
from edgewright.passes.pipeline import QUANTIZED, run_passes

NARROW, WIDE = Encoding((0.1,), (3,)), Encoding((0.25,), (-5,))
X = np.arange(-10, 10, dtype=np.int8)


def coded(*ops: tuple, outer: Encoding = WIDE, **constants: np.ndarray) -> Graph:
    """X is decoded, goes through ops (with more inputs), and is encoded as y."""
    graph = Graph()
    for name, array in constants.items():
        graph.add_constant(name, array)
    graph.add_input("x", TensorType((20,), DType.SFIXED_POINT_8, None, NARROW))
    graph.add(Node("d", Dequantize(encoding=NARROW), ["x"], ["real"]))
    value = "real"
    for place, (op, *more) in enumerate(ops):
        graph.add(Node(f"n{place}", op, [value, *more], [f"v{place}"]))
        value = f"v{place}"
    graph.add(Node("q", Quantize(dtype=DType.SFIXED_POINT_8, encoding=outer), [value], ["y"]))
    graph.outputs = ["y"]
    return graph


def absorbed(graph: Graph) -> list[str]:
    """Runs the pass, and holds the result to what it was before."""
    before = reference.run(graph, {"x": X})["y"]
    run_passes(graph, QUANTIZED, is_checked=True)
    np.testing.assert_array_equal(reference.run(graph, {"x": X})["y"], before)
    assert PASSES["absorb_encodings"](graph) == 0
    return [type(node.op).__name__ for node in graph.nodes]


def test_an_op_between_decoding_and_encoding_works_on_the_integers() -> None:
    graph = coded((Relu(),))
    assert absorbed(graph) == ["Relu"]
    assert graph.types["y"].encoding == WIDE


def test_a_chain_of_real_numbers_stays_real() -> None:
    assert absorbed(coded((Relu(),), (Relu(),))) == ["Dequantize", "Relu", "Relu", "Quantize"]


def test_decoding_and_encoding_alone_is_a_conversion() -> None:
    graph = coded()
    assert absorbed(graph) == ["Convert"]
    (node,) = graph.nodes
    assert isinstance(node.op, Convert)
    assert (node.op.source, node.op.encoding) == (NARROW, WIDE)


def test_a_pair_of_one_encoding_inside_goes() -> None:
    graph = coded((Relu(),), outer=NARROW)
    graph.outputs = []
    graph.add(Node("d2", Dequantize(encoding=NARROW), ["y"], ["again"]))
    graph.add(Node("q2", Quantize(dtype=DType.SFIXED_POINT_8, encoding=NARROW), ["again"], ["z"]))
    graph.add(Node("d3", Dequantize(encoding=NARROW), ["z"], ["real3"]))
    graph.add(Node("n3", Relu(), ["real3"], ["v3"]))
    graph.add(Node("q3", Quantize(dtype=DType.SFIXED_POINT_8, encoding=WIDE), ["v3"], ["out"]))
    graph.outputs = ["out"]
    run_passes(graph, QUANTIZED, is_checked=True)
    assert [type(node.op).__name__ for node in graph.nodes] == ["Relu", "Relu"]


def test_a_single_number_beside_it_gets_an_encoding_that_holds_it() -> None:
    graph = coded((Prelu(), "slope"), slope=np.full(1, -0.3, np.float32))
    assert absorbed(graph) == ["Prelu"]
    slope = graph.types[graph.nodes[0].inputs[1]].encoding
    assert slope is not None
    np.testing.assert_allclose(slope.decode(graph.constants[graph.nodes[0].inputs[1]]), [-0.3], rtol=1e-6)


def test_real_constants_that_differ_stay_real() -> None:
    graph = coded((ElementWiseAdd(), "row"), row=np.linspace(0, 1, 20, dtype=np.float32))
    assert absorbed(graph) == ["Dequantize", "ElementWiseAdd", "Quantize"]


def test_a_result_that_others_read_too_stays_real() -> None:
    graph = coded((Relu(),))
    graph.outputs = ["y", "v0"]
    assert absorbed(graph) == ["Dequantize", "Relu", "Quantize"]

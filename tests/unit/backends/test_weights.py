"""Integer weights on the CPU: decoded once beside real numbers, left to the engine beside integers."""

import numpy as np

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.cpu.weights import with_decoded_weights
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.matmul import MatMul
from edgewright.ops.quant import Dequantize, Quantize
from edgewright.ops.rearrange import Transpose

BYTE = Encoding((0.1,), (-128,))
PER_ROW = Encoding((0.01, 0.02, 0.03), (0, 0, 0), axis=0)


def product(*, is_quantized: bool) -> Graph:
    """Activations, quantised or not, times weights of 8 bits that are turned after decoding."""
    graph = Graph()
    graph.add_input("x", TensorType((2, 4)))
    left = "x"
    if is_quantized:
        graph.add(Node("q", Quantize(encoding=BYTE), ["x"], ["stored"]))
        graph.add(Node("dq", Dequantize(encoding=BYTE), ["stored"], ["left"]))
        left = "left"
    weights = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)
    graph.add_constant("w", weights, TensorType((3, 4), DType.SFIXED_POINT_8, encoding=PER_ROW))
    graph.add(Node("decode", Dequantize(encoding=PER_ROW), ["w"], ["real"]))
    graph.add(Node("turn", Transpose(perm=(1, 0)), ["real"], ["turned"]))
    graph.add(Node("product", MatMul(), [left, "turned"], ["y"]))
    graph.outputs = ["y"]
    return graph


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def test_weights_beside_real_numbers_are_decoded_once() -> None:
    graph = product(is_quantized=False)
    assert names(with_decoded_weights(graph, keep=())) == ["turn", "product"]
    assert names(graph) == ["decode", "turn", "product"], "the caller's graph stays as it is"


def test_weights_beside_integers_are_left_to_the_engine() -> None:
    graph = product(is_quantized=True)
    assert with_decoded_weights(graph, keep=()) is graph


def test_a_decoded_value_that_is_asked_for_is_still_a_result() -> None:
    graph = product(is_quantized=False)
    assert with_decoded_weights(graph, keep=("real",)) is graph
    session = CpuBackend().prepare(graph, RunOptions(extra_outputs=("real",)))
    np.testing.assert_allclose(
        session.run({"x": np.ones((2, 4), np.float32)})["real"][2], np.arange(2, 6) * 0.03, rtol=1e-6
    )


def test_the_product_is_that_of_the_reference() -> None:
    x = np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4)
    for is_quantized in (False, True):
        graph = product(is_quantized=is_quantized)
        found = CpuBackend().prepare(graph, RunOptions()).run({"x": x})["y"]
        np.testing.assert_allclose(found, reference.run(graph, {"x": x})["y"], rtol=1e-5)

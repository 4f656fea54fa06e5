"""Products of 4-bit weights with real numbers: decoded once where small, in 4 bits where large."""

from dataclasses import dataclass

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.cpu.node_writer import NodeWriter
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.matmul import FullyConnected, MatMul, Product

LARGE = 2048


@dataclass(frozen=True)
class Case:
    """A product, the elements of a block (0: one scale a unit), and the activations' type."""

    label: str
    op: Product
    block_size: int = 0
    dtype: DType = DType.FLOAT_32


CASES = [
    Case("rows", FullyConnected()),
    Case("blocks", FullyConnected(), 64),
    Case("odd-blocks", FullyConnected(), 40),
    Case("columns", MatMul(), 32),
    Case("turned", MatMul(transpose_in1=True), 32),
    Case("half", FullyConnected(), 64, DType.FLOAT_16),
]


def product(case: Case, width: int, units: int) -> tuple[Graph, Array]:
    """Two rows times weights, with a bias, and numbers for the rows."""
    random = np.random.default_rng(11)
    is_column = isinstance(case.op, MatMul) and not case.op.transpose_in1
    shape, axis = ((width, units), 1) if is_column else ((units, width), 0)
    blocks = -(-width // case.block_size) if case.block_size else 1
    scales = tuple(random.uniform(0.001, 0.01, units * blocks).tolist())
    block = {"block_axis": 1 - axis, "block_size": case.block_size} if case.block_size else {}
    encoding = Encoding(scales, (0,) * len(scales), axis=axis, bitwidth=4, **block)
    graph = Graph()
    graph.add_input("x", TensorType((2, width), case.dtype))
    weights = random.integers(-8, 8, shape).astype(np.int8)
    graph.add_constant("w", weights, TensorType(shape, DType.SFIXED_POINT_8, encoding=encoding))
    bias = random.normal(size=units).astype(case.dtype.numpy)
    graph.add_constant("b", bias, TensorType((units,), case.dtype))
    graph.add(Node("n", case.op, ["x", "w", "b"], ["y"]), [TensorType((2, units), case.dtype)])
    graph.outputs = ["y"]
    return graph, random.normal(size=(2, width)).astype(case.dtype.numpy)


def kinds(graph: Graph) -> list[str]:
    writer = NodeWriter(graph)
    writer.add_input("x")
    writer.write(graph.nodes[0])
    return [node.op_type for node in writer.model(["y"])[0].graph.node]


@pytest.mark.parametrize(
    ("width", "units"), [(80, 48), (LARGE, LARGE), (LARGE + 8, LARGE)], ids=["small", "large", "odd"]
)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
def test_product_is_that_of_the_decoded_weights(case: Case, width: int, units: int) -> None:
    graph, x = product(case, width, units)
    expected = reference.run(graph, {"x": x})["y"].astype(np.float64)
    session = CpuBackend().prepare(graph, RunOptions(threads=1))
    found = session.run({"x": x})["y"]
    assert session.placement() == {"n": "engine"}
    assert found.dtype == case.dtype.numpy
    tolerance = 2e-6 if case.dtype == DType.FLOAT_32 else 2e-3
    assert np.abs(found - expected).max() <= tolerance * np.ptp(expected)


def test_only_large_weights_with_blocks_that_the_engine_has_stay_in_four_bits() -> None:
    found = {case.label: kinds(product(case, LARGE, LARGE)[0]) for case in CASES}
    packed = {label for label, names in found.items() if "MatMulNBits" in names}
    assert packed == {"rows", "blocks", "columns", "turned", "half"}
    assert kinds(product(CASES[0], LARGE, LARGE // 2)[0]) == ["Gemm"]
    assert kinds(product(CASES[0], LARGE + 8, LARGE)[0]) == ["Gemm"]

"""Fixed-point graphs: the engine computes what the reference says, in channel-first integers."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.cpu.node_writer import NodeWriter
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops import reference
from edgewright.ops.activation import Prelu, Relu
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.ops.pool import PoolMax2d
from edgewright.ops.rearrange import Transpose
from edgewright.ops.rearrange_blocks import ChannelShuffle
from edgewright.ops.rearrange_fill import Pad, Scheme

NO_PADS = ((0, 0), (0, 0))


@dataclass(frozen=True)
class Case:
    """Widths of activations and weights, and whether the weights have one scale a channel."""

    label: str
    act: DType
    act_bits: int
    weight_bits: int
    is_per_channel: bool


CASES = [
    Case("w8a8", DType.UFIXED_POINT_8, 8, 8, True),
    Case("w8a8-per-tensor", DType.UFIXED_POINT_8, 8, 8, False),
    Case("w8a16", DType.UFIXED_POINT_16, 16, 8, True),
    Case("w4a8", DType.UFIXED_POINT_8, 8, 4, True),
    Case("w4a16", DType.UFIXED_POINT_16, 16, 4, True),
]


def convolution(case: Case) -> tuple[Graph, Array]:
    """Conv2d, Relu and PoolMax2d in fixed point, and stored integers for its input."""
    random = np.random.default_rng(3)
    middle = 1 << (case.act_bits - 1)
    x = TensorType(
        (1, 8, 8, 4), case.act, encoding=Encoding((2.5 / middle,), (-middle,), bitwidth=case.act_bits)
    )
    y = TensorType(
        (1, 8, 8, 6), case.act, encoding=Encoding((6.0 / middle,), (-middle,), bitwidth=case.act_bits)
    )
    count, axis = (6, 3) if case.is_per_channel else (1, None)
    scales = tuple(float(s) for s in random.uniform(0.5, 2.0, count) / (1 << (case.weight_bits - 1)))
    weights = Encoding(scales, (0,) * count, axis=axis, bitwidth=case.weight_bits)
    top = (1 << (case.weight_bits - 1)) - 1
    graph = Graph()
    graph.add_input("x", x)
    graph.add_constant(
        "w",
        random.integers(-top, top + 1, (3, 3, 4, 6)).astype(np.int8),
        TensorType((3, 3, 4, 6), DType.SFIXED_POINT_8, encoding=weights),
    )
    conv = Conv2d(stride=(1, 1), pad_amount=((1, 1), (1, 1)))
    graph.add(Node("conv", conv, ["x", "w"], ["c"]), [y])
    graph.add(Node("relu", Relu(), ["c"], ["r"]), [y])
    pool = PoolMax2d(filter_size=(2, 2), stride=(2, 2), pad_amount=NO_PADS)
    graph.add(Node("pool", pool, ["r"], ["y"]), [y.with_shape((1, 4, 4, 6))])
    graph.outputs = ["y"]
    return graph, random.integers(0, 1 << case.act_bits, (1, 8, 8, 4)).astype(case.act.numpy)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.label)
def test_engine_is_within_one_step_of_the_reference(case: Case) -> None:
    graph, x = convolution(case)
    expected = reference.run(graph, {"x": x})["y"].astype(np.int64)
    session = CpuBackend().prepare(graph, RunOptions(threads=1))
    found = session.run({"x": x})["y"]
    assert found.dtype == case.act.numpy
    assert np.abs(found.astype(np.int64) - expected).max() <= 1
    assert np.ptp(expected) > 20, "the case must exercise the range"
    assert set(session.placement().values()) == {"engine"}


def test_integers_are_transposed_only_at_input_and_output() -> None:
    kinds = written(convolution(CASES[0])[0])
    assert kinds.count("Transpose") == 2
    assert kinds[-1] == "Transpose"


def written(graph: Graph) -> list[str]:
    """The kinds of nodes that the engine gets."""
    writer = NodeWriter(graph)
    for value in graph.inputs:
        writer.add_input(value)
    for node in graph.nodes:
        writer.write(node)
    model, _ = writer.model(graph.outputs)
    return [node.op_type for node in model.graph.node]


def test_weights_are_decoded_in_the_run_only_for_integer_kernels() -> None:
    narrow, wide = (written(convolution(CASES[index])[0]) for index in (0, 2))
    assert narrow.count("DequantizeLinear") - narrow.count("QuantizeLinear") == 1
    assert wide.count("DequantizeLinear") == wide.count("QuantizeLinear")


@pytest.mark.parametrize("case", [CASES[0], CASES[2]], ids=lambda c: c.label)
def test_weights_of_blocks_keep_their_precision_between_encoded_values(case: Case) -> None:
    graph, x = convolution(case)
    scales = tuple(float(s) for s in 10.0 ** np.linspace(-3, -1, 12))
    blocks = Encoding(scales, (0,) * 12, axis=3, bitwidth=4, block_axis=2, block_size=2)
    stored = np.clip(graph.constants["w"], -7, 7)
    graph.constants["w"], graph.types["w"] = stored, replace(graph.types["w"], encoding=blocks)
    expected = reference.run(graph, {"x": x})["y"].astype(np.int64)
    session = CpuBackend().prepare(graph, RunOptions(threads=1))
    assert np.abs(session.run({"x": x})["y"].astype(np.int64) - expected).max() <= 1
    assert set(session.placement().values()) == {"engine"}


def test_a_shuffle_of_channels_moves_whole_planes() -> None:
    kind = TensorType((1, 4, 4, 12), DType.UFIXED_POINT_8, encoding=Encoding((0.1,), (-128,)))
    graph = Graph()
    graph.add_input("x", kind.with_shape((1, 12, 4, 4)))
    graph.add(Node("last", Transpose(perm=(0, 2, 3, 1)), ["x"], ["c"]), [kind])
    graph.add(Node("shuffle", ChannelShuffle(num_groups=3, axis=3), ["c"], ["s"]), [kind])
    graph.add(Node("first", Transpose(perm=(0, 3, 1, 2)), ["s"], ["y"]), [kind.with_shape((1, 12, 4, 4))])
    graph.outputs = ["y"]
    assert written(graph) == ["Gather"]
    x = np.arange(192, dtype=np.uint8).reshape(1, 12, 4, 4)
    found = CpuBackend().prepare(graph, RunOptions()).run({"x": x})["y"]
    np.testing.assert_array_equal(found, reference.run(graph, {"x": x})["y"])
    np.testing.assert_array_equal(found[:, 1], x[:, 4])


def test_what_the_engine_cannot_encode_has_its_fixed_point_meaning_in_the_reference() -> None:
    wide = TensorType((4,), DType.SFIXED_POINT_32, encoding=Encoding((0.001,), (0,), bitwidth=32))
    narrow = TensorType((4,), DType.UFIXED_POINT_8, encoding=Encoding((0.5,), (-10,)))
    graph = Graph()
    graph.add_input("a", narrow)
    graph.add_input("b", narrow)
    graph.add(Node("add", ElementWiseAdd(), ["a", "b"], ["y"]), [wide])
    graph.outputs = ["y"]
    session = CpuBackend().prepare(graph, RunOptions())
    found = session.run({"a": np.uint8([10, 11, 12, 0]), "b": np.uint8([10, 10, 20, 10])})["y"]
    assert session.placement() == {"add": "reference"}
    np.testing.assert_array_equal(found, np.int32([0, 500, 6000, -5000]))


def elementwise(node: Node, constants: dict[str, float]) -> tuple[Graph, Array]:
    """One op in fixed point on -4..4, with encoded constants, and stored integers for its input."""
    kind = TensorType((1, 64), DType.UFIXED_POINT_8, encoding=Encoding((1 / 32,), (-128,), bitwidth=8))
    graph = Graph()
    graph.add_input("x", kind)
    for name, real in constants.items():
        scale = Encoding((real / 255,), (0,), bitwidth=8)
        stored = TensorType((1,), DType.UFIXED_POINT_8, encoding=scale)
        graph.add_constant(name, np.array([255], np.uint8), stored)
    graph.add(node, [kind])
    graph.outputs = ["y"]
    return graph, np.arange(96, 160, dtype=np.uint8).reshape(1, 64)


@pytest.mark.parametrize(
    ("node", "constants"),
    [
        pytest.param(Node("n", Prelu(), ["x", "slope"], ["y"]), {"slope": 0.2}, id="slope-is-decoded"),
        pytest.param(Node("n", ElementWiseMultiply(), ["x", "x"], ["y"]), {}, id="value-read-twice"),
    ],
)
def test_constants_and_repeated_inputs_are_decoded_once(node: Node, constants: dict[str, float]) -> None:
    graph, x = elementwise(node, constants)
    expected = reference.run(graph, {"x": x})["y"].astype(np.int64)
    found = CpuBackend().prepare(graph, RunOptions(threads=1)).run({"x": x})["y"]
    assert np.abs(found - expected).max() <= 1


@pytest.mark.parametrize(
    ("op", "shape"),
    [
        (Pad(scheme=Scheme.CONSTANT, pad_amount=((0, 0), (1, 2))), (2, 6)),
        (Pad(scheme=Scheme.CONSTANT, pad_amount=((0, 0), (1, 2)), pad_constant_value=0.5), (2, 6)),
        (Pad(scheme=Scheme.EDGE, pad_amount=((0, 0), (1, 2))), (2, 6)),
    ],
    ids=["zero", "value", "edge"],
)
def test_padding_is_a_real_number_whatever_integer_stands_for_it(op: Pad, shape: tuple[int, ...]) -> None:
    encoding = Encoding((0.25,), (-100,))
    graph = Graph()
    graph.add_input("x", TensorType((2, 3), DType.UFIXED_POINT_8, encoding=encoding))
    graph.add(Node("pad", op, ["x"], ["y"]), [TensorType(shape, DType.UFIXED_POINT_8, encoding=encoding)])
    graph.outputs = ["y"]
    stored = {"x": np.array([[90, 100, 110], [1, 2, 3]], np.uint8)}
    wanted = encoding.encode(op.compute(encoding.decode(stored["x"]))[0], DType.UFIXED_POINT_8)
    np.testing.assert_array_equal(reference.run(graph, stored)["y"], wanted)
    np.testing.assert_array_equal(CpuBackend().prepare(graph, RunOptions()).run(stored)["y"], wanted)

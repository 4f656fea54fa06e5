"""Values of 16 bits that HTP keeps in blocks, and what becomes them or floats, are the emulator's."""

import numpy as np
import pytest

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Gelu, HardSwish, Relu, Sigmoid
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseDivide, ElementWiseMultiply
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange import Transpose
from edgewright.ops.reduce import ReduceMean, ReduceSum
from edgewright.ops.reduce_softmax import Softmax
from tests.native.test_wide_numbers import Net, compare, make_type

IMAGE, ROWS, STEP, ZERO = (1, 8, 16, 32), (1, 64, 48), 3.1e-5, 113
WORDS, BYTE_BITS = DType.UFIXED_POINT_16, 8
# Where signs make a difference that is not known.
LEAST_EQUAL = 0.98


def widen_bytes(shape: tuple[int, ...], step: float = STEP) -> Net:
    """Every byte becomes 16 bits, as `m`."""
    graph, before = Graph("g"), make_type(shape, 8, STEP * 257, -ZERO)
    graph.add_input("x", before)
    after = make_type(shape, 16, step, -int(ZERO * STEP * 257 / step))
    widen = Convert(dtype=WORDS, encoding=after.encoding, source=before.encoding)
    graph.add(Node("c", widen, ["x"], ["m"]), [after])
    graph.outputs = ["m"]
    return graph, {"x": np.resize(np.arange(256, dtype=np.uint8), shape)}


def add_op(graph: Graph, op: Op, value: str, made: str, kind: TensorType) -> None:
    """One more op, whose result is the graph's."""
    graph.add(Node(made, op, [value], [made]), [kind])
    graph.outputs = [made]


def add_number(graph: Graph, op: Op, value: str, number: float, ratio: float) -> None:
    """A number is what a value is multiplied with or divided by; the result `y` has steps of that ratio."""
    kind = graph.types[value]
    assert kind.encoding is not None
    graph.add_constant("k", np.array(65535, np.uint16), make_type((), 16, number / 65535, 0))
    real = number if isinstance(op, ElementWiseMultiply) else 1 / number
    step = kind.encoding.scales[0] * real / ratio
    made = make_type(kind.static_shape(), 16, step, -int(-kind.encoding.offsets[0] * ratio))
    graph.add(Node("n", op, [value, "k"], ["y"]), [made])
    graph.outputs = ["y"]


def assert_same(nets: list[Net]) -> None:
    for simulated, emulated in compare(nets):
        assert len(np.unique(emulated)) > 1
        np.testing.assert_array_equal(simulated, emulated)


@pytest.mark.parametrize("shape", [IMAGE, ROWS])
def test_bytes_become_words_by_a_factor_of_16_bits(shape: tuple[int, ...]) -> None:
    assert_same([widen_bytes(shape, STEP * ratio) for ratio in (0.61, 0.93, 1.17, 1.83)])


@pytest.mark.parametrize("shape", [IMAGE, ROWS])
@pytest.mark.parametrize("op", [Relu(), Sigmoid()], ids=lambda op: op.qnn_name())
def test_what_bytes_became_is_clamped_and_bent_in_blocks(shape: tuple[int, ...], op: Op) -> None:
    nets = [widen_bytes(shape) for _ in range(4)]
    for (graph, _), ratio in zip(nets, (0.3, 0.8, 1.1, 1.9), strict=True):
        step = STEP / ratio if isinstance(op, Relu) else ratio / 65535
        add_op(graph, op, "m", "y", make_type(shape, 16, step, 0))
    assert_same(nets)


@pytest.mark.parametrize("ratio", [0.07, 0.43, 0.8, 1.6])
@pytest.mark.parametrize("between", [None, Transpose(perm=(0, 2, 1, 3)), HardSwish(), Gelu(), Sigmoid()])
def test_a_number_behind_functions_of_images_is_one_in_blocks(between: Op | None, ratio: float) -> None:
    graph, feed = widen_bytes(IMAGE)
    if between is not None:
        shape = (1, 16, 8, 32) if isinstance(between, Transpose) else IMAGE
        add_op(graph, between, "m", "t", make_type(shape, 16, STEP, -ZERO * 257))
    add_number(graph, ElementWiseMultiply(), "m" if between is None else "t", 0.37, ratio)
    assert_same([(graph, feed)])


@pytest.mark.parametrize("ratio", [0.4, 0.77])
@pytest.mark.parametrize("shape", [IMAGE, ROWS])
@pytest.mark.parametrize("is_added", [False, True])
def test_scores_over_a_number_are_those_of_the_emulator(
    shape: tuple[int, ...], ratio: float, *, is_added: bool
) -> None:
    graph, feed = widen_bytes(shape)
    add_number(graph, ElementWiseDivide(), "m", 5.657, ratio)
    value, given = "y", graph.types["y"]
    assert given.encoding is not None
    if is_added:
        value, step = "sum", given.encoding.scales[0] * 2
        graph.add_input("mask", given)
        feed["mask"] = np.full(shape, 40000, np.uint16)
        summed = make_type(shape, 16, step, given.encoding.offsets[0])
        graph.add(Node("a", ElementWiseAdd(), ["y", "mask"], [value]), [summed])
    add_op(graph, Softmax(), value, "shares", make_type(shape, 16, 1 / 65536, 0))
    graph.outputs = ["y", "shares"]
    assert_same([(graph, feed)])


def test_words_with_the_other_sign_are_the_same() -> None:
    nets = []
    for offset, ratio in ((-31000, 0.95), (-20011, 0.41), (-47000, 1.3)):
        graph = Graph("g")
        graph.add_input("m", make_type((1, 1, 1024, 64), 16, STEP, offset))
        made = make_type((1, 1, 1024, 64), 16, STEP / ratio, -33000)
        add_op(graph, ElementWiseNeg(), "m", "y", made)
        nets.append((graph, {"m": np.arange(1 << 16, dtype=np.uint16).reshape(1, 1, 1024, 64)}))
    assert_same(nets)


@pytest.mark.parametrize("op", [ReduceSum, ReduceMean])
@pytest.mark.parametrize(("shape", "axis"), [((1, 2, 64, 8, 8), 1), ((1, 8, 32, 24), 3), ((1, 5, 1024), 1)])
def test_bytes_are_added_along_axes_as_the_emulator_does_it(
    op: type[ReduceSum | ReduceMean], shape: tuple[int, ...], axis: int
) -> None:
    nets, count = [], shape[axis]
    for seed in range(6):
        random = np.random.default_rng(seed)
        zero, made = int(random.integers(0, 256)), tuple(1 if at == axis else n for at, n in enumerate(shape))
        level = random.uniform(0, 255, made)
        x = np.clip(np.rint(level + random.normal(0, 40, shape)), 0, 255).astype(np.uint8)
        step = float(random.uniform(0.7, 1.8)) * (count if op is ReduceSum else 1)
        kept = make_type(made, 8, step / 255, -int(np.clip(128 - (128 - zero) / step, 0, 255)))
        graph = Graph("g")
        graph.add_input("x", make_type(shape, 8, 1 / 255, -zero))
        add_op(graph, op(axes=(axis,), keep_dims=True), "x", "y", kept)
        nets.append((graph, {"x": x}))
    assert_same(nets)


@pytest.mark.parametrize("bits", [8, 16])
def test_integers_become_floats_and_floats_words_as_on_the_emulator(bits: int) -> None:
    """Between them floats are multiplied with one, so that they are floats of 11 bits."""
    graph, shape = Graph("g"), (1, 1, 1 << (bits // 2), 1 << (bits // 2))
    # Results that lie in the middle between two floats are many where a step is a power of two.
    before = make_type(shape, bits, 2.0**-bits if bits == 16 else 0.01066, -(1 << (bits - 2)))
    after, real = make_type(shape, 16, 0.000021344, -5000), TensorType(shape, DType.FLOAT_32)
    graph.add_input("x", before)
    graph.add_input("one", real)
    graph.add(
        Node("c", Convert(dtype=DType.FLOAT_32, encoding=None, source=before.encoding), ["x"], ["a"]), [real]
    )
    graph.add(Node("n", ElementWiseMultiply(), ["a", "one"], ["b"]), [real])
    store = Convert(dtype=WORDS, encoding=after.encoding, source=None)
    graph.add(Node("s", store, ["b"], ["y"]), [after])
    graph.outputs = ["y"]
    feed = {"x": np.arange(1 << bits).astype(f"uint{bits}").reshape(shape), "one": np.ones(shape, np.float32)}
    ((simulated, emulated),) = compare([(graph, feed)])
    # Of 16 bits one middle in some thousand goes the other way.
    assert np.mean(simulated == emulated) >= (1.0 if bits == BYTE_BITS else 0.999)


def test_floats_over_a_single_number_are_the_same() -> None:
    nets = []
    for seed in range(6):
        random, graph, shape = np.random.default_rng(seed), Graph("g"), (1, 4, 4, 32)
        kinds = {"a": TensorType(shape, DType.FLOAT_16), "b": TensorType((1, 1, 1, 1), DType.FLOAT_16)}
        feed = {name: random.uniform(1, 4, kind.shape).astype(np.float16) for name, kind in kinds.items()}
        for name, kind in kinds.items():
            graph.add_input(name, kind)
        graph.add(Node("n", ElementWiseDivide(), ["a", "b"], ["y"]), [kinds["a"]])
        graph.outputs = ["y"]
        nets.append((graph, feed))
    assert_same(nets)


@pytest.mark.parametrize("places", [(4, 4), (3, 5)])
def test_floats_of_whole_images_are_added_as_the_emulator_does_it(places: tuple[int, int]) -> None:
    nets = []
    for seed in range(24):
        graph, shape = Graph("g"), (1, *places, 64)
        graph.add_input("x", TensorType(shape, DType.FLOAT_16))
        made = TensorType((1, 1, 1, 64), DType.FLOAT_16)
        add_op(graph, ReduceSum(axes=(1, 2), keep_dims=True), "x", "y", made)
        nets.append((graph, {"x": np.random.default_rng(seed).normal(size=shape).astype(np.float16)}))
    # Sums below zero are not all known; rounded once all give 0.976 and 0.966.
    equal = [simulated == emulated for simulated, emulated in compare(nets)]
    assert np.mean(equal) >= LEAST_EQUAL

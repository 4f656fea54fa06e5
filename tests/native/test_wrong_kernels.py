"""Ops whose kernels in HTP's library give something else are written in another way: same meaning."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import REGISTRY
from edgewright.ir.types import TensorType
from edgewright.ir.verify import verify
from edgewright.ops import reference
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise_unary import ElementWiseLog
from edgewright.ops.rearrange import Concat, Transpose
from edgewright.ops.reduce_softmax import Softmax
from edgewright.passes.pipeline import PASSES
from tests.backend.op_types import make_graph

# Pass, op, datatype of its first input, and of its result.
CASES = [
    ("compute_in_floats", "ElementWiseLog", "UFIXED_POINT_16", "UFIXED_POINT_16"),
    ("compute_in_floats", "ElementWiseFloorDiv", "UFIXED_POINT_16", "UFIXED_POINT_16"),
    ("compute_in_floats", "ElementWiseFloorDiv", "SFIXED_POINT_16", "SFIXED_POINT_16"),
    ("compute_in_floats", "CumulativeSum", "UFIXED_POINT_8", "UFIXED_POINT_8"),
    ("give_wanted_encodings", "Softmax", "SFIXED_POINT_8", "SFIXED_POINT_8"),
    ("give_wanted_encodings", "Tanh", "UFIXED_POINT_16", "UFIXED_POINT_16"),
    ("convert_around_moves", "Pack", "SFIXED_POINT_8", "SFIXED_POINT_8"),
    ("convert_around_moves", "UnPack", "UFIXED_POINT_8", "UFIXED_POINT_8"),
    ("convert_around_moves", "TopK", "SFIXED_POINT_8", "SFIXED_POINT_8"),
    ("convert_around_moves", "Reshape", "FLOAT_32", "UFIXED_POINT_8"),
]


def make_case(op, given, result):
    ports = {f"in[{k}]": given for k in range(2)} | {"out[0]": result}
    if op in {"Pack", "UnPack"}:
        ports = {"in[0..m]": given, "out[0..m]": result}
    elif op == "Reshape":
        del ports["in[1]"]
    sample = next(iter(REGISTRY[op].samples()))
    return make_graph(sample, {**ports, **({"out[1]": "INT_32"} if op == "TopK" else {})})


def check_results(graph, found, expected):
    for name in graph.outputs:
        kind = graph.types[name]
        is_wide = kind.dtype.is_fixed_point and kind.dtype.bits > 8
        share = 0.004 * float(np.abs(expected[name].astype(float)).max())
        step = share if is_wide else (1 if kind.dtype.is_fixed_point else 1e-5)
        np.testing.assert_allclose(found[name].astype(float), expected[name].astype(float), atol=step, rtol=0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case[1:3]))
def test_a_rewrite_keeps_the_meaning(case):
    name, *kinds = case
    graph, feed = make_case(*kinds)
    expected = reference.run(graph, dict(feed))
    assert PASSES[name](graph) == 1
    verify(graph, after=name)
    check_results(graph, reference.run(graph, dict(feed)), expected)
    assert PASSES[name].function(graph) == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case[1:3]))
def test_the_emulator_gives_the_same(case):
    graph, feed = make_case(*case[1:])
    found = find_backend("htp-native").prepare(graph, RunOptions(threads=1)).run(feed)
    check_results(graph, found, reference.run(graph, dict(feed)))


def make_picture_net():
    """Bytes as a camera gives them, in the layout of the source."""
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 3, 4, 5), DType.UINT_8))
    moved = TensorType((1, 4, 5, 3), DType.UINT_8)
    graph.add(Node("turn", Transpose(perm=(0, 2, 3, 1)), ["x"], ["t"]), [moved])
    graph.add(Node("cast", Cast(dtype=DType.FLOAT_32), ["t"], ["y"]))
    graph.outputs = ["y"]
    return graph, {"x": np.arange(60, dtype=np.uint8).reshape(1, 3, 4, 5) * 4}


def test_bytes_become_floats_by_way_of_integers():
    graph, feed = make_picture_net()
    expected = reference.run(graph, dict(feed))["y"]
    assert PASSES["cast_bytes"](graph) == 2
    verify(graph, after="cast_bytes")
    assert [node.op.qnn_name() for node in graph.nodes] == ["Cast", "Cast", "Transpose"]
    assert np.array_equal(reference.run(graph, dict(feed))["y"], expected)
    assert PASSES["cast_bytes"].function(graph) == 0


def test_the_emulator_takes_pictures_of_bytes():
    graph, feed = make_picture_net()
    found = find_backend("htp-native").prepare(graph, RunOptions(threads=1)).run(feed)["y"]
    np.testing.assert_allclose(found, reference.run(graph, dict(feed))["y"], rtol=1e-6)


def make_narrow_scores(reach):
    """Rows of scores that hardly differ, in 16 bits."""
    scores = Encoding((reach / 65535,), (-32768,), None, 16)
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 8, 20), DType.UFIXED_POINT_16, encoding=scores))
    shares = TensorType((1, 8, 20), DType.UFIXED_POINT_16, encoding=Encoding((1 / 65536,), (0,), None, 16))
    graph.add(Node("softmax", Softmax(), ["x"], ["y"]), [shares])
    graph.outputs = ["y"]
    return graph, {"x": np.random.default_rng(0).integers(0, 65536, (1, 8, 20)).astype(np.uint16)}


@pytest.mark.parametrize(("reach", "is_wrong"), [(0.05, True), (0.17, True), (0.18, False), (4.0, False)])
def test_shares_of_scores_that_hardly_differ_are_right(reach, is_wrong):
    graph, feed = make_narrow_scores(reach)
    expected = reference.run(graph, dict(feed))
    for backend in ("htp-native", "htp-sim"):
        check_results(graph, find_backend(backend).prepare(graph, RunOptions(threads=1)).run(feed), expected)
    assert PASSES["compute_in_floats"](graph) == is_wrong


def test_logarithms_of_16_bits_are_those_of_half_precision_and_that_of_zero_is_low():
    given = Encoding((0.0005,), (0,), None, 16)
    made = Encoding((0.0004,), (-56000,), None, 16)
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 64, 1024), DType.UFIXED_POINT_16, encoding=given))
    logarithms = TensorType((1, 64, 1024), DType.UFIXED_POINT_16, encoding=made)
    graph.add(Node("log", ElementWiseLog(), ["x"], ["y"]), [logarithms])
    graph.outputs = ["y"]
    feed = {"x": np.arange(65536).astype(np.uint16).reshape(1, 64, 1024)}
    emulated, simulated = (
        find_backend(name).prepare(graph, RunOptions(threads=1)).run(feed)["y"].reshape(-1)
        for name in ("htp-native", "htp-sim")
    )
    assert made.decode(emulated[:1])[0] == pytest.approx(np.log(2.0**-24), abs=0.01)
    np.testing.assert_array_equal(simulated, emulated)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("moves", [1, 2])
def test_inputs_that_were_turned_get_the_scale_of_what_they_are_joined_in(bits, moves):
    """The library joins their stored integers, as if all had one encoding."""
    dtype, shape, last = DType[f"UFIXED_POINT_{bits}"], (1, 16, 8, 32), (1 << bits) - 1
    graph, joined, random = Graph("g"), [], np.random.default_rng(0)
    for name, scale in (("a", 1.0), ("b", 1.7)):
        encoding, turned = Encoding((scale,), (-last // 3,), bitwidth=bits), shape
        graph.add_input(name, TensorType(shape, dtype, None, encoding))
        for number in range(moves):
            perm, made = ((0, 2, 1, 3), (0, 1, 3, 2))[number], f"{name}{number}"
            turned = tuple(turned[axis] for axis in perm)
            kind = TensorType(turned, dtype, None, encoding)
            graph.add(Node(made, Transpose(perm=perm), [name if not number else f"{name}0"], [made]), [kind])
        joined.append(made)
    encoding = Encoding((2.0,), (-last // 2,), bitwidth=bits)
    result = TensorType((*turned[:3], 2 * turned[3]), dtype, None, encoding)
    graph.add(Node("join", Concat(axis=3), joined, ["y"]), [result])
    graph.outputs = ["y"]
    feed = {name: random.integers(0, last + 1, shape).astype(dtype.numpy) for name in ("a", "b")}
    found = find_backend("htp-native").prepare(graph, RunOptions(threads=1)).run(feed)
    simulated = find_backend("htp-sim").prepare(graph, RunOptions(threads=1)).run(feed)
    np.testing.assert_array_equal(found["y"], simulated["y"])
    assert np.abs(found["y"].astype(int) - reference.run(graph, dict(feed))["y"]).max() <= 1

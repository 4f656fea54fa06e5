"""The compiled kernels give what the engine's own ops give, and are not needed."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import node_writer, sums
from edgewright.backends.cpu.compiled import SWITCH, find_kernels
from edgewright.backends.cpu.fused_steps import combine_in_one_pass, look_up_in_one_pass
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.cache import CACHE
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Sigmoid
from edgewright.ops.quant import Convert


@pytest.fixture(autouse=True)
def _forget_kernels():
    find_kernels.cache_clear()
    yield
    find_kernels.cache_clear()


def make_network(rng, channels, stride, dilation, places):
    """A convolution, a depthwise one behind it, a product, and a sum."""
    weights = {
        "first": rng.normal(size=(channels, 16, 3, 3)),
        "each": rng.normal(size=(channels, 1, *places)),
        "last": rng.normal(size=(channels, channels, 1, 1)),
        "bias": rng.normal(size=channels) * 4,
    }
    pads = [dilation * (places[0] // 2), 1, 1, dilation * (places[1] // 2)]
    depthwise = {"group": channels, "strides": [stride] * 2, "dilations": [dilation] * 2, "pads": pads}
    nodes = [
        helper.make_node("Conv", ["x", "first", "bias"], ["a"], pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "each", "bias"], ["c"], **depthwise),
        helper.make_node("HardSwish", ["c"], ["h"]),
        helper.make_node("Conv", ["h", "last"], ["d"]),
        helper.make_node("Add", ["d", "c"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 16, 11, 13))]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("c", "d", "y")]
    stored = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "network", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def simulate(model, samples, act_bits):
    quantized = ew.quantize(model, samples, act_bw=act_bits, weight_bw=8)
    return quantized.run(samples[0], backend="htp-sim")


@pytest.mark.parametrize("act_bits", [8, 16])
@pytest.mark.parametrize(
    ("channels", "stride", "dilation", "places"),
    [(32, 1, 1, (3, 3)), (45, 2, 1, (3, 3)), (7, 1, 2, (3, 5)), (520, 1, 1, (1, 1))],
)
def test_kernels_round_as_the_engines_own_ops_do(monkeypatch, act_bits, channels, stride, dilation, places):
    rng = np.random.default_rng(channels)
    model = make_network(rng, channels, stride, dilation, places)
    samples = [{"x": rng.normal(size=(2, 16, 11, 13)).astype(np.float32)} for _ in range(3)]
    assert find_kernels() is not None
    compiled = simulate(model, samples, act_bits)
    monkeypatch.setenv(SWITCH, "0")
    find_kernels.cache_clear()
    plain = simulate(model, samples, act_bits)
    for name, expected in plain.items():
        np.testing.assert_array_equal(compiled[name], expected, err_msg=name)


@pytest.mark.parametrize("act_bits", [8, 16])
@pytest.mark.parametrize(
    ("weights", "options"),
    [
        ((24, 3, 3, 3), {"strides": [2, 2], "pads": [0, 0, 1, 1]}),
        ((68, 17, 1, 1), {"group": 4}),
        ((10, 1, 1, 1), {}),
        ((6, 2, 1, 1), {"group": 3}),
        ((40, 5, 3, 2), {"group": 2, "dilations": [2, 1], "pads": [2, 0, 1, 3]}),
        # So much work that threads take parts of it.
        ((96, 96, 3, 3), {"pads": [1] * 4}),
    ],
)
def test_convolutions_are_those_of_the_engines_own_ops(monkeypatch, act_bits, weights, options):
    rng = np.random.default_rng(weights[0])
    channels = weights[1] * options.get("group", 1)
    stored = [
        numpy_helper.from_array(rng.normal(size=weights).astype(np.float32), "w"),
        numpy_helper.from_array(rng.normal(size=weights[0]).astype(np.float32) * 3, "b"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, channels, 13, 12))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"], **options)]
    graph = helper.make_graph(nodes, "convolution", inputs, outputs, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    samples = [{"x": rng.normal(size=(2, channels, 13, 12)).astype(np.float32)} for _ in range(2)]
    compiled = simulate(model, samples, act_bits)
    monkeypatch.setenv(SWITCH, "0")
    find_kernels.cache_clear()
    np.testing.assert_array_equal(compiled["y"], simulate(model, samples, act_bits)["y"])


def test_without_a_compiler_there_are_none(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert find_kernels() is None


def test_a_compiler_that_fails_is_no_error(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE, str(tmp_path))
    monkeypatch.setenv("CC", "/bin/false")
    assert find_kernels() is None
    assert not list((tmp_path / "kernels").iterdir())


@pytest.mark.parametrize("refused", ["-mprefer-vector-width", "-march"])
def test_a_compiler_that_lacks_flags_does_without(monkeypatch, tmp_path, refused):
    compiler = tmp_path / "old-cc"
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *{refused}*) exit 1;; esac\nexec cc "$@"\n')
    compiler.chmod(0o700)
    monkeypatch.setenv(CACHE, str(tmp_path))
    monkeypatch.setenv("CC", str(compiler))
    assert find_kernels() is not None


def test_a_kernel_without_memory_gives_no_result(monkeypatch, tmp_path):
    compiler = tmp_path / "poor-cc"
    compiler.write_text(
        '#!/bin/sh\nfor given; do case "$given" in\n'
        '*.c) sed -i "s/= malloc(.*);/= NULL;/" "$given";;\nesac; done\nexec cc "$@"\n'
    )
    compiler.chmod(0o700)
    monkeypatch.setenv(CACHE, str(tmp_path))
    monkeypatch.setenv("CC", str(compiler))
    rng = np.random.default_rng(0)
    samples = [{"x": rng.normal(size=(2, 16, 11, 13)).astype(np.float32)}]
    with pytest.raises(EdgewrightError, match="there is no memory for what a kernel computes"):
        simulate(make_network(rng, 8, 1, 1, (3, 3)), samples, 8)


def test_why_there_are_no_kernels_is_said(monkeypatch, tmp_path, caplog):
    compiler = tmp_path / "broken-cc"
    compiler.write_text("#!/bin/sh\necho no headers >&2\nexit 1\n")
    compiler.chmod(0o700)
    monkeypatch.setenv(CACHE, str(tmp_path))
    monkeypatch.setenv("CC", str(compiler))
    with caplog.at_level("INFO"):
        assert find_kernels() is None
    assert f"'{compiler}' does not compile them: no headers" in caplog.text


def test_nothing_is_loaded_from_where_others_may_write(monkeypatch, tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv(CACHE, str(tmp_path))
    assert find_kernels() is None
    folder.chmod(0o700)
    find_kernels.cache_clear()
    assert find_kernels() is not None


def test_without_a_home_there_are_none(monkeypatch):
    for name in (CACHE, "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert find_kernels() is None


def test_a_damaged_library_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE, str(tmp_path / "good"))
    library = find_kernels()
    assert library is not None
    (tmp_path / "bad" / "kernels").mkdir(parents=True, mode=0o700)
    (tmp_path / "bad" / "kernels" / library.name).write_bytes(b"no library")
    monkeypatch.setenv(CACHE, str(tmp_path / "bad"))
    find_kernels.cache_clear()
    assert find_kernels() is None


def test_a_library_that_is_removed_still_serves_the_process(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE, str(tmp_path))
    library = find_kernels()
    assert library is not None
    rng = np.random.default_rng(0)
    samples = [{"x": rng.normal(size=(2, 16, 11, 13)).astype(np.float32)}]
    quantized = ew.quantize(make_network(rng, 8, 1, 1, (3, 3)), samples, act_bw=8, weight_bw=8)
    library.unlink()
    quantized.run(samples[0], backend="htp-sim")
    assert set(quantized.placement().values()) == {"engine"}


def test_gates_of_8_bits_run_on_the_engine():
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["s"]),
        helper.make_node("Sigmoid", ["s"], ["t"]),
        helper.make_node("Mul", ["s", "t"], ["m"]),
        helper.make_node("Relu", ["m"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 8, 8))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "gates", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    samples = [{"x": np.random.default_rng(1).normal(size=(1, 4, 8, 8)).astype(np.float32) * 3}]
    quantized = ew.quantize(model, samples, act_bw=8, weight_bw=8)
    quantized.run(samples[0], backend="htp-sim")
    assert set(quantized.placement().values()) == {"engine"}


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        ((3, 5, 7), (3, 5, 7), None),
        ((2, 3, 1, 40), (1, 1, 1, 40), None),
        ((2, 1, 4, 600), (3, 1, 600), None),
        ((5, 1), (1, 9), None),
        ((1,), (4, 1030), None),
        ((2, 5, 3), (2, 3, 5), [0, 2, 1]),
    ],
)
def test_elements_of_16_bits_are_combined_in_one_pass(monkeypatch, op, first, second, order):
    rng = np.random.default_rng(first[0])
    constant = (rng.normal(size=second[-1:]) * 2).astype(np.float32)
    nodes = [
        *([helper.make_node("Transpose", ["a"], ["turned"], perm=order)] if order else []),
        helper.make_node(op, ["turned" if order else "a", "b"], ["c"]),
        helper.make_node(op, ["c", "constant"], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("a", first), ("b", second))
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("c", "y")]
    stored = [numpy_helper.from_array(constant, "constant")]
    graph = helper.make_graph(nodes, "elements", inputs, outputs, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    samples = [
        {"a": rng.normal(size=first).astype(np.float32), "b": 3 * rng.normal(size=second).astype(np.float32)}
    ]
    written = []

    def note(*arguments):
        written.append(combine_in_one_pass(*arguments))
        return written[-1]

    monkeypatch.setattr(node_writer, "combine_in_one_pass", note)
    compiled = simulate(model, samples, 16)
    assert written
    monkeypatch.setenv(SWITCH, "0")
    find_kernels.cache_clear()
    plain = simulate(model, samples, 16)
    for name, expected in plain.items():
        np.testing.assert_array_equal(compiled[name], expected, err_msg=name)


U8, U16, S16 = DType.UFIXED_POINT_8, DType.UFIXED_POINT_16, DType.SFIXED_POINT_16
WIDTHS = {"w8a8": {"act_bw": 8}, "w8a16": {"act_bw": 16}, "fp16": {"float_bw": 16}, "float": {}}


def make_rows(op, shape, **attributes):
    """One op on rows, with a weight and a bias for each place of the last axis where it is a norm."""
    rng = np.random.default_rng(shape[-1])
    is_norm = op == "LayerNormalization"
    weights = {"w": rng.normal(size=shape[-1]), "b": rng.normal(size=shape[-1])} if is_norm else {}
    nodes = [helper.make_node(op, ["x", *weights], ["y"], **attributes)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    stored = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "rows", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def run_rows(model, x, form):
    samples = [{"x": x}] if "act_bw" in WIDTHS[form] else None
    quantized = ew.quantize(ew.convert(model), samples, **WIDTHS[form]) if WIDTHS[form] else ew.convert(model)
    return quantized.run({"x": x}, backend="htp-sim")["y"], set(quantized.placement().values())


def run_without_kernels(monkeypatch, model, x, form):
    monkeypatch.setenv(SWITCH, "0")
    find_kernels.cache_clear()
    return run_rows(model, x, form)


@pytest.mark.parametrize("form", WIDTHS)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((5, 3), 1), ((2, 3, 16), -1), ((2, 50, 3), 1), ((33, 17), 0), ((3, 1030), -1)],
)
def test_shares_are_those_of_numpy_and_on_the_engine(monkeypatch, form, shape, axis):
    model = make_rows("Softmax", shape, axis=axis)
    x = (np.random.default_rng(shape[0]).normal(size=shape) * 3).astype(np.float32)
    compiled, placed = run_rows(model, x, form)
    assert placed == {"engine"}
    plain, placed = run_without_kernels(monkeypatch, model, x, form)
    assert "reference" in placed
    np.testing.assert_array_equal(compiled, plain)


def test_two_shares_of_8_bits_are_those_of_numpy(monkeypatch):
    model, x = make_rows("Softmax", (200, 2), axis=1), np.random.default_rng(2).normal(size=(200, 2))
    x[0] = x[0, 0]
    compiled, placed = run_rows(model, x.astype(np.float32), "w8a8")
    assert placed == {"engine"}
    np.testing.assert_array_equal(compiled[0], [127 / 256, 128 / 256])
    plain, _ = run_without_kernels(monkeypatch, model, x.astype(np.float32), "w8a8")
    np.testing.assert_array_equal(compiled, plain)


def test_shares_of_what_is_no_number_or_too_large_are_those_of_numpy(monkeypatch):
    x = np.random.default_rng(0).normal(size=(5, 600)).astype(np.float32)
    x[0, :300], x[1, 7], x[2, 599], x[3], x[4, ::2] = -np.inf, np.inf, np.nan, -np.inf, 0
    model = make_rows("Softmax", x.shape, axis=-1)
    compiled, _ = run_rows(model, x, "fp16")
    np.testing.assert_array_equal(np.isnan(compiled).any(-1), [False, False, True, False, False])
    np.testing.assert_array_equal(compiled, run_without_kernels(monkeypatch, model, x, "fp16")[0])


@pytest.mark.parametrize("places", [(1, 1), (2, 3), (3, 1), (5, 4), (8, 7)])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_means_of_images_of_floats_are_those_of_numpy_and_on_the_engine(monkeypatch, places, keepdims):
    model = make_rows("ReduceMean", (2, *places, 600), axes=[1, 2], keepdims=keepdims)
    x = np.random.default_rng(places[0]).normal(size=(2, *places, 600)).astype(np.float32)
    # Sums that nearly vanish show what was lost on the way.
    x[:, -1, -1] -= x.sum((1, 2)).astype(np.float16)
    compiled, placed = run_rows(model, x, "fp16")
    assert placed == {"engine"}
    plain, placed = run_without_kernels(monkeypatch, model, x, "fp16")
    assert "reference" in placed
    np.testing.assert_array_equal(compiled, plain)


@pytest.mark.parametrize("form", ["w8a8", "w8a16"])
@pytest.mark.parametrize("shape", [(7, 1), (3, 5, 48), (3, 5, 64), (4, 1030)])
def test_rows_of_integers_are_normalized_as_numpy_does_it_and_on_the_engine(monkeypatch, form, shape):
    model = make_rows("LayerNormalization", shape, axis=-1)
    x = (np.random.default_rng(1).normal(size=shape) * 4 + 3).astype(np.float32)
    # All numbers of a row are the same, and a power of two of steps.
    x[0] = 0
    compiled, placed = run_rows(model, x, form)
    assert placed == {"engine"}
    plain, placed = run_without_kernels(monkeypatch, model, x, form)
    assert "reference" in placed
    np.testing.assert_array_equal(compiled, plain)


@pytest.mark.parametrize(
    ("given", "made"),
    [(U8, U8), (U8, U16), (U8, S16), (U16, U8), (U16, S16), (U16, U16)],
    ids=lambda dtype: dtype.name,
)
def test_every_integer_is_looked_up_in_one_pass(monkeypatch, given, made):
    written = []

    def note(*arguments):
        written.append(look_up_in_one_pass(*arguments))
        return written[-1]

    monkeypatch.setattr(sums, "look_up_in_one_pass", note)
    before = Encoding((2.0**-given.bits,), (-(1 << given.bits) // 3,), bitwidth=given.bits)
    zero = 0 if made == S16 else -(1 << made.bits) // 2
    after = Encoding((1.5 * 2.0**-made.bits,), (zero,), bitwidth=made.bits)
    x = np.arange(1 << given.bits).astype(given.numpy)
    graph = Graph("conversion")
    graph.add_input("x", TensorType(x.shape, given, None, before))
    op = Sigmoid() if given == made == U16 else Convert(dtype=made, encoding=after, source=before)
    graph.add(Node("n", op, ["x"], ["y"]), [TensorType(x.shape, made, None, after)])
    graph.outputs = ["y"]
    compiled = HtpSimBackend().prepare(graph, RunOptions()).run({"x": x})["y"]
    assert any(written)
    monkeypatch.setenv(SWITCH, "0")
    find_kernels.cache_clear()
    plain = HtpSimBackend().prepare(graph, RunOptions()).run({"x": x})["y"]
    assert not written[-1]
    np.testing.assert_array_equal(compiled, plain)

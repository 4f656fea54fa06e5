import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static

import edgewright as ew
from edgewright.artifacts.dlc import reader, writer
from edgewright.core.numbers import DType
from edgewright.quantize.weights.cle import equalize
from edgewright.tools.qairt_converter import main as convert
from edgewright.tools.qairt_quantizer import main
from edgewright.tools.qnn_net_run import main as net_run
from tests.cli import models

SETS = 6


def inputs(seed=0, shape=(1, 3, 6, 6)):
    return [np.random.default_rng(seed + n).normal(size=shape).astype(np.float32) for n in range(SETS)]


def listed(folder, arrays, name="list.txt"):
    for number, array in enumerate(arrays):
        array.tofile(folder / f"{number}.raw")
    (folder / name).write_text("".join(f"{folder}/{n}.raw\n" for n in range(len(arrays))), "utf-8")
    return folder / name


def two_layers(path):
    """Two convolutions with a Relu between and a product behind: every kind of weight, and biases."""
    rng = np.random.default_rng(1)
    weights = {
        "w1": rng.normal(size=(4, 3, 3, 3)).astype(np.float32)
        * np.array([1, 2, 4, 8], np.float32)[:, None, None, None],
        "b1": rng.normal(size=4).astype(np.float32),
        "w2": rng.normal(size=(5, 4, 1, 1)).astype(np.float32),
        "shape": np.array([1, 180]),
        "w3": rng.normal(size=(180, 7)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], name="first"),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="second"),
        helper.make_node("Reshape", ["c2", "shape"], ["flat"], name="flatten"),
        helper.make_node("MatMul", ["flat", "w3"], ["scores"], name="product"),
    ]
    shapes = [("image", models.FLOAT, [1, 3, 6, 6])], [("scores", models.FLOAT, [1, 7])]
    return models.save(path, nodes, *shapes, weights)


@pytest.fixture
def dlc(tmp_path):
    assert convert(["-i", str(two_layers(tmp_path / "net.onnx"))]) == 0
    return tmp_path / "net.dlc"


@pytest.fixture
def quantize(call, dlc, tmp_path):
    """Quantizes the network; returns the answer and the path of the result."""

    def run(*words, data=True):
        calibration = ("--input_list", listed(tmp_path, inputs())) if data else ()
        return call(main, "--input_dlc", dlc, *calibration, *words), tmp_path / "net.quantized.dlc"

    return run


def test_the_float_dlc_is_not_written_over(quantize, dlc):
    before = dlc.read_bytes()
    answer, _ = quantize("--output_dlc", dlc)
    assert answer.code == 2
    assert "net.dlc' would be overwritten" in answer.err
    assert dlc.read_bytes() == before


def graph_of(path):
    return ew.load(path).graph


def types(graph, op, place):
    nodes = [node for node in graph.nodes if node.op.qnn_name() == op and len(node.inputs) > place]
    return [graph.types[node.inputs[place]] for node in nodes]


def sqnr(want, got):
    return 10 * np.log10(np.sum(want**2) / (np.sum((want - got) ** 2) + 1e-9))


def scores(path, backend="htp-sim"):
    model = ew.load(path)
    return np.concatenate([model.run({"image": x}, backend=backend)["scores"] for x in inputs()])


@pytest.fixture
def truth(dlc):
    return scores(dlc, "cpu")


def test_the_defaults_are_the_guide_s(quantize, truth):
    answer, path = quantize()
    assert answer.code == 0
    assert f"wrote {path}" in answer.out
    graph = graph_of(path)
    assert {graph.types[name].dtype for name in ("image", "scores")} == {DType.UFIXED_POINT_8}
    weights = types(graph, "Conv2d", 1)
    assert [(t.dtype, t.encoding.axis) for t in weights] == [(DType.UFIXED_POINT_8, None)] * 2
    assert types(graph, "Conv2d", 2)[0].encoding.bitwidth == 8
    assert sqnr(truth, scores(path)) > 20
    np.testing.assert_allclose(scores(path), scores(path, "cpu"), atol=0.5)


def test_the_report_says_what_was_done(quantize):
    answer, _ = quantize()
    assert "encodings: 0 from the file, " in answer.out
    assert "clamp-in-producer" in answer.out
    assert "kB before, " in answer.out
    found = json.loads(quantize("--json")[0].out)
    assert found["bytes_after"] < found["bytes_before"]
    assert {rule["name"] for rule in found["rules"]} >= {"clamp-in-producer"}


def test_a_quantized_dlc_runs_as_the_guide_says(call, quantize, truth, tmp_path):
    _, path = quantize("--use_per_channel_quantization", "--bias_bitwidth", "32")
    run = listed(tmp_path, inputs())
    for backend in ("libQnnHtp.so", "libQnnCpu.so"):
        folder = tmp_path / backend
        words = ("--model", path, "--backend", backend, "--input_list", run, "--output_dir", folder)
        assert call(net_run, *words).code == 0
        files = [folder / f"Result_{n}" / "scores.raw" for n in range(SETS)]
        got = np.stack([np.fromfile(file, np.float32) for file in files])
        assert sqnr(truth, got) > 25


@pytest.mark.parametrize(("bits", "dtype"), [("8", DType.UFIXED_POINT_8), ("16", DType.UFIXED_POINT_16)])
def test_activations_have_the_width_asked_for(quantize, bits, dtype):
    _, path = quantize("--act_bitwidth", bits)
    assert graph_of(path).types["r1"].dtype == dtype


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_weights_have_the_width_asked_for(quantize, truth, bits):
    _, path = quantize("--weights_bitwidth", bits, "--use_per_channel_quantization", "--act_bitwidth", "16")
    assert {t.encoding.bitwidth for t in types(graph_of(path), "Conv2d", 1)} == {bits}
    assert sqnr(truth, scores(path)) > {4: 10, 8: 30, 16: 40}[bits]


@pytest.mark.parametrize("bits", [8, 32])
def test_biases_have_the_width_asked_for(quantize, bits):
    _, path = quantize("--bias_bitwidth", bits)
    assert types(graph_of(path), "Conv2d", 2)[0].encoding.bitwidth == bits


@pytest.mark.parametrize(("words", "axis"), [([], 3), (["true"], 3), (["false"], None)])
def test_convolutions_have_a_scale_a_channel_where_asked(quantize, words, axis):
    _, path = quantize("--use_per_channel_quantization", *words)
    found = types(graph_of(path), "Conv2d", 1)
    assert [t.encoding.axis for t in found] == [axis] * 2
    if axis is not None:
        assert all(t.dtype == DType.SFIXED_POINT_8 and not any(t.encoding.offsets) for t in found)


def test_products_have_a_scale_a_row_where_asked(quantize):
    plain, rows = (graph_of(quantize(*words)[1]) for words in ([], ["--use_per_row_quantization"]))
    product = next(n.op.qnn_name() for n in plain.nodes if n.op.qnn_name() in {"MatMul", "FullyConnected"})
    assert types(plain, product, 1)[0].encoding.axis is None
    assert len(types(rows, product, 1)[0].encoding.scales) == 7


@pytest.mark.parametrize("method", ["min-max", "sqnr", "entropy", "mse", "percentile"])
@pytest.mark.parametrize("kind", ["act", "param"])
def test_every_calibration_method_gives_a_model_that_works(quantize, truth, method, kind):
    answer, path = quantize(f"--{kind}_quantizer_calibration", method)
    assert answer.code == 0
    assert sqnr(truth, scores(path)) > 10


def test_a_lower_percentile_leaves_more_out(quantize):
    spans = []
    for value in ("100", "99", "90"):
        words = ("--act_quantizer_calibration", "percentile", "--percentile_calibration_value", value)
        _, path = quantize(*words)
        spans.append(graph_of(path).types["c2"].encoding.scales[0])
    assert all(wide > narrow for wide, narrow in pairwise(spans))


@pytest.mark.parametrize("value", ["89.9", "100.1", "x", "nan", "-1"])
def test_a_percentile_lies_between_90_and_100(quantize, value):
    answer, path = quantize(f"--percentile_calibration_value={value}")
    assert (answer.code, "expected a number from 90 to 100" in answer.err) == (2, True)
    assert not path.exists()


def test_a_percentile_without_its_method_is_warned_of(quantize):
    answer, _ = quantize("--percentile_calibration_value", "95")
    assert "has no effect without the calibration method percentile" in answer.err


def test_schemas_decide_whether_ranges_lie_around_zero(quantize):
    _, path = quantize("--act_quantizer_schema", "symmetric", "--param_quantizer_schema", "symmetric")
    graph = graph_of(path)
    assert (graph.types["c2"].dtype, graph.types["c2"].encoding.offsets) == (DType.SFIXED_POINT_8, (0,))
    assert types(graph, "Conv2d", 1)[0].dtype == DType.SFIXED_POINT_8


def test_steps_are_restricted_where_asked(quantize):
    wide, narrow = (
        graph_of(quantize(*words)[1]).types["c2"].encoding.scales[0]
        for words in ([], ["--restrict_quantization_steps", "-0x40 0x3F"])
    )
    assert narrow == pytest.approx(wide * 255 / 127, rel=1e-3)


def test_relus_are_squashed_unless_that_is_disabled(quantize):
    same, own = (graph_of(quantize(*words)[1]) for words in ([], ["--disable_relu_squashing"]))
    assert same.types["c1"].encoding == same.types["r1"].encoding
    assert own.types["c1"].encoding != own.types["r1"].encoding


@pytest.mark.parametrize("flag", ["--algorithms", "--apply_algorithms"])
def test_channels_are_equalized_where_asked(quantize, truth, flag):
    answer, path = quantize(flag, "cle")
    assert (answer.code, "cle: equalized 1 chains" in answer.out) == (0, True)
    assert sqnr(truth, scores(path)) > 20


def test_ranges_are_searched_where_asked(quantize, truth):
    answer, path = quantize("--act_quantizer_calibration", "auto")
    assert (answer.code, "note: search: ranges " in answer.out) == (0, True)
    assert sqnr(truth, scores(path)) > 20


def test_inputs_and_outputs_stay_float_where_asked(quantize):
    for words, kept in (([], {"image", "scores"}), (["scores"], {"scores"})):
        graph = graph_of(quantize("--preserve_io_datatype", *words)[1])
        found = {name for name in ("image", "scores") if graph.types[name].dtype == DType.FLOAT_32}
        assert found == kept
    answer, _ = quantize("--preserve_io_datatype", "score")
    assert (answer.code, "did you mean 'scores'?" in answer.err) == (2, True)


def test_encodings_are_listed_where_asked(quantize, tmp_path):
    answer, path = quantize("--dump_encoding_json")
    listing = tmp_path / "net.quantized_encoding.json"
    assert f"wrote {listing}" in answer.out
    found = json.loads(listing.read_text("utf-8"))
    entries = {item["name"]: item for item in found["activation_encodings"]}
    assert {"image", "c1", "r1", "c2", "scores"} <= set(entries)
    assert entries["c2"]["scale"] == [pytest.approx(graph_of(path).types["c2"].encoding.scales[0], rel=1e-6)]
    assert "w1" in {item["name"] for item in found["param_encodings"]}


@pytest.mark.parametrize(("name", "written"), [("q.dlc", "q.dlc"), ("q", "q.dlc")])
def test_the_output_may_be_named(quantize, tmp_path, name, written):
    answer, _ = quantize("--output_dlc", tmp_path / "deep" / name)
    assert (answer.code, (tmp_path / "deep" / written).exists()) == (0, True)


def test_what_the_float_dlc_says_of_itself_stays(call, tmp_path):
    source = two_layers(tmp_path / "net.onnx")
    (tmp_path / "c.txt").write_text("Copyright me", "utf-8")
    assert (
        call(convert, "-i", source, "--model_version", "v7", "--copyright_file", tmp_path / "c.txt").code == 0
    )
    words = ("--input_dlc", tmp_path / "net.dlc", "--input_list", listed(tmp_path, inputs()))
    assert call(main, *words).code == 0
    found = reader.read(tmp_path / "net.quantized.dlc").description
    assert (found.model_version, found.copyright_text) == ("v7", "Copyright me")
    assert found.command.startswith("qairt-converter; ")
    assert found.quantizer_command.startswith("qairt-quantizer; act_bitwidth=8; ")
    assert str(tmp_path) not in found.quantizer_command


def test_the_same_data_gives_the_same_bytes(quantize):
    first = quantize()[1].read_bytes()
    assert quantize()[1].read_bytes() == first


@pytest.mark.parametrize("words", [[], ["--bias_bitwidth", "32", "--use_per_channel_quantization"]])
def test_what_is_read_back_is_written_in_the_same_bytes(quantize, words):
    _, path = quantize(*words)
    found = reader.read(path)
    assert b"".join(writer.to_chunks(found.graphs, found.description)) == path.read_bytes()


@pytest.fixture
def overridden(call, tmp_path):
    """A DLC that keeps encodings of two activations, and the float DLC's path."""
    source = two_layers(tmp_path / "net.onnx")
    encodings = {
        "r1": [{"bitwidth": 8, "min": 0.0, "max": 51.0}],
        "c2": [{"bitwidth": 16, "min": -4.0, "max": 4.0}],
    }
    (tmp_path / "o.json").write_text(
        json.dumps({"activation_encodings": encodings, "param_encodings": {}}), "utf-8"
    )
    assert call(convert, "-i", source, "--quantization_overrides", tmp_path / "o.json").code == 0
    return tmp_path / "net.dlc"


def test_encodings_that_the_dlc_keeps_are_used(call, overridden, tmp_path):
    data = listed(tmp_path, inputs())
    answer = call(main, "--input_dlc", overridden, "--input_list", data)
    assert (answer.code, "encodings: 4 from the file" in answer.out) == (0, True)
    graph = graph_of(tmp_path / "net.quantized.dlc")
    assert graph.types["r1"].encoding.scales[0] == pytest.approx(0.2)
    assert graph.types["c2"].dtype == DType.UFIXED_POINT_16


def test_encodings_that_the_dlc_keeps_may_be_ignored(call, overridden, tmp_path):
    data = listed(tmp_path, inputs())
    answer = call(main, "--input_dlc", overridden, "--input_list", data, "--ignore_encodings")
    assert (answer.code, "encodings: 0 from the file" in answer.out) == (0, True)
    assert graph_of(tmp_path / "net.quantized.dlc").types["c2"].dtype == DType.UFIXED_POINT_8


@pytest.mark.parametrize("flag", ["--float_fallback", "--floatFallback"])
def test_without_data_what_has_no_encoding_stays_float(quantize, truth, flag):
    answer, path = quantize(flag, data=False)
    assert (answer.code, "the DLC keeps no encodings: everything stays" in answer.out) == (0, True)
    np.testing.assert_allclose(scores(path, "cpu"), truth, rtol=1e-5, atol=1e-4)


class Samples(CalibrationDataReader):
    def __init__(self):
        self._left = iter([{"image": x} for x in inputs()])

    def get_next(self):
        return next(self._left, None)


@pytest.fixture
def trained(call, tmp_path):
    """The DLC of a network with QuantizeLinear and DequantizeLinear in it, beside qat.onnx."""
    quantize_static(two_layers(tmp_path / "net.onnx"), tmp_path / "qat.onnx", Samples())
    assert call(convert, "-i", tmp_path / "qat.onnx").code == 0
    return tmp_path / "qat.dlc"


def test_float_fallback_uses_the_encodings_of_qdq_nodes(call, trained, tmp_path):
    answer = call(main, "--input_dlc", trained, "--float_fallback", "--bias_bitwidth", "32")
    assert (answer.code, "0 ignored, 11 from the model" in answer.out) == (0, True)
    assert "in float" not in answer.out
    session = onnxruntime.InferenceSession(str(tmp_path / "qat.onnx"), providers=["CPUExecutionProvider"])
    want = np.concatenate([session.run(None, {"image": x})[0] for x in inputs()])
    assert sqnr(want, scores(tmp_path / "qat.quantized.dlc", "htp-sim-fast")) > 40
    assert sqnr(want, scores(tmp_path / "qat.quantized.dlc")) > 35


def test_a_scale_a_channel_replaces_the_encodings_of_qdq_nodes(call, trained, tmp_path):
    words = ("--input_list", listed(tmp_path, inputs()), "--use_per_channel_quantization")
    assert call(main, "--input_dlc", trained, *words).code == 0
    assert {t.encoding.axis for t in types(graph_of(tmp_path / "qat.quantized.dlc"), "Conv2d", 1)} == {3}


def test_batch_norms_are_remembered_for_high_biases(call, tmp_path):
    rng = np.random.default_rng(3)
    weights = {
        "w1": rng.normal(size=(4, 3, 3, 3)).astype(np.float32),
        "w2": rng.normal(size=(5, 4, 1, 1)).astype(np.float32),
        "b2": rng.normal(size=5).astype(np.float32),
        "gain": np.full(4, 0.2, np.float32),
        "shift": np.array([0, 5, 9, 0], np.float32),
        "mean": np.zeros(4, np.float32),
        "var": np.ones(4, np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c1", "gain", "shift", "mean", "var"], ["n1"]),
        helper.make_node("Relu", ["n1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["scores"]),
    ]
    shapes = [("image", models.FLOAT, [1, 3, 6, 6])], [("scores", models.FLOAT, [1, 5, 6, 6])]
    assert call(convert, "-i", models.save(tmp_path / "net.onnx", nodes, *shapes, weights)).code == 0
    _, done = equalize(graph_of(tmp_path / "net.dlc"))
    assert (len(done.absorbed), done.unabsorbed) == (1, {})
    words = ("--input_list", listed(tmp_path, inputs()), "--algorithms", "cle")
    answer = call(main, "--input_dlc", tmp_path / "net.dlc", *words)
    assert (answer.code, "note: cle: " in answer.out) == (0, True)
    assert "Invalid model for HBA" not in answer.out


@pytest.mark.parametrize("is_native", [False, True])
def test_scale_and_offset_of_the_io_configuration_stay(call, tmp_path, is_native):
    source = two_layers(tmp_path / "net.onnx")
    (tmp_path / "io.yaml").write_text(
        "Input Tensor Configuration:\n- Name: image\n"
        "  Src Model Parameters: {DataType: float32, Layout: NCHW}\n"
        "  Desired Model Parameters: {DataType: uint8, Layout: NHWC,\n"
        "    QuantParams: {Scale: 0.05, Offset: -100}}\n"
        "Output Tensor Configuration:\n- Name: scores\n  Src Model Parameters: {DataType: float32}\n"
        "  Desired Model Parameters: {DType: int8, QuantParams: {Scale: 1.5, Offset: 0}}\n",
        "utf-8",
    )
    assert call(convert, "-i", source, "--io_config", tmp_path / "io.yaml").code == 0
    arrays = [x.transpose(0, 2, 3, 1) for x in inputs()]
    if is_native:
        arrays = [(x / 0.05 + 100).round().clip(0, 255).astype(np.uint8) for x in arrays]
    words = ("--input_list", listed(tmp_path, arrays), *(["--use_native_input_files"] if is_native else []))
    answer = call(main, "--input_dlc", tmp_path / "net.dlc", *words)
    assert (answer.code, "2 from the file" in answer.out) == (0, True)
    graph = graph_of(tmp_path / "net.quantized.dlc")
    image, out = graph.types["image"], graph.types["scores"]
    assert (image.encoding.scales[0], image.encoding.offsets) == (pytest.approx(0.05), (-100,))
    assert (out.dtype, out.encoding.scales[0]) == (DType.SFIXED_POINT_8, 1.5)
    assert not {node.op.qnn_name() for node in graph.nodes} & {"Quantize", "Dequantize"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--input_list", "l.txt", "--float_fallback"], "'--input_list' and '--float_fallback' were given"),
        ([], "none of the options '--input_list' or '--float_fallback' was given"),
        (["--float_fallback", "--ignore_encodings"], "'--float_fallback' and '--ignore_encodings'"),
        *(
            (["--use_aimet_quantizer", *option], f"'--use_aimet_quantizer' and '{name}'")
            for name, *option in (
                ("--float_bitwidth", "--input_list", "l.txt", "--float_bitwidth", "16"),
                ("--float_bitwidth", "--input_list", "l.txt", "--float_bw", "16"),
                ("--float_bias_bitwidth", "--input_list", "l.txt", "--float_bias_bitwidth", "16"),
                ("--disable_relu_squashing", "--input_list", "l.txt", "--disable_relu_squashing"),
                ("--restrict_quantization_steps", "--input_list", "l", "--restrict_quantization_steps=-8 7"),
                ("--float_fallback", "--floatFallback"),
                ("--use_dynamic_16_bit_weights", "--input_list", "l.txt", "--use_dynamic_16_bit_weights"),
                ("--pack_4_bit_weights", "--input_list", "l.txt", "--pack_4_bit_weights"),
                ("--op_package_lib", "--input_list", "l.txt", "--op_package_lib", "a.so:p"),
            )
        ),
        (["--input_list", "l.txt", "--act_bitwidth", "3"], "has the value '3', expected one of: 8, 16"),
        (["--input_list", "l.txt", "--weights_bitwidth", "64"], "expected one of: 8, 4, 16"),
        (["--input_list", "l.txt", "--bias_bitwidth", "0"], "expected one of: 8, 32"),
        (["--input_list", "l.txt", "--act_quantizer_calibration", "max"], "expected one of: min-max, sqnr"),
        (["--input_list", "l.txt", "--act_quantizer_schema", "odd"], "one of: asymmetric, symmetric"),
        (["--input_list", "l.txt", "--restrict_quantization_steps", "0x7F -0x80"], "the smaller one first"),
        (["--input_list", "l.txt", "--algorithms", "magic"], "expected one of: cle, "),
    ],
)  # fmt: skip
def test_options_that_exclude_each_other_or_cannot_be_end_with_2(call, dlc, words, says):
    answer = call(main, "--input_dlc", dlc, *words)
    assert (answer.code, says in answer.err) == (2, True)


def test_four_bits_are_packed_where_asked(quantize, truth):
    plain, path = quantize("--weights_bitwidth", "4")
    before, answers = path.read_bytes(), scores(path)
    packed, path = quantize("--weights_bitwidth", "4", "--pack_4_bit_weights")
    assert (plain.code, packed.code) == (0, 0)
    weights = [t for op in ("Conv2d", "FullyConnected", "MatMul") for t in types(graph_of(path), op, 1)]
    assert {t.dtype for t in weights} == {DType.UFIXED_POINT_4}
    assert len(before) - path.stat().st_size > sum(np.prod(t.shape) for t in weights) // 2 - 100
    np.testing.assert_array_equal(scores(path), answers)
    found = reader.read(path)
    assert b"".join(writer.to_chunks(found.graphs, found.description)) == path.read_bytes()


def test_products_of_activations_get_16_bits_where_asked(call, tmp_path):
    nodes = [
        helper.make_node("Relu", ["a"], ["p"], name="left"),
        helper.make_node("Tanh", ["b"], ["q"], name="right"),
        helper.make_node("MatMul", ["p", "q"], ["m"], name="product"),
        helper.make_node("Sigmoid", ["m"], ["y"], name="end"),
    ]
    io = [(name, models.FLOAT, [2, 2]) for name in ("a", "b")], [("y", models.FLOAT, [2, 2])]
    assert call(convert, "-i", models.save(tmp_path / "net.onnx", nodes, *io)).code == 0
    np.arange(4, dtype=np.float32).tofile(tmp_path / "0.raw")
    (tmp_path / "list.txt").write_text(f"a:={tmp_path}/0.raw b:={tmp_path}/0.raw\n")
    words = ("--input_dlc", tmp_path / "net.dlc", "--input_list", tmp_path / "list.txt")

    def widths(*more):
        assert call(main, *words, *more).code == 0
        graph = graph_of(tmp_path / "net.quantized.dlc")
        node = next(node for node in graph.nodes if node.op.qnn_name() == "MatMul")
        product = [graph.types[value].dtype.bits for value in (*node.inputs[:2], *node.outputs)]
        return product, graph.types["a"].dtype.bits

    assert widths() == ([8, 8, 8], 8)
    assert widths("--use_dynamic_16_bit_weights") == ([16, 16, 16], 8)


def test_a_dlc_of_several_graphs_is_refused(call, dlc, tmp_path):
    found = reader.read(dlc)
    twice = [found.graphs[0], replace(found.graphs[0], name="other")]
    dlc.write_bytes(b"".join(writer.to_chunks(twice, found.description)))
    answer = call(main, "--input_dlc", dlc, "--input_list", listed(tmp_path, inputs()))
    assert (answer.code, "the DLC holds 2 graphs ('net', 'other'), expected one" in answer.err) == (4, True)


def test_an_op_package_that_is_not_there_is_one_error(quantize):
    answer, path = quantize("--op_package_lib", "a.so:p")
    assert (answer.code, "a.so" in answer.err) == (3, True)
    assert not path.exists()


def test_options_without_effect_are_warned_of(quantize):
    answer, _ = quantize("--use_native_output_files")
    assert "--use_native_output_files has no effect" in answer.err
    answer, _ = quantize("--float_fallback", "--act_bitwidth", "16", data=False)
    assert "without --input_list these options have no effect: --act_bitwidth" in answer.err


def test_a_quantized_dlc_is_not_quantized_again(call, quantize, tmp_path):
    _, path = quantize()
    answer = call(main, "--input_dlc", path, "--input_list", tmp_path / "list.txt")
    assert (answer.code, "the DLC is quantized already" in answer.err) == (3, True)


@pytest.mark.parametrize(("name", "code"), [("net.onnx", 2), ("missing.dlc", 3)])
def test_anything_but_a_dlc_is_an_error(call, dlc, tmp_path, name, code):
    answer = call(main, "--input_dlc", tmp_path / name, "--float_fallback")
    assert answer.code == code


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"x" * 100])
def test_a_damaged_dlc_is_one_message(call, tmp_path, content):
    (tmp_path / "bad.dlc").write_bytes(content)
    answer = call(main, "--input_dlc", tmp_path / "bad.dlc", "--float_fallback")
    assert (answer.code, answer.err.startswith("error[")) == (3, True)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.dlc"]


def test_layers_stand_before_tensors_in_the_list(call, dlc, tmp_path):
    data = listed(tmp_path, inputs())
    body = data.read_text("utf-8")
    data.write_text("%c2\n#first\n" + body, "utf-8")
    answer = call(main, "--input_dlc", dlc, "--input_list", data)
    assert (answer.code, "line 2" in answer.err) == (2, True)
    data.write_text("#first\n%c2\n" + body, "utf-8")
    answer = call(main, "--input_dlc", dlc, "--input_list", data)
    assert (answer.code, "all activations are calibrated" in answer.out) == (0, True)


def test_names_with_colons_are_names(call, tmp_path):
    nodes = [helper.make_node("Add", ["onnx::Add_0", "b:0"], ["y"])]
    io = [(name, models.FLOAT, [1, 4]) for name in ("onnx::Add_0", "b:0", "y")]
    assert call(convert, "-i", models.save(tmp_path / "net.onnx", nodes, io[:2], io[2:])).code == 0
    np.ones((1, 4), np.float32).tofile(tmp_path / "a.raw")
    (tmp_path / "list.txt").write_text(f"b:0:={tmp_path}/a.raw onnx::Add_0:={tmp_path}/a.raw\n", "utf-8")
    answer = call(main, "--input_dlc", tmp_path / "net.dlc", "--input_list", tmp_path / "list.txt")
    assert answer.code == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_is_not_finite_is_one_error(call, dlc, tmp_path, bad):
    arrays = inputs()
    arrays[2][0, 0, 0, 0] = bad
    answer = call(main, "--input_dlc", dlc, "--input_list", listed(tmp_path, arrays))
    assert (answer.code, "expected finite numbers" in answer.err) == (3, True)
    assert not (tmp_path / "net.quantized.dlc").exists()


def test_data_of_another_size_is_one_error(call, dlc, tmp_path):
    data = listed(tmp_path, [x[:, :2] for x in inputs()])
    answer = call(main, "--input_dlc", dlc, "--input_list", data)
    assert answer.code == 3
    assert not (tmp_path / "net.quantized.dlc").exists()

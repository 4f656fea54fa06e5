"""qnn-onnx-converter quantizes: options, files, contract, and the quantized model in qnn-net-run."""

import json

import numpy as np
import onnxruntime
import pytest

import edgewright as ew
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.qnn_onnx_converter import main
from tests.cli import models
from tests.cli.models import DIGITS_MODEL

OUTPUT = "Plus214_Output_0"
FIXED_8, FIXED_16, SIGNED_8, SIGNED_32 = 1032, 1046, 776, 818


@pytest.fixture(scope="module")
def digits():
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        return stored["images"].astype(np.float32), stored["labels"]


@pytest.fixture(scope="module")
def listed(digits, tmp_path_factory):
    """A list of 25 digits; one channel has the same order in NCHW and NHWC."""
    folder = tmp_path_factory.mktemp("calibration")
    for number, image in enumerate(digits[0][::20]):
        image.tofile(folder / f"{number}.raw")
    (folder / "list.txt").write_text("".join(f"{number}.raw\n" for number in range(25)))
    return folder / "list.txt"


def tensors(path):
    return json.loads(path.read_text("utf-8"))["graph"]["tensors"]


def convert(call, tmp_path, *words):
    answer = call(main, "-i", DIGITS_MODEL, "-o", tmp_path / "m.cpp", *words)
    assert answer.code == 0, answer.err
    return answer


def kinds(path):
    """Datatypes of graph inputs and outputs, weights of convolutions and biases."""
    found = tensors(path)
    io = {t["data_type"] for t in found.values() if t["type"] in (0, 1)}
    static = {t["data_type"] for t in found.values() if t["type"] == 4}
    return io, static


def test_the_defaults_are_the_guides_eight_bits_everywhere_and_one_encoding_a_tensor(call, listed, tmp_path):
    answer = convert(call, tmp_path, "--input_list", listed)
    found = tensors(tmp_path / "m_net.json")
    used = [t for t in found.values() if t["quant_params"]["definition"] == 1]
    assert {t["data_type"] for t in used} == {FIXED_8}
    assert {t["quant_params"]["encoding"] for t in used} == {0}
    assert "encodings: 0 from the file, 15 calibrated, 0 ignored" in answer.out
    assert "clamp-in-producer" in answer.out
    assert "float32 became ufixed_point_8 for 'Input3', 'Plus214_Output_0'" in answer.out


def test_the_contract_shows_scales_and_offsets(call, listed, tmp_path):
    answer = convert(call, tmp_path, "--input_list", listed, "--json")
    io = {item["name"]: item for item in json.loads(answer.out)["contract"]}
    stored = tensors(tmp_path / "m_net.json")["Input3"]["quant_params"]["scale_offset"]
    assert io["Input3"]["scale"] == pytest.approx(stored["scale"])
    assert io["Input3"]["offset"] == stored["offset"] == 0
    table = convert(call, tmp_path, "--input_list", listed).out.splitlines()
    assert table[1].split()[-2:] == ["scale", "offset"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--act_bw", "16"], ({FIXED_16}, {FIXED_8})),
        (["--act_bw", "16", "--bias_bw", "32"], ({FIXED_16}, {FIXED_8, SIGNED_32})),
        (["--weight_bw", "4", "--param_quantizer", "symmetric"], ({FIXED_8}, {SIGNED_8, FIXED_8})),
        (["--use_per_channel_quantization"], ({FIXED_8}, {SIGNED_8, FIXED_8})),
        (["--use_per_channel_quantization", "false"], ({FIXED_8}, {FIXED_8})),
        (["--use_per_row_quantization", "true"], ({FIXED_8}, {SIGNED_8, FIXED_8})),
        (["--act_quantizer", "symmetric"], ({SIGNED_8}, {FIXED_8})),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_widths_and_grids_are_those_that_were_asked_for(call, listed, tmp_path, words, wanted):
    convert(call, tmp_path, "--input_list", listed, *words)
    io, static = kinds(tmp_path / "m_net.json")
    assert io == wanted[0]
    # Integers that are parameters (pads, shapes) stay what they are.
    assert {code for code in static if code in (FIXED_8, FIXED_16, SIGNED_8, SIGNED_32)} == wanted[1]


@pytest.mark.parametrize("scheme", ["tf", "enhanced", "adjusted", "symmetric"])
def test_every_quantizer_reads_digits(call, digits, listed, tmp_path, scheme):
    words = ("--act_quantizer", scheme, "--param_quantizer", scheme)
    answer = convert(call, tmp_path, "--input_list", listed, *words)
    assert ("is for weights: activations cover all" in answer.out) == (scheme == "adjusted")
    model = ew.load(tmp_path / "m_net.json")
    images, labels = digits[0][7::10], digits[1][7::10]
    found = [
        model.run({"Input3": x.reshape(1, 28, 28, 1)}, backend="htp-sim")[OUTPUT].argmax() for x in images
    ]
    assert np.mean(np.array(found) == labels) > 0.93


def test_ranges_are_searched_where_asked(call, listed, tmp_path):
    answer = convert(call, tmp_path, "--input_list", listed, "--act_quantizer", "auto")
    assert (answer.code, "search: ranges " in answer.out) == (0, True)


def test_algorithms_say_what_they_did(call, listed, tmp_path):
    answer = convert(call, tmp_path, "--input_list", listed, "--algorithms", "cle", "bc")
    assert "note: cle: " in answer.out
    assert "note: bc: " in answer.out
    assert "held apart" in answer.out


def test_restricted_steps_narrow_the_range(call, listed, tmp_path):
    convert(call, tmp_path, "--input_list", listed)
    before = tensors(tmp_path / "m_net.json")["Input3"]["quant_params"]["scale_offset"]["scale"]
    convert(call, tmp_path, "--input_list", listed, "--restrict_quantization_steps", "-0x40 0x3F")
    after = tensors(tmp_path / "m_net.json")["Input3"]["quant_params"]["scale_offset"]["scale"]
    assert after == pytest.approx(before * 255 / 127, rel=1e-4)


def test_preserved_inputs_and_outputs_stay_float(call, digits, listed, tmp_path):
    answer = convert(call, tmp_path, "--input_list", listed, "--preserve_io")
    found = tensors(tmp_path / "m_net.json")
    assert {found["Input3"]["data_type"], found[OUTPUT]["data_type"]} == {0x0232}
    assert found["Input3"]["dims"] == [1, 1, 28, 28]
    assert "became" not in answer.out
    model = ew.load(tmp_path / "m_net.json")
    feed = {"Input3": digits[0][:1, None]}
    assert model.run(feed, backend="htp-sim")[OUTPUT].argmax() == digits[1][0]


def test_an_opaque_input_stays_float(call, listed, tmp_path):
    convert(call, tmp_path, "--input_list", listed, "--input_type", "Input3", "opaque")
    found = tensors(tmp_path / "m_net.json")
    assert (found["Input3"]["data_type"], found[OUTPUT]["data_type"]) == (0x0232, FIXED_8)


def overrides(path, **entries):
    content = {"activation_encodings": entries, "param_encodings": {}}
    path.write_text(json.dumps(content))
    return path


def test_overrides_come_before_what_is_calibrated(call, listed, tmp_path):
    file = overrides(tmp_path / "o.json", Input3=[{"bitwidth": 8, "min": 0.0, "max": 510.0}])
    answer = convert(call, tmp_path, "--input_list", listed, "--quantization_overrides", file)
    found = tensors(tmp_path / "m_net.json")["Input3"]["quant_params"]["scale_offset"]
    assert found["scale"] == pytest.approx(2.0)
    assert "encodings: 1 from the file," in answer.out


def test_overrides_alone_count_as_float_fallback(call, tmp_path):
    file = overrides(tmp_path / "o.json", **{OUTPUT: [{"bitwidth": 8, "min": -1e4, "max": 1e4}]})
    answer = convert(call, tmp_path, "--quantization_overrides", file)
    assert "--quantization_overrides without --input_list counts as --float_fallback" in answer.out
    assert "tensors in float" in answer.out
    assert convert(call, tmp_path, "--quantization_overrides", file, "--float_fallback").code == 0


def test_a_fallback_without_any_encoding_says_that_all_stays_float(call, tmp_path):
    answer = convert(call, tmp_path, "--float_fallback")
    assert "note: there are no encodings: everything stays in floating point" in answer.out


def test_a_half_precision_fallback_leaves_no_float32(call, tmp_path):
    file = overrides(tmp_path / "o.json", Input3=[{"bitwidth": 8, "min": 0.0, "max": 255.0}])
    convert(call, tmp_path, "--quantization_overrides", file, "--float_bw", "16")
    kinds_found = {t["data_type"] for t in tensors(tmp_path / "m_net.json").values()}
    assert 0x0216 in kinds_found
    assert 0x0232 not in kinds_found


@pytest.fixture
def trained(digits, tmp_path):
    """The digit classifier with QuantizeLinear and DequantizeLinear in it."""
    return ew.quantize(DIGITS_MODEL, digits[0][::10, None]).save(tmp_path / "trained.onnx").onnx


def test_encodings_of_a_trained_model_are_kept_replaced_or_ignored(call, trained, listed, tmp_path):
    def said(*words):
        answer = call(main, "-i", trained, "-o", tmp_path / "m.cpp", *words)
        assert answer.code == 0, answer.err
        return answer.out

    assert " from the model" in said("--float_fallback")
    assert " from the model" in said("--input_list", listed)
    assert " from the model" not in said("--input_list", listed, "--ignore_encodings")
    kept = said("--input_list", listed, "--keep_quant_nodes")
    kinds_of_nodes = [
        n["type"] for n in json.loads((tmp_path / "m_net.json").read_text())["graph"]["nodes"].values()
    ]
    assert "Quantize" in kinds_of_nodes
    assert kept


def test_a_quantized_model_of_a_trained_one_computes_the_same(call, trained, digits, tmp_path):
    assert call(main, "-i", trained, "-o", tmp_path / "m.cpp", "--float_fallback").code == 0
    model = ew.load(tmp_path / "m_net.json")
    session = onnxruntime.InferenceSession(str(trained), providers=["CPUExecutionProvider"])
    step = tensors(tmp_path / "m_net.json")[OUTPUT]["quant_params"]["scale_offset"]["scale"]
    for image in digits[0][:10]:
        wanted = session.run(None, {"Input3": image[None, None]})[0]
        found = model.run({"Input3": image.reshape(model.inputs[0].shape)}, backend="htp-sim")[OUTPUT]
        assert np.abs(found - wanted).max() <= step * 1.001


@pytest.mark.parametrize("backend", ["libQnnHtp.so", "libQnnCpu.so"])
def test_net_run_takes_floats_and_gives_floats(call, digits, listed, tmp_path, backend):
    convert(call, tmp_path, "--input_list", listed, "--use_per_channel_quantization")
    words = ("--model", tmp_path / "m_net.json", "--backend", backend, "--input_list", listed)
    answer = call(net_run, *words, "--output_dir", tmp_path / "out")
    assert answer.code == 0
    assert ("on backend htp (" in answer.out) == (backend == "libQnnHtp.so")
    assert ("CPU backend does not run quantized models" in answer.out) == (backend == "libQnnCpu.so")
    found = [
        np.fromfile(tmp_path / "out" / f"Result_{n}" / f"{OUTPUT}.raw", np.float32).argmax()
        for n in range(25)
    ]
    assert np.mean(np.array(found) == digits[1][::20]) > 0.9
    answer = call(net_run, *words, "--output_dir", tmp_path / "native", "--use_native_output_files")
    stored = np.fromfile(tmp_path / "native" / "Result_0" / f"{OUTPUT}_native.raw", np.uint8)
    assert stored.shape == (10,)
    assert stored.argmax() == found[0]


def test_native_files_hold_the_types_of_the_model(call, tmp_path):
    source = models.token_net(tmp_path / "tokens.onnx")
    np.int32([1, 2, 3, 4, 5]).tofile(tmp_path / "native.raw")
    np.float32([1, 2, 3, 4, 5]).tofile(tmp_path / "float.raw")
    np.int64([1, 2, 3, 4, 5]).tofile(tmp_path / "wide.raw")
    for name in ("native", "float", "wide"):
        (tmp_path / f"{name}.txt").write_text(f"{name}.raw\n")

    def code(name, *words):
        return call(
            main, "-i", source, "-o", tmp_path / "m", "--input_list", tmp_path / f"{name}.txt", *words
        ).code

    assert code("float") == 0
    assert code("native", "--use_native_input_files") == 0
    assert code("native", "--use_native_dtype") == 0
    assert code("wide", "--preserve_io") == 0
    assert code("wide") == 3


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (None, 3, "does not exist"),
        ("", 3, "names no files"),
        ("gone.raw\n", 3, "gone.raw' does not exist"),
        ("short.raw\n", 3, "8 bytes, expected 3136 for float32 [1, 28, 28, 1]"),
        ("nan.raw\n", 3, "784 times NaN"),
        ("inf.raw\n", 3, "784 times infinity"),
        ("Input4:=nan.raw\n", 2, "input 'Input4' is not in the model"),
        ("nan.raw nan.raw\n", 3, "2 files are given for 1 inputs"),
    ],
)
def test_calibration_data_that_does_not_fit_is_one_clear_error(call, tmp_path, content, code, words):
    np.zeros(2, np.float32).tofile(tmp_path / "short.raw")
    np.full(784, np.nan, np.float32).tofile(tmp_path / "nan.raw")
    np.full(784, np.inf, np.float32).tofile(tmp_path / "inf.raw")
    if content is not None:
        (tmp_path / "list.txt").write_text(content)
    answer = call(main, "-i", DIGITS_MODEL, "-o", tmp_path / "m", "--input_list", tmp_path / "list.txt")
    assert (answer.code, words in answer.err) == (code, True), answer.err
    assert not list(tmp_path.glob("m*"))


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("{", 3, "JSON"),
        ('{"activation_encodings": {}}', 3, "no 'param_encodings'"),
        ('{"param_encodings": {}, "activation_encodings": {"x": {"bitwidth": 8, "scale": 0}}}', 3, "is 0.0"),
        ('{"param_encodings": {}, "activation_encodings": {"Inpt3": {"bitwidth": 8}}}', 2, "'Input3'"),
        ('{"param_encodings": {}, "activation_encodings": {"Input3": {"bitwidth": 3}}}', 2, "3 bits"),
    ],
    ids=["json", "section", "scale", "name", "width"],
)
def test_overrides_that_do_not_fit_are_one_clear_error(call, tmp_path, content, code, words):
    (tmp_path / "o.json").write_text(content)
    answer = call(
        main, "-i", DIGITS_MODEL, "-o", tmp_path / "m", "--quantization_overrides", tmp_path / "o.json"
    )
    assert (answer.code, words in answer.err) == (code, True), answer.err
    assert not list(tmp_path.glob("m*"))


def test_quantizer_options_without_data_say_that_they_do_nothing(call, tmp_path):
    answer = convert(call, tmp_path, "--act_bw", "16")
    assert "these options have no effect: --act_bw" in answer.err
    answer = convert(call, tmp_path, "--use_native_output_files")
    assert "option --use_native_output_files has no effect: a converter writes no outputs" in answer.err


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (("--param_quantizer", "symmetric", "weights"), ("--param_quantizer", "symmetric")),
        (("--param_quantizer", "symmetric", "activations"), ("--act_quantizer", "symmetric")),
        (("--act_quantizer", "enhanced", "activations"), ("--act_quantizer", "enhanced")),
        (
            ("--param_quantizer", "symmetric", "weights", "activations"),
            ("--param_quantizer", "symmetric", "--act_quantizer", "symmetric"),
        ),
    ],
)
def test_what_a_quantizer_is_for_may_stand_behind_its_name(call, tmp_path, listed, words, same):
    written = []
    for spelling in (words, same):
        answer = convert(call, tmp_path, "--input_list", listed, *spelling)
        assert answer.code == 0, answer.err
        written.append((tmp_path / "m_net.json").read_text().partition('"converter_command"')[0])
    assert written[0] == written[1]


@pytest.mark.parametrize(
    "words", [(), ("--use_per_channel_quantization", "--act_bw", "16", "--bias_bw", "32")], ids=str
)
@pytest.mark.parametrize("is_calibrated", [True, False])
def test_encodings_that_were_dumped_give_the_same_model_as_overrides(
    call, tmp_path, listed, words, is_calibrated
):
    data = ("--input_list", listed)
    convert(call, tmp_path, *data, *words, "--dump_encoding_json")
    (tmp_path / "m_encoding.json").rename(tmp_path / "o.json")
    first = (tmp_path / "m.bin").read_bytes(), read_stored(tmp_path / "m_net.json")
    again = data if is_calibrated else ("--float_fallback",)
    convert(call, tmp_path, *again, *words, "--quantization_overrides", tmp_path / "o.json")
    assert ((tmp_path / "m.bin").read_bytes(), read_stored(tmp_path / "m_net.json")) == first


def read_stored(path):
    """The tensors without what says where an encoding is from."""
    found = tensors(path)
    for tensor in found.values():
        tensor["quant_params"].pop("is_overridden", None)
    return found


def test_a_graph_is_simplified_unless_that_takes_away_what_overrides_name(call, tmp_path, listed):
    counts = {}
    for name in ("Plus214_Output_0", "Times212_Output_0"):
        entry = {name: [{"bitwidth": 8, "min": -9.0, "max": 9.0}]}
        (tmp_path / "o.json").write_text(json.dumps({"activation_encodings": entry, "param_encodings": {}}))
        convert(call, tmp_path, "--input_list", listed, "--quantization_overrides", tmp_path / "o.json")
        assert tensors(tmp_path / "m_net.json")[name]["quant_params"]["scale_offset"]["maximum"] < 9.1
        counts[name] = len(json.loads((tmp_path / "m_net.json").read_text())["graph"]["nodes"])
    # The product is summed up in one op where nothing names it.
    assert counts["Plus214_Output_0"] < counts["Times212_Output_0"]

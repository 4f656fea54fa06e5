"""`edgewright quantize`: files, sizes, figures against the float model, errors."""

import json

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from PIL import Image

import edgewright as ew
from edgewright.tools.quantize_command import main
from edgewright.tools.umbrella import main as umbrella
from tests.cli import models
from tests.cli.models import DIGITS_MODEL

OUTPUT = "Plus214_Output_0"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """100 digits in an .npz file."""
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        path = tmp_path_factory.mktemp("data") / "digits.npz"
        np.savez(path, Input3=stored["images"][::5, None].astype(np.float32), labels=stored["labels"][::5])
    return path


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "mnist.onnx"
    path.write_bytes(DIGITS_MODEL.read_bytes())
    return path


@pytest.mark.parametrize(
    ("precision", "limits"),
    [("w8a8", (30, 3.5)), ("w8a16", (30, 3.5)), ("w4a8", (15, 3.5)), ("w4a16", (15, 3.5)), ("fp16", (60, 2))],
)
def test_every_precision_says_what_it_costs_and_what_it_saves(call, model, data, precision, limits):
    sqnr, smaller = limits
    answer = call(main, model, "--data", data, "--precision", precision, "--json")
    assert answer.code == 0, answer.err
    done = json.loads(answer.out)
    (found,) = done["differences"]
    assert (done["precision"], found["output"], found["samples"]) == (precision, OUTPUT, 100)
    assert found["sqnr_db"] > sqnr
    assert found["top1"]["share"] >= 0.97
    assert found["top1"]["low"] < found["top1"]["share"]
    assert done["weights_before"] >= smaller * done["weights_after"]
    written = model.parent / f"mnist_{precision}.dlc"
    assert done["files"]["paths"] == [str(written)]
    assert done["bytes_written"] == written.stat().st_size
    assert ew.load(written).inputs[0].name == "Input3"


def test_four_bits_are_packed_where_the_file_can_hold_them(call, model, data, tmp_path):
    def done(name):
        words = ("--data", data, "--precision", "w4a8", "-o", tmp_path / name, "--json")
        words += ("--act_quantizer", "tf")
        return json.loads(call(main, model, *words).out)

    onnx, dlc = done("q.onnx"), done("q.dlc")
    assert onnx["weights_before"] > 7 * onnx["weights_after"]
    assert not onnx["notes"]
    assert "4-bit weights take a byte each in this kind of file" in dlc["notes"][0]


def test_the_page_shows_contract_figures_and_sizes(call, model, data):
    answer = call(umbrella, "quantize", model, "--data", data)
    assert answer.code == 0
    assert "input   Input3            ufixed_point_8" in answer.out
    assert "w8a8 on htp (simulation) against the float model, 100 samples:" in answer.out
    assert "encodings: 0 from the file, 16 calibrated, 0 ignored" in answer.out
    assert "weights: 24 kB before, " in answer.out


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("q.dlc", ["q.dlc"]),
        ("q.cpp", ["q.bin", "q.cpp", "q_net.json"]),
        ("q.onnx", ["q.onnx"]),
        ("q", ["q.dlc"]),
        ("folder/", ["mnist_w8a8.dlc"]),
    ],
)
def test_the_name_of_the_output_chooses_its_kind(call, model, data, tmp_path, name, written):
    target = tmp_path / "out"
    (target / "folder").mkdir(parents=True)
    assert call(main, model, "--data", data, "-o", target / name).code == 0
    folder = target / "folder" if name == "folder/" else target
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == written


def test_the_onnx_file_runs_in_onnx_runtime(call, model, data, tmp_path):
    assert call(main, model, "--data", data, "-o", tmp_path / "q.onnx").code == 0
    session = onnxruntime.InferenceSession(str(tmp_path / "q.onnx"), providers=["CPUExecutionProvider"])
    with np.load(data) as stored:
        found = [session.run(None, {"Input3": x[None]})[0].argmax() for x in stored["Input3"][:20]]
        assert np.mean(np.array(found) == stored["labels"][:20]) > 0.9


def test_a_converted_model_is_quantized_too(call, digits, data, tmp_path):
    with np.load(data) as stored:
        np.savez(tmp_path / "last.npz", Input3=stored["Input3"].transpose(0, 2, 3, 1))
    answer = call(main, digits, "--data", tmp_path / "last.npz", "-o", tmp_path / "q.dlc")
    assert answer.code == 0, answer.err
    assert ew.load(tmp_path / "q.dlc").inputs[0].shape == (1, 28, 28, 1)


def test_open_dimensions_are_fixed_by_options(call, tmp_path):
    source = models.image_net(tmp_path / "image.onnx")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((4, 3, 6, 6), np.float32))
    assert call(main, source, "--data", tmp_path / "x.npy", "-b", "2").code == 0
    assert ew.load(tmp_path / "image_w8a8.dlc").inputs[0].shape == (2, 3, 6, 6)


def test_the_model_itself_is_not_written_over(call, model, data, digits):
    before = model.read_bytes()
    answer = call(main, model, "--data", data, "-o", model)
    assert answer.code == 2
    assert "would be overwritten, it is a file of the model that is read" in answer.err
    assert model.read_bytes() == before
    assert call(main, digits, "--data", data, "-o", digits.with_name("digits.cpp")).code == 2


def test_options_without_effect_are_said_and_what_is_done_to_arrays(call, model, data):
    answer = call(main, model, "--precision", "fp16", "--algorithms", "cle", "--act_quantizer", "mse")
    assert "note: --act_quantizer and --algorithms have no effect: half precision has no ranges" in answer.out
    answer = call(main, model, "--data", data, "--mean", "127.5", "--act_quantizer", "tf")
    assert "(value * 1 - mean) / std, mean 127.5, std 1" in answer.out


def open_net(path):
    io = [("x", models.FLOAT, ["n", 4, "length"])], [("y", models.FLOAT, ["n", 4, "length"])]
    return models.save(path, [helper.make_node("Relu", ["x"], ["y"], name="relu")], *io)


def test_open_dimensions_have_the_sizes_of_the_samples_and_that_is_said(call, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((5, 4, 7), np.float32))
    answer = call(main, open_net(tmp_path / "m.onnx"), "--data", tmp_path / "x.npy")
    assert answer.code == 0, answer.err
    assert (
        "note: open dimensions have the sizes of the samples: length = 7; --define_symbol chooses"
        in answer.out
    )
    assert ew.load(tmp_path / "m_w8a8.dlc").inputs[0].shape == (1, 4, 7)


def test_samples_of_different_sizes_do_not_fix_open_dimensions(call, tmp_path):
    (tmp_path / "data").mkdir()
    for size in (7, 8):
        np.save(tmp_path / "data" / f"{size}.npy", np.ones((1, 4, size), np.float32))
    answer = call(main, open_net(tmp_path / "m.onnx"), "--data", tmp_path / "data")
    assert answer.code == 3
    assert "'length' is 7 in the first and 8 in sample 1, expected one size" in answer.err
    assert not (tmp_path / "m_w8a8.dlc").exists()


def test_a_qdq_model_keeps_its_open_dimensions(call, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((5, 4, 7), np.float32))
    source = open_net(tmp_path / "m.onnx")
    assert call(main, source, "--data", tmp_path / "x.npy", "-o", tmp_path / "q.onnx").code == 0
    session = onnxruntime.InferenceSession(tmp_path / "q.onnx")
    assert session.run(None, {"x": np.ones((2, 4, 9), np.float32)})[0].shape == (2, 4, 9)


def test_a_model_that_cannot_be_quantized_says_so(call, tmp_path):
    rng = np.random.default_rng(0)
    weights = {name: rng.random((1, 8, 2), np.float32) for name in ("w", "r")}
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2, name="lstm")
    io = [("x", models.FLOAT, [3, 1, 2])], [("y", models.FLOAT, [3, 1, 1, 2])]
    source = models.save(tmp_path / "m.onnx", [node], *io, weights)
    np.save(tmp_path / "x.npy", rng.random((5, 3, 1, 2), np.float32))
    answer = call(main, source, "--data", tmp_path / "x.npy")
    assert answer.code == 0, answer.err
    assert "nothing of it can be in fixed point: it is in half precision" in answer.out
    assert "against the float model, 5 samples:" in answer.out


def test_learned_rounding_is_asked_for_and_said(call, model, data):
    words = ("--precision", "w4a8", "--act_quantizer", "tf", "--algorithms", "seq_mse", "adaround")
    answer = call(main, model, "--data", data, *words)
    assert answer.code == 0
    assert "adaround: fitted the weights of 3 layers" in answer.out
    assert "note: algorithms: " in answer.out


def test_algorithms_schemes_and_overrides_reach_the_quantizer(call, model, data, tmp_path):
    (tmp_path / "o.json").write_text(
        '{"activation_encodings": {"Input3": {"bitwidth": 8, "min": 0, "max": 510}}, "param_encodings": {}}'
    )
    words = ("--algorithms", "bc", "--act_quantizer", "mse", "--quantization_overrides", tmp_path / "o.json")
    answer = call(main, model, "--data", data, *words, "--json")
    done = json.loads(answer.out)
    assert done["contract"][0]["scale"] == pytest.approx(2.0)
    # The input, and the same values in another shape.
    assert "2 from the file" in done["coverage"]
    assert any(note.startswith("bc: ") for note in done["notes"])


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, "option '--data' is missing"),
        (["--data", "gone"], 3, "'gone' does not exist"),
        (["--data", "DATA", "--precision", "w3a8"], 2, "expected one of: w8a8, w8a16, w4a8, w4a16, fp16"),
        (["--data", "DATA", "--algorithms", "magic"], 2, "expected one of: cle, "),
        (["--data", "DATA", "-o", "MODEL/q.dlc"], 2, "is a file, expected a folder"),
    ],
)
def test_mistakes_are_one_clear_error_and_nothing_is_written(call, model, data, words, code, says):
    spelled = [word.replace("DATA", str(data)).replace("MODEL", str(model)) for word in words]
    answer = call(main, model, *spelled)
    assert (answer.code, says in answer.err) == (code, True), answer.err
    assert list(model.parent.iterdir()) == [model]


def test_a_model_that_does_not_exist_is_a_bad_input(call, tmp_path, data):
    answer = call(main, tmp_path / "gone.onnx", "--data", data)
    assert (answer.code, "does not exist" in answer.err) == (3, True)


def test_a_folder_of_images_is_enough(call, model, tmp_path):
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        for number, image in enumerate(stored["images"][:20]):
            (tmp_path / "images").mkdir(exist_ok=True)
            Image.fromarray(image).resize((56, 56)).save(tmp_path / "images" / f"{number}.png")
    answer = call(main, model, "--data", tmp_path / "images", "--act_quantizer", "tf")
    assert answer.code == 0, answer.err
    said = "28 high and 28 wide, grey, NCHW, (pixel - mean) / std with pixels 0 to 255, mean 0, std 1"
    assert said in " ".join(answer.out.split())
    assert "against the float model, 20 samples:" in answer.out


def test_images_are_prepared_as_options_say(call, tmp_path):
    net = models.image_net(tmp_path / "net.onnx")
    (tmp_path / "images").mkdir()
    Image.new("RGB", (9, 9), (255, 0, 0)).save(tmp_path / "images" / "red.png")
    words = (
        "-b",
        1,
        "--data",
        tmp_path / "images",
        "--color",
        "bgr",
        "--layout",
        "NCHW",
        "--act_quantizer",
        "tf",
    )
    answer = call(main, net, *words, "--mean", 0, 0, 55, "--std", 100, "-o", tmp_path / "q.dlc")
    assert answer.code == 0, answer.err
    (found,) = ew.load(tmp_path / "q.dlc").inputs
    encoding = ew.load(tmp_path / "q.dlc").graph.types[found.name].encoding
    assert encoding.scales[0] * 255 == pytest.approx(2.0, rel=1e-3)


def test_the_digits_of_the_project_work_as_they_are(call, model):
    digits = DIGITS_MODEL.parents[1] / "data" / "digits.npz"
    answer = call(main, model, "--data", digits, "--act_quantizer", "tf")
    assert answer.code == 0, answer.err
    assert "'images' [500, 28, 28] is the only one that fits" in " ".join(answer.out.split())

"""ew.quantize: from a float model and data to one in fixed point."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.core.errors import BadInput, ShapeMismatch, TypeMismatch, UnsupportedFeature, UsageError
from tests.cli.models import DIGITS_MODEL, save, two_inputs

INPUT, OUTPUT = "Input3", "Plus214_Output_0"


@pytest.fixture(scope="module")
def model():
    return ew.convert(DIGITS_MODEL)


@pytest.fixture(scope="module")
def digits():
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        return stored["images"].astype(np.float32)[:, None], stored["labels"]


def score(model, images, labels):
    found = [model.run({INPUT: image[None]}, backend="htp-sim")[OUTPUT].argmax() for image in images]
    return np.mean(np.array(found) == labels)


def encoding_of(model, name):
    return model.graph.types[name].encoding


def test_the_function_is_there_whether_its_package_was_imported_or_not():
    import edgewright.quantize.request  # noqa: F401 - Python would put the package in the function's place

    assert callable(ew.quantize)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [({}, 0.005), ({"act_bw": 16}, 0.005), ({"weight_bw": 4}, 0.005)],
    ids=["w8a8", "w8a16", "w4a8"],
)
def test_a_quantized_classifier_reads_digits_nearly_as_well_as_the_float_one(model, digits, options, allowed):
    images, labels = digits
    quantized = ew.quantize(model, images[::5], **options)
    wanted = np.mean([model.run({INPUT: x[None]})[OUTPUT].argmax() for x in images] == labels)
    assert score(quantized, images, labels) >= wanted - allowed
    widths = {tensor.encoding.bitwidth for tensor in quantized.graph.types.values() if tensor.encoding}
    assert options.get("act_bw", 8) in widths
    assert options.get("weight_bw", 8) in widths


def test_rows_of_weights_have_scales_of_their_own_unless_that_is_denied(model, digits):
    def row_scales(**options):
        found = ew.quantize(model, digits[0][:2], **options)
        return {
            len(t.encoding.scales)
            for n, t in found.graph.types.items()
            if t.encoding and t.shape == (10, 256)
        }

    assert row_scales() == row_scales(weight_bw=4, per_channel=False) == {10}
    assert row_scales(weight_bw=4, per_row=False) == row_scales(per_channel=False) == {1}
    assert row_scales(per_channel=False, per_row=True) == {10}


def forms(images, folder):
    """The same five samples in every form."""
    five = images[:5]
    for number, image in enumerate(five):
        (folder / "npy").mkdir(exist_ok=True)
        (folder / "raw").mkdir(exist_ok=True)
        np.save(folder / "npy" / f"{number}.npy", image[None])
        image.tofile(folder / "raw" / f"{number}.raw")
    np.savez(folder / "all.npz", images=five)
    np.savez(folder / "named.npz", Input3=five, labels=np.zeros(5))
    np.save(folder / "all.npy", five)
    (folder / "list.txt").write_text("".join(f"raw/{n}.raw\n" for n in range(5)))
    return {
        "dictionaries": [{INPUT: image[None]} for image in five],
        "arrays": [image[None] for image in five],
        "without batch": list(five),
        "sequences": [(image[None],) for image in five],
        "generator": ({INPUT: image[None]} for image in five),
        "stacked": five,
        "stacked dictionary": {INPUT: five},
        "doubles": [image[None].astype(np.float64) for image in five],
        "bytes": [image[None].astype(np.uint8) for image in five],
        "folder": folder / "npy",
        "raw folder": str(folder / "raw"),
        "npz": folder / "all.npz",
        "npz with others": folder / "named.npz",
        "npy": folder / "all.npy",
        "list": folder / "list.txt",
    }


FORMS = (
    *("dictionaries", "arrays", "without batch", "sequences", "generator", "stacked", "stacked dictionary"),
    *("doubles", "bytes", "folder", "raw folder", "npz", "npz with others", "npy", "list"),
)


@pytest.mark.parametrize("form", FORMS)
def test_data_may_come_in_any_form(model, digits, tmp_path, form):
    data = forms(digits[0], tmp_path)[form]
    wanted = ew.quantize(model, digits[0][:5]).encodings()
    assert ew.quantize(model, data).encodings() == wanted


def test_a_generator_is_kept_on_disk_for_a_scheme_that_walks_twice(model, digits):
    walked = []

    def once():
        for image in digits[0][:8]:
            walked.append(1)
            yield {INPUT: image[None]}

    found = ew.quantize(model, once(), act_quantizer="enhanced").encodings()
    assert found == ew.quantize(model, digits[0][:8], act_quantizer="enhanced").encodings()
    assert len(walked) == 8


def test_several_inputs_come_from_folders_of_their_names_or_from_npz_files(tmp_path):
    model = ew.convert(two_inputs(tmp_path / "m.onnx"))
    random = np.random.default_rng(0)
    samples = [
        {"in/a": random.random((1, 3), np.float32), "in b": -random.random((1, 3), np.float32)} for _ in "abc"
    ]
    for number, sample in enumerate(samples):
        for folder, name in (("in_a", "in/a"), ("in_b", "in b")):
            (tmp_path / "beside" / folder).mkdir(exist_ok=True, parents=True)
            np.save(tmp_path / "beside" / folder / f"{number}.npy", sample[name])
        (tmp_path / "npz").mkdir(exist_ok=True)
        np.savez(tmp_path / "npz" / f"{number}.npz", **{"in/a": sample["in/a"], "in b": sample["in b"]})
    wanted = ew.quantize(model, samples).encodings()
    assert ew.quantize(model, tmp_path / "beside").encodings() == wanted
    assert ew.quantize(model, tmp_path / "npz").encodings() == wanted
    assert ew.quantize(model, [tuple(sample.values()) for sample in samples]).encodings() == wanted


def test_open_dimensions_stay_open(tmp_path):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "length", 2])
    weights = onnx.numpy_helper.from_array(np.random.default_rng(0).random((4, 2)).astype(np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [weights])
    model = ew.convert(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    random = np.random.default_rng(1)
    quantized = ew.quantize(model, [np.ones((1, 3, 4), np.float32), random.random((1, 5, 4), np.float32)])
    for shape in ((1, 2, 4), (2, 7, 4)):
        sample = {"x": random.random(shape, np.float32)}
        gap = np.abs(quantized.run(sample, backend="htp-sim")["y"] - model.run(sample)["y"])
        assert gap.max() < 0.05
    for number, length in enumerate((3, 6)):
        (tmp_path / "npy").mkdir(exist_ok=True)
        np.save(tmp_path / "npy" / f"{number}.npy", random.random((1, length, 4), np.float32))
    assert ew.quantize(model, tmp_path / "npy").report.counts()


def test_encodings_come_back_as_overrides(model, digits):
    # Biases that a search corrects are no encodings.
    first = ew.quantize(model, digits[0][::50], act_quantizer="tf")
    for version in ("0.6.1", "1.0.0", "2.0.0"):
        again = ew.quantize(model, overrides=first.encodings(version))
        sample = {INPUT: digits[0][:1]}
        np.testing.assert_allclose(again.run(sample)[OUTPUT], first.run(sample)[OUTPUT], rtol=1e-6)
        assert "16 from the file, 0 calibrated, 0 ignored" in again.report.coverage()


def test_overrides_may_name_a_tensor_that_was_folded_away(model, digits):
    entry = {"bitwidth": 8, "min": 0.0, "max": 6.0}
    content = {"activation_encodings": {"Convolution28_Output_0": [entry]}, "param_encodings": {}}
    report = ew.quantize(model, digits[0][:5], overrides=content).report
    assert report.ignored == ["Convolution28_Output_0"]


def test_half_precision_needs_no_data(model, digits):
    halves = ew.quantize(model, float_bw=16)
    sample = {INPUT: digits[0][:1]}
    found = halves.run(sample, backend="htp-sim")[OUTPUT]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, model.run(sample)[OUTPUT], rtol=0.01, atol=20)


def test_encodings_of_a_model_trained_with_quantization_are_kept_unless_they_are_ignored(
    model, digits, tmp_path
):
    trained = ew.convert(ew.quantize(model, digits[0][::5]).save(tmp_path / "qdq.onnx").onnx)
    kept = ew.quantize(trained, digits[0][:2])
    assert kept.report.counts()["source model"] >= 8
    sample = {INPUT: digits[0][:1]}
    step = encoding_of(kept, OUTPUT).scales[0]
    assert np.abs(kept.run(sample)[OUTPUT] - trained.run(sample)[OUTPUT]).max() <= step * 1.001
    ignored = ew.quantize(trained, digits[0][:2], ignore_encodings=True)
    assert "source model" not in ignored.report.counts()
    assert encoding_of(ignored, OUTPUT) != encoding_of(kept, OUTPUT)


@pytest.mark.parametrize("kind", ["dlc", "cpp"])
def test_a_saved_model_computes_the_same_once_it_is_loaded(model, digits, tmp_path, kind):
    quantized = ew.quantize(model, digits[0][::50], weight_bw=4)
    files = quantized.save(tmp_path / f"m.{kind}")
    loaded = ew.load(files.dlc if kind == "dlc" else files.net_json)
    sample = {INPUT: digits[0][:1]}
    for backend in ("cpu", "htp-sim"):
        found, wanted = (each.run(sample, backend=backend)[OUTPUT] for each in (loaded, quantized))
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"act_bw": 0}, "act_bw=0 is not possible"),
        ({"act_bw": 3}, "act_bw=3 is not possible"),
        ({"weight_bw": 64}, "weight_bw=64 is not possible"),
        ({"bias_bw": 16}, "bias_bw=16 is not possible"),
        ({"float_bw": 8}, "float_bw=8 is not possible"),
        ({"act_quantizer": "best"}, "no scheme 'best'"),
        ({"algorithms": ["magic"]}, "no algorithm 'magic'"),
        ({"block_size": 16}, "blocks of 16 are asked for weights of 8 bits"),
        ({"steps": (5, 9)}, "steps from 5 to 9"),
        ({"overrides": {"param_encodings": {}}}, "no 'activation_encodings'"),
        (
            {"overrides": {"activation_encodings": {"nobody": [{"bitwidth": 8}]}, "param_encodings": {}}},
            "'nobody'",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_requests_that_cannot_be_met_are_refused(model, digits, options, words):
    with pytest.raises(ew.EdgewrightError, match=words):
        ew.quantize(model, digits[0][:2], **options)


@pytest.mark.parametrize(
    ("scale", "offset", "words"),
    [(0.0, 0, "a scale is 0.0"), (-0.5, 0, "a scale is -0.5"), (0.5, -300, "an offset is -300")],
)
def test_encodings_that_mean_nothing_are_refused(model, digits, scale, offset, words):
    entry = {"bitwidth": 8, "scale": scale, "offset": offset}
    content = {"activation_encodings": {OUTPUT: [entry]}, "param_encodings": {}}
    with pytest.raises(ew.EdgewrightError, match=words):
        ew.quantize(model, digits[0][:2], overrides=content)


def test_a_wrong_number_of_channels_is_refused(model, digits):
    entries = [{"bitwidth": 8, "scale": 0.1, "offset": -128, "is_symmetric": "True"}] * 3
    content = {"activation_encodings": {}, "param_encodings": {"Parameter5": entries}}
    with pytest.raises(
        UsageError, match="3 encodings are given, expected one, or one for each of 8 channels"
    ):
        ew.quantize(model, digits[0][:2], overrides=content)


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        ([], UsageError, "no calibration samples"),
        (
            [np.zeros((1, 3, 28, 28), np.float32)],
            ShapeMismatch,
            r"shape \[1, 3, 28, 28\], expected \[1,1,28,28\]",
        ),
        (np.zeros((5, 28, 28), np.float32), ShapeMismatch, r"shape \[5, 28, 28\]"),
        ([{"Input4": np.zeros((1, 1, 28, 28))}], UsageError, "'Input4' is no input"),
        ([{}], UsageError, "0 of 1 inputs are given, missing: 'Input3'"),
        ([(np.zeros(3), np.zeros(1))], UsageError, "2 arrays are given for 1 inputs"),
        ([np.full((1, 1, 28, 28), np.nan, np.float32)], BadInput, "784 times NaN"),
        ([np.full((1, 1, 28, 28), np.inf, np.float32)], BadInput, "784 times infinity"),
        ([np.full((1, 1, 28, 28), "x")], TypeMismatch, "expected numbers"),
        ([np.full((1, 1, 28, 28), 1j)], TypeMismatch, "values are complex128, expected float32"),
        (7, UsageError, "type int, expected arrays"),
        (None, UsageError, "neither data nor an encoding"),
    ],
    ids=[
        *("none", "shape", "stack", "name", "empty", "labels"),
        *("nan", "inf", "text", "complex", "number", "nothing"),
    ],
)
def test_data_that_does_not_fit_is_one_clear_error(model, data, kind, words):
    with pytest.raises(kind, match=words):
        ew.quantize(model, data)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone", None, "does not exist"),
        ("broken.npz", b"PK no zip", "no readable .npz file"),
        ("broken.npy", b"\x93NUMPY", "no readable .npy file"),
        ("list.txt", b"missing.raw\n", "missing.raw' does not exist"),
        ("list.txt", b"", "names no files"),
        ("folder/a.jpg", b"x", "no readable image"),
        ("folder/a.csv", b"x", "no .npy, .npz, .raw, .bin files and no images"),
        ("folder/a.raw", b"1234", "4 bytes, expected 3136"),
    ],
)
def test_files_that_do_not_fit_are_one_clear_error(model, tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    with pytest.raises(ew.EdgewrightError, match=words):
        ew.quantize(model, path.parent if "/" in name else path)


def test_weights_that_are_not_finite_are_named(tmp_path, digits):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    io = [("x", TensorProto.FLOAT, [1, 2])], [("y", TensorProto.FLOAT, [1, 2])]
    path = save(tmp_path / "m.onnx", nodes, *io, {"w": np.float32([[1, np.nan], [2, 3]])})
    with pytest.raises(BadInput, match="the weights have 1 times NaN"):
        ew.quantize(path, [np.ones((1, 2), np.float32)])


def test_a_quantized_model_cannot_be_quantized_again(model, digits):
    with pytest.raises(UsageError, match="in fixed point already"):
        ew.quantize(ew.quantize(model, digits[0][:2]), digits[0][:2])


def test_a_graph_that_only_a_run_makes_cannot_be_quantized(tmp_path):
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    inputs = [("x", TensorProto.FLOAT, [4]), ("shape", TensorProto.INT64, [2])]
    path = save(tmp_path / "m.onnx", nodes, inputs, [("y", TensorProto.FLOAT, None)])
    with pytest.raises(UnsupportedFeature, match="depends on values that are known only in a run"):
        ew.quantize(path, [(np.ones(4, np.float32), np.int64([2, 2]))])


@pytest.mark.parametrize("version", ["0.6.1", "1.0.0", "2.0.0"])
@pytest.mark.parametrize(
    "options",
    [{}, {"act_bw": 16}, {"weight_bw": 4}, {"per_channel": False}, {"bias_bw": 8}, {"act_quantizer": "mse"}],
    ids=lambda options: "-".join(options) or "defaults",
)
def test_encodings_as_overrides_rebuild_the_model(model, digits, options, version):
    first = ew.quantize(model, digits[0][::10, None], **{"act_quantizer": "tf", **options})
    again = ew.quantize(model, overrides=first.encodings(version))
    assert not any("were changed before" in note for note in first.report.notes)
    assert again.encodings() == first.encodings()
    for name, array in first.graph.constants.items():
        np.testing.assert_array_equal(again.graph.constants[name], array)


@pytest.mark.parametrize("options", [{}, {"act_quantizer": "tf", "algorithms": ["bc"]}])
def test_what_encodings_cannot_bring_back_is_said(model, digits, options):
    first = ew.quantize(model, digits[0][::10, None], **options)
    again = ew.quantize(model, overrides=first.encodings())
    assert again.encodings() == first.encodings()
    same = [np.array_equal(again.graph.constants[n], a) for n, a in first.graph.constants.items()]
    assert all(same) != any("weights and biases were changed" in note for note in first.report.notes)


@pytest.mark.parametrize("version", ["0.6.1", "1.0.0", "2.0.0"])
def test_tensors_that_the_source_does_not_have_are_apart(model, digits, version):
    source = onnx.load(DIGITS_MODEL)
    names = {name for node in source.graph.node for name in (*node.input, *node.output)}
    document = ew.quantize(model, digits[0][::10, None], act_quantizer="tf").encodings(version)
    added = document.pop("added_encodings")
    assert list_names(document) <= names
    # The biases that convolutions were given.
    assert len(list_names(added)) >= 3
    assert not list_names(added) & names


def list_names(document):
    """All tensors of an encodings file."""
    parts = [document[key] for key in document if key.endswith("encodings")]
    return {item if isinstance(item, str) else item["name"] for part in parts for item in part}

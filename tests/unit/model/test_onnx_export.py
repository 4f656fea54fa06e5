"""Models saved as ONNX: what ONNX Runtime computes from the file is what we compute."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.artifacts.qdq_onnx import OnnxParts, to_files
from edgewright.backends.cpu.export import export_graph
from edgewright.core.errors import Problems, UnsupportedFeature, UsageError
from edgewright.core.files import write_all
from edgewright.model.saving import SaveOptions
from tests.cli import models
from tests.cli.models import DIGITS_MODEL, save

FLOAT = TensorProto.FLOAT


def run_file(path, feed):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    return dict(zip(names, session.run(names, feed), strict=True))


def digits(count=5):
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        return stored["images"][:: 500 // count].astype(np.float32)[:, None]


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, 1),
        ({"act_bw": 16}, 1),
        ({"weight_bw": 4}, 1),
        # HTP's sums of 16 bits are coarser than ONNX Runtime's: the genuine emulator, which the simulation
        # equals here, is as far.
        ({"weight_bw": 4, "act_bw": 16}, 5),
        ({"per_channel": False}, 1),
        ({"bias_bw": 8}, 1),
    ],
    ids=["w8a8", "w8a16", "w4a8", "w4a16", "per tensor", "bias 8"],
)
def test_onnx_runtime_computes_the_same_within_few_steps(tmp_path, options, steps):
    quantized = ew.quantize(DIGITS_MODEL, digits(50), **options)
    path = quantized.save(tmp_path / "m_qdq.onnx").onnx
    onnx.checker.check_model(str(path), full_check=True)
    step = quantized.graph.types["Plus214_Output_0"].encoding.scales[0]
    for image in digits(10):
        feed = {"Input3": image[None]}
        gap = (
            run_file(path, feed)["Plus214_Output_0"]
            - quantized.run(feed, backend="htp-sim")["Plus214_Output_0"]
        )
        assert np.abs(gap).max() <= steps * step * 1.001


def test_weights_are_stored_in_as_many_bits_as_asked_for(tmp_path):
    def kinds(**options):
        path = ew.quantize(DIGITS_MODEL, digits(), **options).save(tmp_path / "m.onnx").onnx
        stored = {tensor.data_type for tensor in onnx.load(path).graph.initializer}
        return stored, path.stat().st_size

    eight, four = kinds(), kinds(weight_bw=4)
    assert TensorProto.INT8 in eight[0]
    assert TensorProto.INT4 in four[0]
    assert TensorProto.INT32 in four[0]
    assert four[1] < eight[1]


def test_image_networks_keep_the_layout_and_the_names_of_the_source(tmp_path):
    source = models.image_net(tmp_path / "image.onnx")
    random = np.random.default_rng(0)
    model = ew.convert(source, batch=1)
    quantized = ew.quantize(model, random.random((8, 3, 6, 6), np.float32))
    path = quantized.save(tmp_path / "q.onnx").onnx
    found = run_file(path, {"image": random.random((1, 3, 6, 6), np.float32)})
    assert {name: array.shape for name, array in found.items()} == {"features": (1, 4, 6, 6)}
    kinds = [node.op_type for node in onnx.load(path).graph.node]
    assert kinds.count("Conv") == 1
    assert kinds.count("DequantizeLinear") >= 4


def test_a_float_model_is_written_too_and_its_batch_stays_open(tmp_path):
    source = models.image_net(tmp_path / "image.onnx")
    path = ew.convert(source).save(tmp_path / "f.onnx").onnx
    feed = {"image": np.random.default_rng(0).random((3, 3, 6, 6), np.float32)}
    np.testing.assert_allclose(
        run_file(path, feed)["features"], run_file(source, feed)["features"], rtol=1e-4, atol=1e-5
    )


def test_names_that_look_like_the_writers_own_do_not_get_in_the_way(tmp_path):
    nodes = [
        helper.make_node("Relu", ["t1"], ["t2"]),
        helper.make_node("Add", ["t2", "t3"], ["t4"]),
        helper.make_node("Mul", ["t4", "t1"], ["t9"]),
    ]
    io = [("t1", FLOAT, [2, 3])], [("t9", FLOAT, [2, 3]), ("t4", FLOAT, [2, 3])]
    source = save(tmp_path / "m.onnx", nodes, *io, {"t3": np.float32([1, 2, 3])})
    feed = {"t1": np.float32([[-1, 0, 1], [2, 3, 4]])}
    wanted = run_file(source, feed)
    model = ew.convert(source)
    for name, array in model.run(feed).items():
        assert set(model.placement().values()) == {"engine"}
        np.testing.assert_array_equal(array, wanted[name])
    found = run_file(model.save(tmp_path / "f.onnx").onnx, feed)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array)
    found = run_file(ew.quantize(model, [feed]).save(tmp_path / "q.onnx").onnx, feed)
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, atol=0.1)


def test_an_output_that_is_an_input_or_comes_twice_is_written(tmp_path):
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Relu", ["x"], ["z"])]
    io = [("x", FLOAT, [4])], [("y", FLOAT, [4]), ("z", FLOAT, [4])]
    model = ew.convert(save(tmp_path / "m.onnx", nodes, *io))
    feed = {"x": np.float32([-1, -0.5, 0.5, 1])}
    found = run_file(ew.quantize(model, [feed]).save(tmp_path / "q.onnx").onnx, feed)
    np.testing.assert_allclose(found["y"], feed["x"], atol=0.01)
    np.testing.assert_allclose(found["z"], [0, 0, 0.5, 1], atol=0.01)


def test_large_weights_go_into_a_file_beside(tmp_path):
    graph = ew.quantize(DIGITS_MODEL, digits()).graph
    parts = OnnxParts(*export_graph(graph))
    write_all(to_files(parts, tmp_path / "inside.onnx"))
    write_all(to_files(parts, tmp_path / "m.onnx", largest=100))
    assert (tmp_path / "m.onnx.data").stat().st_size > 100
    feed = {"Input3": digits()[:1]}
    outside, inside = (run_file(tmp_path / name, feed) for name in ("m.onnx", "inside.onnx"))
    np.testing.assert_array_equal(outside["Plus214_Output_0"], inside["Plus214_Output_0"])


def test_ops_without_a_form_in_onnx_are_listed_and_nothing_is_written(tmp_path):
    nodes = [helper.make_node("StringNormalizer", ["x"], ["y"])]
    io = [("x", TensorProto.STRING, [2])], [("y", TensorProto.STRING, [2])]
    model = ew.convert(save(tmp_path / "m.onnx", nodes, *io))
    with pytest.raises(Problems, match="op 'StringNormalizer' cannot be written in opset 21"):
        model.save(tmp_path / "q.onnx")
    assert not (tmp_path / "q.onnx").exists()


def test_dimensions_that_the_file_would_have_to_compute_must_be_numbers(tmp_path):
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], start=0, end=1),
        helper.make_node("Concat", ["s", "two", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]
    io = [("x", FLOAT, ["batch", "length"])], [("y", FLOAT, ["batch", 2, None])]
    constants = {"two": np.int64([2]), "rest": np.int64([-1])}
    model = ew.convert(save(tmp_path / "m.onnx", nodes, *io, constants))
    with pytest.raises(UnsupportedFeature, match="symbolic dimensions"):
        model.save(tmp_path / "q.onnx")


@pytest.mark.parametrize(
    ("options", "opset"),
    [
        ({}, 13),
        ({"per_channel": False}, 13),
        ({"bias_bw": 8}, 13),
        ({"act_bw": 16}, 21),
        ({"weight_bw": 4}, 21),
    ],
    ids=["w8a8", "per tensor", "bias 8", "a16", "w4"],
)
def test_the_opset_is_the_lowest_that_holds_the_types(tmp_path, options, opset):
    quantized = ew.quantize(DIGITS_MODEL, digits(20), act_quantizer="tf", **options)
    lowest = quantized.save(tmp_path / "lowest.onnx").onnx
    newest = quantized.save(tmp_path / "newest.onnx", SaveOptions(opset=21)).onnx
    onnx.checker.check_model(str(lowest), full_check=True)
    assert [onnx.load(path).opset_import[0].version for path in (lowest, newest)] == [opset, 21]
    feed = {"Input3": digits(1)}
    np.testing.assert_array_equal(*(run_file(path, feed)["Plus214_Output_0"] for path in (lowest, newest)))


def test_reductions_have_their_axes_where_the_opset_has_them(tmp_path):
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[2, 3], keepdims=0),
        helper.make_node("ReduceMax", ["m"], ["y"], axes=[1]),
    ]
    source = save(tmp_path / "s.onnx", nodes, [("x", FLOAT, [1, 3, 4, 4])], [("y", FLOAT, [1, 1])], opset=13)
    path = ew.convert(source).save(tmp_path / "m.onnx").onnx
    onnx.checker.check_model(str(path), full_check=True)
    assert onnx.load(path).opset_import[0].version == 13
    feed = {"x": np.random.default_rng(0).random((1, 3, 4, 4), np.float32)}
    np.testing.assert_allclose(run_file(path, feed)["y"], run_file(source, feed)["y"], rtol=1e-6)


def test_an_op_that_is_younger_raises_the_opset(tmp_path):
    nodes = [helper.make_node("Gelu", ["x"], ["y"])]
    source = save(tmp_path / "s.onnx", nodes, [("x", FLOAT, [1, 3])], [("y", FLOAT, [1, 3])], opset=20)
    model = ew.convert(source)
    assert onnx.load(model.save(tmp_path / "m.onnx").onnx).opset_import[0].version == 20
    with pytest.raises(UnsupportedFeature, match="op 'Gelu' as it is used here does not exist in opset 17"):
        model.save(tmp_path / "m.onnx", SaveOptions(opset=17))


def test_wide_types_do_not_fit_a_low_opset(tmp_path):
    quantized = ew.quantize(DIGITS_MODEL, digits(5), act_bw=16, act_quantizer="tf")
    with pytest.raises(UnsupportedFeature, match=r"QuantizeLinear.*does not exist in opset 13"):
        quantized.save(tmp_path / "m.onnx", SaveOptions(opset=13))


@pytest.mark.parametrize("options", [{}, {"act_bw": 16}, {"weight_bw": 4}], ids=["w8a8", "a16", "w4"])
def test_a_written_model_is_read_back_as_quantized_as_it_was(tmp_path, options):
    quantized = ew.quantize(DIGITS_MODEL, digits(20), act_quantizer="tf", **options)
    again = ew.quantize(quantized.save(tmp_path / "q.onnx").onnx)
    assert "float" not in again.report.coverage()
    assert again.report.converts == 0
    step = quantized.graph.types["Plus214_Output_0"].encoding.scales[0]
    for image in digits(5):
        results = [m.run({"Input3": image[None]}, backend="htp-sim") for m in (quantized, again)]
        gap = results[0]["Plus214_Output_0"] - results[1]["Plus214_Output_0"]
        assert np.abs(gap).max() <= 1.001 * step


@pytest.mark.parametrize("opset", [0, 12, 22])
def test_opsets_that_nobody_writes_are_a_usage_error(tmp_path, opset):
    with pytest.raises(UsageError, match=f"opset is {opset}, expected 13 to 21"):
        ew.convert(DIGITS_MODEL).save(tmp_path / "m.onnx", SaveOptions(opset=opset))

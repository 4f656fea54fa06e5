"""Reference engines of the evaluator: the source runs in its own framework, and ours agrees with it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

import edgewright as ew
from edgewright.tools.qnn_accuracy_evaluator import main
from tests.cli.models import image_net
from tests.optional import NEEDS_TORCH

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES = 6
NO_TENSORFLOW = "tensorflow is not installed: pip install 'edgewright[tensorflow]'"


def evaluate(folder, model, engine, samples, **info):
    """The float model and a fixed-point one against the source in an engine."""
    (folder / "samples").mkdir()
    for number, sample in enumerate(samples):
        sample.astype(np.float32).tofile(folder / "samples" / f"{number}.raw")
    fixed = {"bias_bw": 32, "use_per_channel_quantization": True}
    schemas = [
        {"name": engine, "precision": "fp32", "is_ref": True},
        {"name": "qnn", "backend": "cpu", "precision": "fp32", "tag": "float"},
        {
            "name": "qnn",
            "backend": "htp-sim",
            "precision": "quant",
            "tag": "fixed",
            "converter_params": fixed,
        },
    ]
    config = {
        "dataset": {"path": "samples"},
        "inference-engine": {
            "model_path": str(model),
            "inference_schemas": [{"inference_schema": schema} for schema in schemas],
            **info,
        },
        "evaluator": {"comparator": {"type": "snr"}},
    }
    (folder / "c.yaml").write_text(yaml.safe_dump({"model": config}))
    result = ew.evaluate(folder / "c.yaml", folder=folder / "out", workers=0)
    assert not result.failed, result.failed
    assert result.work.source_runs == 1
    return {item.tag: item.match for item in result.ranked}


def read_digits(scale=1.0):
    with np.load(EXAMPLES / "data" / "digits.npz") as archive:
        (pictures,) = (array for array in archive.values() if array.ndim > 1)
    return (pictures[:SAMPLES] * scale).reshape(SAMPLES, 1, 28, 28, 1)


@pytest.mark.slow
def test_litert_runs_a_tflite_model(tmp_path):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    match = evaluate(
        tmp_path, EXAMPLES / "models" / "mnist_dscnn_int8.tflite", "tflite", read_digits(1 / 255)
    )
    # The model has encodings of its own, which both keep.
    assert min(match.values()) > 60


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["tensorflow", "tensorflow-session"])
def test_tensorflow_runs_a_frozen_graph(tmp_path, engine):
    pytest.importorskip("tensorflow", reason=NO_TENSORFLOW)
    model = EXAMPLES / "models" / "mnist_cnn_fakequant_frozen.pb"
    match = evaluate(tmp_path, model, engine, read_digits(1 / 255))
    assert match["float"] > 100
    assert match["fixed"] > 30


@pytest.mark.parametrize("_", [pytest.param(0, marks=NEEDS_TORCH, id="torchscript")])
def test_torch_runs_a_script(tmp_path, _):
    import torch

    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 5)]
    torch.manual_seed(3)
    torch.jit.trace(torch.nn.Sequential(*layers).eval(), torch.zeros(1, 3, 8, 8)).save(tmp_path / "m.pt")
    samples = np.random.default_rng(1).standard_normal((SAMPLES, 1, 3, 8, 8))
    shapes = [{"x": {"type": "float32", "shape": [1, 3, 8, 8]}}]
    match = evaluate(tmp_path, tmp_path / "m.pt", "torchscript", samples, inputs_info=shapes)
    assert match["float"] > 100
    assert match["fixed"] > 25


def test_onnx_runtime_runs_an_onnx_model_of_another_folder(tmp_path):
    (tmp_path / "zoo").mkdir()
    image_net(tmp_path / "zoo" / "m.onnx")
    samples = np.random.default_rng(1).standard_normal((SAMPLES, 1, 3, 6, 6))
    match = evaluate(tmp_path, tmp_path / "zoo" / "m.onnx", "onnxrt", samples)
    assert match["float"] > 100
    # Nothing is left where the model is, and an engine of another framework says what fits.
    assert [path.name for path in (tmp_path / "zoo").iterdir()] == ["m.onnx"]
    shutil.rmtree(tmp_path / "samples")
    with pytest.raises(ew.EdgewrightError, match="is for models of TFLite, this one is of ONNX"):
        evaluate(tmp_path, tmp_path / "zoo" / "m.onnx", "tflite", samples)


def test_onnx_runtime_runs_a_model_in_shapes_that_the_user_gave(tmp_path, fixed_net):
    samples = np.random.default_rng(1).standard_normal((SAMPLES, 1, 3, 40))
    match = evaluate(tmp_path, fixed_net, "onnxrt", samples, inputs_info=[{"x": {"shape": [1, 3, 40]}}])
    assert match["float"] > 100


def test_a_size_that_was_assumed_is_named_where_the_model_does_not_fit_it(tmp_path, open_net, capsys):
    np.zeros((1, 3, 40), np.float32).tofile(tmp_path / "x.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'x.raw'}\n")
    words = ["-model", str(open_net), "-preproc_file", str(tmp_path / "list.txt"), "-backend", "htp-sim"]
    assert main([*words, "-work_dir", str(tmp_path / "work")]) == 3
    assert (
        "leaves 'length' open, and 1 was assumed: give the size with -onnx_symbol" in capsys.readouterr().err
    )


def test_samples_give_the_sizes_that_a_model_leaves_open(tmp_path, open_net):
    sample = np.random.default_rng(0).standard_normal((1, 3, 40)).astype(np.float32)
    result = ew.evaluate(open_net, [sample], folder=tmp_path / "out", workers=0)
    assert result.best is not None
    assert "length = 40" in result.notes[0]


@pytest.fixture
def open_net(tmp_path):
    return make_sound_net(tmp_path / "open.onnx", [1, 3, "length"], None)


@pytest.fixture
def fixed_net(tmp_path):
    return make_sound_net(tmp_path / "fixed.onnx", [10, 3, 12], [10, 4, 4])


def make_sound_net(file, shape, result):
    """A convolution of 9 steps over a sound."""
    from onnx import TensorProto, helper, numpy_helper, save

    weights = numpy_helper.from_array(np.ones((4, 3, 9), np.float32), "w")
    info = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", shape), ("y", result))
    ]
    node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[9])
    graph = helper.make_graph([node], "g", info[:1], info[1:], [weights])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), file)
    return file

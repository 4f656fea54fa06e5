"""The GPU backend on a real device: results, precisions, what is refused, and what the tools say of it."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.errors import EdgewrightError, UnsupportedFeature
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.sdk.platform_check import Asked, check_platform
from edgewright.tools.qnn_context_binary_generator import main as generate
from edgewright.tools.qnn_net_run import main as net_run

pytestmark = pytest.mark.slow
DIGITS_MODEL = Path(__file__).parents[2] / "examples/models/mnist_cntk.onnx"
OUTPUT = "Plus214_Output_0"
IMAGE = np.random.default_rng(3).random((1, 1, 28, 28), np.float32)


@pytest.fixture(scope="module")
def digits():
    return ew.convert(DIGITS_MODEL)


@pytest.fixture
def files(tmp_path, monkeypatch, digits):
    monkeypatch.chdir(tmp_path)
    digits.save("digits.dlc")
    IMAGE.tofile("image.raw")
    Path("list.txt").write_text("image.raw\n")
    return ["--model", "digits.dlc", "--backend", "libQnnGpu.so", "--input_list", "list.txt"]


def test_a_network_gives_the_results_of_the_cpu_with_every_op_on_the_gpu(digits):
    expected = digits.run({"Input3": IMAGE})[OUTPUT]
    found = digits.run({"Input3": IMAGE}, backend="gpu")[OUTPUT]
    assert np.abs(found - expected).max() < 1e-5
    assert set(digits.placement().values()) == {"gpu"}


@pytest.mark.parametrize(("backend", "least", "most"), [("gpu-hybrid", 1e-5, 4e-3), ("gpu-fp16", 1e-5, 2e-2)])
def test_halves_cost_as_much_as_halves_do(digits, backend, least, most):
    expected = digits.run({"Input3": IMAGE})[OUTPUT]
    found = digits.run({"Input3": IMAGE}, backend=backend)[OUTPUT]
    assert found.dtype == np.float32
    assert least < np.abs(found - expected).max() < most


def test_hybrid_stores_halves_and_computes_in_32_bits():
    graph = Graph("sum")
    kind = TensorType((64,), DType.FLOAT_32)
    left, right = graph.add_input("a", kind), graph.add_input("b", kind)
    graph.add(Node("n", ElementWiseAdd(), [left, right], ["y"]))
    graph.outputs = ["y"]
    random = np.random.default_rng(1)
    feed = {name: random.normal(size=64).astype(np.float32) for name in ("a", "b")}
    found = find_backend("gpu-hybrid").prepare(graph, RunOptions()).run(feed)["y"]
    halves = [feed[name].astype(np.float16).astype(np.float32) for name in ("a", "b")]
    assert np.array_equal(found, (halves[0] + halves[1]).astype(np.float16).astype(np.float32))


def test_values_that_are_asked_for_keep_their_types(digits):
    graph = digits.fixed_graph()
    inner = next(node.outputs[0] for node in graph.nodes if node.op.is_product)
    session = find_backend("gpu-fp16").prepare(graph, RunOptions(extra_outputs=(inner,)))
    assert session.run({"Input3": IMAGE})[inner].dtype == np.float32


@pytest.fixture
def partial(tmp_path):
    """A network with an op that no provider for GPUs has."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("LRN", ["r"], ["l"], size=3),
        helper.make_node("Neg", ["l"], ["y"]),
    ]
    io = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 6, 4, 4]) for name in "xy"]
    model = helper.make_model(
        helper.make_graph(nodes, "net", io[:1], io[1:]), opset_imports=[helper.make_opsetid("", 17)]
    )
    onnx.save(model, tmp_path / "lrn.onnx")
    return ew.convert(tmp_path / "lrn.onnx")


def test_an_op_that_the_gpu_lacks_is_refused_and_runs_on_the_cpu_only_when_allowed(partial, caplog):
    feed = {"x": np.random.default_rng(2).random((1, 6, 4, 4), np.float32)}
    expected = partial.run(feed)["y"]
    with pytest.raises(EdgewrightError, match="the GPU cannot run Lrn") as refusal:
        partial.run(feed, backend="gpu")
    assert "--allow_cpu_ops" in str(refusal.value)
    with caplog.at_level(logging.WARNING):
        found = partial.run(feed, backend="gpu+cpu")["y"]
    assert np.allclose(found, expected, atol=1e-6)
    assert "1 Lrn not on gpu" in caplog.text
    assert sorted(set(partial.placement().values())) == ["cpu", "gpu"]


def test_a_quantized_model_is_refused_with_the_line_of_the_guide(digits):
    quantized = ew.quantize(digits, [{"Input3": IMAGE}])
    with pytest.raises(UnsupportedFeature, match=r"float models only, as QNN's own"):
        quantized.run({"Input3": IMAGE}, backend="libQnnGpu.so")


def test_net_run_records_and_shows_what_ran_where(files, capsys):
    assert net_run(files) == 0
    assert "9 ops on gpu" in capsys.readouterr().out
    assert set(json.loads(Path("output/run.json").read_text())["placement"].values()) == {"gpu"}


def test_a_context_for_the_gpu_is_made_and_run(files, digits):
    assert generate([*files[:4], "--binary_file", "gpu_context"]) == 0
    words = ["--retrieve_context", "output/gpu_context.bin", *files[2:], "--output_dir", "results"]
    assert net_run(words) == 0
    found = np.fromfile(f"results/Result_0/{OUTPUT}.raw", np.float32)
    assert np.abs(found - digits.run({"Input3": IMAGE})[OUTPUT].ravel()).max() < 1e-5


def test_the_settings_of_a_configuration_count(files, capsys):
    Path("c.json").write_text('{"gpu_config": {"precision_mode": "fp16", "performance_mode": "burst"}}')
    assert net_run([*files, "--config_file", "c.json"]) == 0
    assert "fp16)" in capsys.readouterr().out


def test_the_validator_runs_a_relu_of_real_numbers():
    (check,) = check_platform("gpu", asked=Asked(test=True))
    assert (check.libraries, check.unit_test) == ("Found", "Passed")


def run_alone(words, **variables):
    start = "import sys; from edgewright.tools.qnn_net_run import main; sys.exit(main())"
    command = [sys.executable, "-c", start, *words]
    env = {**os.environ, **variables}
    return subprocess.run(command, check=False, env=env, capture_output=True, text=True)


def test_a_driver_that_does_not_start_is_no_missing_op_and_never_a_run_on_the_cpu(files):
    answer = run_alone([*files, "--allow_cpu_ops"], VK_DRIVER_FILES="/nonexistent.json")
    assert answer.returncode == 6
    assert "cannot be started on this machine" in answer.stderr


def test_kernels_are_kept_in_the_folder_that_is_named(files):
    Path("c.json").write_text('{"gpu_config": {"kernel_cache_dir": "kernels"}}')
    answer = run_alone([*files, "--config_file", "c.json"])
    assert answer.returncode == 0
    assert any(Path("kernels").rglob("*"))

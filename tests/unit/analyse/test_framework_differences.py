"""A converted model beside its own framework, op by op."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import edgewright as ew
from edgewright.analyse.framework_differences import compare_with_framework
from edgewright.backends.registry import find_backend
from edgewright.core.errors import EnvironmentProblem, UsageError
from edgewright.reports.diagnosis_page import write_case
from tests.cli.test_accuracy_debugger import square_net

FEEDS = [{"image": np.random.default_rng(3).standard_normal((1, 3, 8, 8)).astype(np.float32)}]


@pytest.fixture
def model(tmp_path):
    return square_net(tmp_path / "m.onnx")


def change_weight(path, name, factor):
    """The same file with one weight scaled: a framework that computes something else."""
    proto = onnx.load(path)
    for tensor in proto.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(factor), name))
    changed = path.with_name("changed.onnx")
    onnx.save(proto, changed)
    return changed


def test_what_is_alike_is_said_to_be(model):
    result = ew.debug(model, FEEDS, backends=("framework", "cpu"), act_quantizer="tf")
    (comparison,) = result.backends
    assert comparison.ops >= 4
    assert comparison.first_divergence == f"framework and cpu compute all {comparison.ops} ops alike"


@pytest.mark.parametrize(("weight", "layer"), [("w1", "/r1/out"), ("w2", "/c2/out"), ("w3", "scores")])
def test_only_the_op_that_differs_is_named(model, weight, layer):
    """What comes after it reads what the framework computed, and is alike."""
    graph = ew.convert(model).fixed_graph()
    changed = change_weight(model, weight, 1.02)
    comparison = compare_with_framework(str(changed), graph, FEEDS, "cpu", find_backend("cpu"))
    assert [difference.source for difference in comparison.differences] == [layer]
    script = write_case(comparison, model.with_name("page.html"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "cpu: as recorded" in done.stdout
    assert "framework and cpu differ by up to" in done.stdout


def test_a_framework_is_compared_with_the_cpu_only_and_by_its_file(model):
    with pytest.raises(UsageError, match="a framework computes the float model"):
        ew.debug(model, FEEDS, backends=("framework", "htp-sim"), act_quantizer="tf")
    with pytest.raises(UsageError, match="has no framework"):
        ew.debug(onnx.load(model), FEEDS, backends=("framework", "cpu"), act_quantizer="tf")


@pytest.mark.torch
def test_a_framework_without_tensors_between_its_ops_is_said(tmp_path):
    import torch

    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
    torch.jit.trace(net, torch.zeros(1, 3, 8, 8)).save(tmp_path / "m.pt")
    graph = ew.convert(tmp_path / "m.pt", input_shapes={"input": (1, 3, 8, 8)}).fixed_graph()
    feeds = [dict.fromkeys(graph.inputs, FEEDS[0]["image"])]
    with pytest.raises(EnvironmentProblem, match="shows no tensors between its ops"):
        compare_with_framework(str(tmp_path / "m.pt"), graph, feeds, "cpu", find_backend("cpu"))

"""Compilations that are ended with the time of a build."""

import sys
from pathlib import Path

import pytest

from edgewright.build.deploy import compile_binary
from edgewright.build.request import BuildRequest
from edgewright.build.trial import try_model
from edgewright.data.samples import DataRequest
from edgewright.ir.op import REGISTRY
from edgewright.quantize.executor import OutOfTime
from edgewright.targets.soc import find_htp_soc
from tests.native.op_cases import sample_graph

CHIP = find_htp_soc("SM8650")


@pytest.fixture
def relu():
    return sample_graph(next(iter(REGISTRY["Relu"].samples())))


def test_a_compilation_that_takes_longer_than_it_may_is_ended(relu, tmp_path):
    graph, _ = relu
    request = BuildRequest(Path("m.onnx"), "SM8650", tmp_path, DataRequest())
    with pytest.raises(OutOfTime, match="the time was up"):
        compile_binary(request, graph, graph, CHIP, tmp_path, 0.01)
    assert list(tmp_path.rglob("*.bin")) == []
    assert compile_binary(request, graph, graph, CHIP, tmp_path) == "htp-native"
    assert list(tmp_path.rglob("*.bin"))


def test_a_trial_that_is_ended_is_no_refusal(relu, monkeypatch):
    graph, feed = relu
    # By its name, edgewright.build is the function.
    monkeypatch.setattr(sys.modules[try_model.__module__], "COMPILED_PART", 1e-5)
    trial = try_model(graph, [feed], CHIP, seconds=1000)
    assert trial.quantized is not None
    assert trial.refusal is None
    # Nothing was loaded, and compiling is expected to take its usual time at least.
    assert trial.rates.loading == 0
    assert trial.rates.compiling > 1

"""Samples on the emulator that are ended with the time of a build."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.abi.worker_process import end_calls_at
from edgewright.build.deploy import compile_binary
from edgewright.build.request import BuildRequest
from edgewright.build.stages import NATIVE, check_candidate, evaluate_candidate
from edgewright.build.time_budget import TimeBudget
from edgewright.build.trial import COMPILED_PART, LATE_TIMES, try_model
from edgewright.data.samples import DataRequest, read_samples
from edgewright.evaluate.choose_metric import choose_metric
from edgewright.evaluate.evaluator import Evaluator
from edgewright.evaluate.verdict import NO_EMULATION
from edgewright.ir.op import REGISTRY
from edgewright.ir.text import parse
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.targets.soc import find_htp_soc
from tests.native.op_cases import sample_graph

CHIP = find_htp_soc("SM8650")
GRAPH = parse("graph g {\n  input x: float_32[1,8]\n  y = Relu(x)\n  output y\n}\n")
DATA = np.random.default_rng(0).normal(0, 1, (40, 8)).astype(np.float32)
LIMIT = 600.0


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A compiled graph, and its folder."""
    folder = tmp_path_factory.mktemp("late")
    graph = quantize_graph(GRAPH, QuantizationRequest(float_bw=16)).graph
    request = BuildRequest(Path("m.onnx"), "SM8650", folder, DataRequest())
    assert compile_binary(request, GRAPH, graph, CHIP, folder) == NATIVE
    return graph, folder


def make_evaluator():
    samples = read_samples(GRAPH, DataRequest(DATA)).judging
    return Evaluator(GRAPH, samples, choose_metric(GRAPH, None))


def make_late_budget(monkeypatch):
    """All of its time is up, and starting an emulator has none."""
    monkeypatch.setattr(sys.modules[check_candidate.__module__], "SHORTEST_CALL", 0.0)
    return TimeBudget(LIMIT, has_emulator=True, started=time.monotonic() - LIMIT)


def test_a_verdict_says_that_the_emulator_had_no_time(half, monkeypatch):
    result = evaluate_candidate(make_evaluator(), half[0], NATIVE, half[1], make_late_budget(monkeypatch))
    assert result.doubts[0] == NO_EMULATION
    assert result.emulated == ()
    assert result.loss.backend == "htp-sim"


def test_a_candidate_that_the_emulator_has_no_time_for_is_checked_in_simulation(half, monkeypatch):
    late = make_late_budget(monkeypatch)
    assert check_candidate(make_evaluator(), half[0], NATIVE, half[1], late).backend == "htp-sim"
    in_time = TimeBudget(LIMIT, has_emulator=True)
    assert check_candidate(make_evaluator(), half[0], NATIVE, half[1], in_time).backend == NATIVE


def test_a_late_verdict_has_some_samples_where_the_emulator_is_quick(half):
    late = TimeBudget(LIMIT, has_emulator=True, started=time.monotonic() - LIMIT)
    result = evaluate_candidate(make_evaluator(), half[0], NATIVE, half[1], late)
    assert len(result.emulated) >= 1
    assert result.loss.backend == NATIVE


def test_an_emulator_that_is_slow_is_ended_when_it_is_tried(monkeypatch):
    graph, feed = sample_graph(next(iter(REGISTRY["Relu"].samples())))
    seconds = 60.0
    module = sys.modules[try_model.__module__]
    # As if compiling had left it nothing of its time.
    monkeypatch.setattr(module, "end_calls_at", lambda end: end_calls_at(end - COMPILED_PART * seconds))
    trial = try_model(graph, [feed], CHIP, seconds=seconds)
    assert trial.refusal is None
    assert trial.rates.emulated == LATE_TIMES * COMPILED_PART * seconds

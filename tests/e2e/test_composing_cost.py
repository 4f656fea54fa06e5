"""Composing a model library against loading the net.json of the same model."""

import resource
import shutil
from statistics import median

import numpy as np
import pytest
from onnx import helper

import edgewright as ew
from edgewright.artifacts.model_library.builder import build_library, find_model_source
from edgewright.artifacts.model_library.toolchains import Toolchain
from edgewright.model.saving import load_program
from tests.cli.models import FLOAT, save

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
]
LAYERS = 60


def deep_net(path):
    """As many ops and tensors as mobilenet_v2 has."""
    rng = np.random.default_rng(0)
    nodes, weights, value = [], {}, "x"
    for index in range(LAYERS):
        weights[f"w{index}"] = rng.standard_normal((16, 16, 3, 3)).astype(np.float32) * 0.1
        weights[f"b{index}"] = rng.standard_normal(16).astype(np.float32)
        names = [value, f"w{index}", f"b{index}"]
        nodes.append(helper.make_node("Conv", names, [f"c{index}"], pads=[1, 1, 1, 1], name=f"conv{index}"))
        nodes.append(helper.make_node("Relu", [f"c{index}"], [f"r{index}"], name=f"relu{index}"))
        value = f"r{index}"
    ends = [[("x", FLOAT, [1, 16, 16, 16])], [(value, FLOAT, [1, 16, 16, 16])]]
    return save(path, nodes, *ends, weights)


def processor_time(work):
    """Seconds of this process and of those that it started: what a busy machine does not change much."""

    def spent():
        kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        return sum(r.ru_utime + r.ru_stime for r in map(resource.getrusage, kinds))

    times = []
    for _ in range(7):
        before = spent()
        work()
        times.append(spent() - before)
    return median(times)


def test_composing_costs_about_twice_as_much_as_loading_the_net_json(tmp_path):
    files = ew.convert(deep_net(tmp_path / "deep.onnx")).save(tmp_path / "deep.cpp")
    chain = Toolchain("x86_64-linux-clang", shutil.which("g++"))
    build_library(find_model_source(files.cpp, files.bin), chain, tmp_path / "deep.so")
    loading = processor_time(lambda: load_program(files.net_json))
    composing = processor_time(lambda: load_program(tmp_path / "deep.so"))
    # A process of its own is started: on a busy machine that alone was seen to vary by a third.
    assert composing <= 3 * loading, f"{composing * 1000:.1f} ms against {loading * 1000:.1f} ms"

"""The precisions of the GPU backend as graphs, computed here by the CPU; which hint a profile stands for."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.gpu.precision import with_precision
from edgewright.config.gpu_settings import GpuSettings, choose_performance_hint, read_gpu_settings
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise import ElementWiseMultiply

X = np.float32([1.0001, 2.5, -3.3333, 70000.0])


def product(dtype: DType = DType.FLOAT_32) -> Graph:
    graph = Graph("product")
    kind = TensorType((4,), dtype)
    graph.add_input("x", kind)
    graph.add_constant("w", np.full(4, 1.2345, dtype.numpy))
    for name, source in (("m", "x"), ("y", "m")):
        graph.add(Node(name, ElementWiseMultiply(), [source, "w"], [name]))
    graph.outputs = ["y"]
    return graph


def run(graph: Graph, *more: str) -> dict[str, np.ndarray]:
    with np.errstate(over="ignore"):
        given = X.astype(graph.types["x"].dtype.numpy)
    return CpuBackend().prepare(graph, RunOptions(extra_outputs=more)).run({"x": given})


def test_user_provided_changes_nothing():
    graph = product()
    assert with_precision(graph, "user_provided", graph.outputs) is graph


def test_hybrid_rounds_what_is_stored_and_nothing_else():
    with np.errstate(over="ignore"):
        found = run(with_precision(product(), "hybrid", ["y", "m"]), "m")
        half = X.astype(np.float16).astype(np.float32)
        weight = np.float32(np.float16(1.2345))
        middle = (half * weight).astype(np.float16).astype(np.float32)
        assert np.array_equal(found["m"], middle)
        assert np.array_equal(found["y"], (middle * weight).astype(np.float16).astype(np.float32))


@pytest.mark.parametrize(("precision", "stored"), [("fp16", np.float32), ("fp32", np.float16)])
def test_inputs_and_outputs_keep_their_types(precision, stored):
    graph = product(DType.of(np.dtype(stored)))
    changed = with_precision(graph, precision, ["y", "m"])
    found = run(changed, "m")
    assert changed.types["x"].dtype.numpy == stored
    assert {array.dtype for array in found.values()} == {np.dtype(stored)}
    inner = {"fp16": DType.FLOAT_16, "fp32": DType.FLOAT_32}[precision]
    assert changed.types["w"].dtype == inner
    assert graph.types["w"].dtype != inner


@pytest.mark.parametrize(
    ("profile", "hint"),
    [("burst", "high"), ("default", "normal"), ("extreme_power_saver", "low"), ("low_balanced", "low")],
)
def test_a_profile_stands_for_a_hint(profile, hint):
    assert choose_performance_hint(profile) == hint
    assert GpuSettings().adapt_to_profile(profile).performance_hint == hint
    assert GpuSettings(performance_hint="high").adapt_to_profile(profile).performance_hint == "high"


def test_the_keys_of_a_section_become_settings():
    section = {
        "precision_mode": "HYBRID",
        "performance_mode": "burst",
        "enable_transform_optimization": False,
        "disable_memory_optimizations": True,
        "kernel_cache_dir": "kernels",
        "device_id": 1,
    }
    assert read_gpu_settings(section) == GpuSettings("hybrid", "high", False, False, "kernels", 1)

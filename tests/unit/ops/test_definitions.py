"""Ops without a kernel of ONNX Runtime agree with definitions that were written apart from them."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.cpu.registry import LOWERINGS
from edgewright.core.errors import BadInput
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import REGISTRY, Sample
from edgewright.ir.types import TensorType
from edgewright.ops.activation import ElementWiseSoftplus
from edgewright.ops.rearrange_blocks import Buffer, BufferMode
from tests.unit.ops.definitions import DEFINITIONS
from tests.unit.ops.test_samples import SAMPLES, filled

CASES = [sample for sample in SAMPLES if sample.op.qnn_name() in DEFINITIONS]


def vary(sample: Sample, seed: int) -> list[Array | None]:
    """The sample's inputs with other numbers where they are given by their types."""
    random = np.random.default_rng(seed)
    first = filled(sample)
    return [
        array if not isinstance(given, TensorType) or array.dtype.kind != "f"
        else random.normal(size=array.shape).astype(array.dtype)
        for given, array in zip(sample.inputs, first, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize("sample", CASES, ids=lambda s: f"{s.op.qnn_name()}-{s.label}")
def test_op_agrees_with_a_definition_that_was_written_apart(sample: Sample) -> None:
    for arrays in (filled(sample), *(vary(sample, seed) for seed in range(5))):
        found = sample.op.compute(*arrays)
        expected = DEFINITIONS[sample.op.qnn_name()](sample.op, *arrays)
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(own.astype(np.float64), other, rtol=2e-4, atol=2e-4)


def test_every_op_that_the_engine_lacks_has_a_definition_of_its_own() -> None:
    lacking = {name for name, kind in REGISTRY.items() if kind not in LOWERINGS} - {"SourceOp"}
    assert lacking == set(DEFINITIONS)


def test_every_op_of_the_catalogue_computes() -> None:
    assert [name for name, kind in REGISTRY.items() if not kind.has_reference()] == ["SourceOp"]


def run_buffer(op: Buffer, frames: list[float]) -> list[list[float] | str]:
    """What a session gives for one new pair of frames after the other."""
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 2)))
    graph.add(Node("n", op, ["x"], ["y"]))
    graph.outputs = ["y"]
    session = CpuBackend().prepare(graph, RunOptions(threads=1))
    found: list[list[float] | str] = []
    for number in frames:
        try:
            found.append(
                session.run({"x": np.asarray([[number, number + 0.5]], np.float32)})["y"][0].tolist()
            )
        except BadInput as problem:
            found.append(problem.what)
    return found


def test_a_buffer_remembers_frames_within_a_session_and_drops_the_oldest() -> None:
    left = Buffer(buffer_size=4, buffer_dim=1, stride=2, mode=BufferMode.NON_BLOCKING_LEFT)
    assert run_buffer(left, [1, 2, 3]) == [[1, 1.5, 0, 0], [1, 1.5, 2, 2.5], [2, 2.5, 3, 3.5]]
    right = Buffer(buffer_size=4, buffer_dim=1, stride=4, mode=BufferMode.NON_BLOCKING_RIGHT)
    assert run_buffer(right, [1, 2, 3]) == [[0, 0, 1, 1.5], [1, 1.5, 2, 2.5], [0, 0, 3, 3.5]]


def test_a_blocking_buffer_gives_nothing_until_it_is_full() -> None:
    op = Buffer(buffer_size=4, buffer_dim=1, stride=2)
    first, second, third = run_buffer(op, [1, 2, 3])
    assert first == "the buffer holds 2 of 4 frames"
    assert (second, third) == ([1, 1.5, 2, 2.5], [2, 2.5, 3, 3.5])
    assert run_buffer(op, [7])[0] == first, "another session has a queue of its own"


def test_a_negative_threshold_of_softplus_is_none() -> None:
    x = np.linspace(-9, 9, 37).astype(np.float32)
    expected = np.log1p(np.exp(x.astype(np.float64)))
    for threshold in (-1.0, -0.5, 20.0):
        np.testing.assert_allclose(
            ElementWiseSoftplus(threshold=threshold).compute(x)[0], expected, rtol=1e-5
        )

"""Every sample of every op: the shape rule, the reference and the CPU backend agree."""

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import REGISTRY, Sample
from edgewright.ir.types import TensorType, type_of

SAMPLES = [sample for op in REGISTRY.values() for sample in op.samples()]
IDS = [f"{sample.op.qnn_name()}-{sample.label}" for sample in SAMPLES]
# An op may be known by signature and shape rule alone; the list may only shrink.
WITHOUT_SAMPLES = {"SourceOp"}


def filled(sample: Sample) -> list[Array | None]:
    """Random data for types, given arrays as they are."""
    random = np.random.default_rng(7)
    return [
        None if i is None else _data(random, i) if isinstance(i, TensorType) else i for i in sample.inputs
    ]


def types_of(sample: Sample) -> list[TensorType | None]:
    return [i if i is None or isinstance(i, TensorType) else type_of(i) for i in sample.inputs]


def _data(random: np.random.Generator, tensor_type: TensorType) -> Array:
    shape, dtype = tensor_type.static_shape(), tensor_type.dtype
    if dtype == DType.BOOL_8:
        return random.random(shape) < 0.5
    if dtype.is_float:
        return random.normal(size=shape).astype(dtype.numpy)
    low = -5 if dtype.is_signed else 0
    return random.integers(low, 6, shape).astype(dtype.numpy)


def graph_of(sample: Sample) -> tuple[Graph, dict[str, Array]]:
    """A graph of the one op whose typed inputs are graph inputs and whose arrays are constants."""
    graph, feed, names = Graph("sample"), {}, []
    for index, (given, array) in enumerate(zip(sample.inputs, filled(sample), strict=True)):
        name = "" if given is None else f"x{index}"
        names.append(name)
        if isinstance(given, TensorType):
            feed[graph.add_input(name, given)] = array
        elif given is not None:
            graph.add_constant(name, array)
    count = len(sample.op.infer(*types_of(sample)))
    graph.add(Node("n", sample.op, names, [f"y{i}" for i in range(count)]))
    graph.outputs = [f"y{i}" for i in range(count)]
    return graph, feed


@pytest.mark.parametrize("sample", SAMPLES, ids=IDS)
def test_shape_rule_gives_the_type_that_the_reference_computes(sample: Sample) -> None:
    if not sample.op.has_reference():
        assert sample.op.infer(*types_of(sample))
        return
    with np.errstate(all="ignore"):
        found = sample.op.compute(*filled(sample))
    for expected, array in zip(sample.op.infer(*types_of(sample)), found, strict=True):
        assert array.shape == expected.shape
        assert array.dtype == expected.dtype.numpy


@pytest.mark.parametrize(
    "sample", [s for s in SAMPLES if s.op.has_reference()], ids=lambda s: f"{s.op.qnn_name()}-{s.label}"
)
def test_cpu_backend_agrees_with_the_reference(sample: Sample) -> None:
    graph, feed = graph_of(sample)
    with np.errstate(all="ignore"):
        expected = sample.op.compute(*filled(sample))
    found = CpuBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    for name, array in zip(graph.outputs, expected, strict=True):
        np.testing.assert_allclose(
            found[name].astype(np.float64),
            array.astype(np.float64),
            rtol=2e-4,
            atol=2e-5,
            err_msg=sample.label,
        )


def test_every_op_has_a_sample() -> None:
    sampled = {sample.op.qnn_name() for sample in SAMPLES}
    assert set(REGISTRY) - sampled == WITHOUT_SAMPLES

"""Every sample of every op: the GPU computes what the CPU does, or refuses it before it runs."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.errors import BadInput, EdgewrightError
from tests.unit.ops.test_samples import IDS, SAMPLES, graph_of

# What the provider has no kernel for, written in other ops; a product and a window for comparison.
WRITTEN_OTHERWISE = (
    *("ElementWiseOr", "ElementWiseXor", "ElementWiseRound", "ElementWiseSign", "LogSoftmax", "SpaceToDepth"),
    *("Conv2d", "PoolMax2d", "Argmax", "TopK"),
)
PAIRS = [(sample, name) for sample, name in zip(SAMPLES, IDS, strict=True) if sample.op.has_reference()]


def run_both(sample):
    """The results of both; nothing where the GPU refuses the op."""
    graph, feed = graph_of(sample)
    expected = find_backend("cpu").prepare(graph, RunOptions(threads=1)).run(feed)
    try:
        session = find_backend("gpu").prepare(graph, RunOptions(threads=1))
    except BadInput:
        raise
    except EdgewrightError:
        return None
    assert set(session.placement().values()) == {"gpu"}
    return session.run(feed), expected


def check_results(found, expected):
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        if array.dtype.kind != "f":
            assert np.array_equal(found[name], array)
            continue
        scale = np.abs(array[np.isfinite(array)]).max(initial=0)
        assert np.allclose(found[name], array, rtol=0, atol=1e-5 * scale, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("op", WRITTEN_OTHERWISE)
def test_an_op_runs_on_the_gpu_and_gives_the_results_of_the_cpu(op):
    pairs = [run_both(sample) for sample, _ in PAIRS if sample.op.qnn_name() == op]
    taken = [pair for pair in pairs if pair is not None]
    assert taken
    for found, expected in taken:
        check_results(found, expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize("sample", [sample for sample, _ in PAIRS], ids=[name for _, name in PAIRS])
def test_no_op_fails_or_gives_other_results_once_it_was_taken(sample):
    pair = run_both(sample)
    if pair is not None:
        check_results(*pair)

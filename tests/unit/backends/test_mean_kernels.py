"""Padded average pools of integers by our kernel: the same means as by the engine's own ops and by numpy."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu.compiled import SWITCH, find_kernels
from edgewright.backends.cpu.writer import Writer
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.pool import PoolAvg2d

SHAPE = (2, 7, 5, 600)
TILES = {"filter_size": (2, 2), "stride": (2, 2), "pad_amount": ((0, 1), (0, 1))}
AROUND = {"filter_size": (3, 3), "stride": (1, 1), "pad_amount": ((1, 1), (1, 1))}


@pytest.fixture(autouse=True)
def _forget_kernels():
    find_kernels.cache_clear()
    yield
    find_kernels.cache_clear()


@pytest.fixture
def written(monkeypatch):
    """The kinds of engine ops, as they are written."""
    kinds, write = [], Writer.node
    monkeypatch.setattr(Writer, "node", lambda w, op, *a, **k: kinds.append(op) or write(w, op, *a, **k))
    return kinds


def make_pool(bits, ratio, windows):
    dtype = {8: DType.UFIXED_POINT_8, 16: DType.UFIXED_POINT_16}[bits]
    before = Encoding((2.0**-bits,), (-(1 << bits) // 3,), bitwidth=bits)
    after = Encoding((2.0**-bits / ratio,), (-(1 << bits) // 2,), bitwidth=bits)
    graph = Graph("pool")
    graph.add_input("x", TensorType(SHAPE, dtype, None, before))
    op = PoolAvg2d(**windows)
    (made,) = op.infer(TensorType(SHAPE, dtype))
    graph.add(Node("n", op, ["x"], ["y"]), [TensorType(made.shape, dtype, None, after)])
    graph.outputs = ["y"]
    return graph, np.random.default_rng(bits).integers(0, 1 << bits, SHAPE).astype(dtype.numpy)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.7])
@pytest.mark.parametrize("windows", [TILES, AROUND])
def test_means_are_those_of_the_engines_own_ops(monkeypatch, written, bits, ratio, windows):
    graph, x = make_pool(bits, ratio, windows)
    compiled = HtpSimBackend().prepare(graph, RunOptions()).run({"x": x})["y"]
    assert f"AveragePresent{bits}" in written
    written.clear()
    monkeypatch.setenv(SWITCH, "0")
    find_kernels.cache_clear()
    plain = HtpSimBackend().prepare(graph, RunOptions()).run({"x": x})["y"]
    assert "AveragePool" in written
    np.testing.assert_array_equal(compiled, plain)
    assert compiled.std() > 0

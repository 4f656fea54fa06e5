"""Clamps on the genuine emulator, which drops some of them: the bounds hold all the same."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from tests.native.nets import clamp_net


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-0.4, 0.5), (0.3, 1.0)])
@pytest.mark.parametrize("written", [(-2.0, 2.0), (0.0, 1.5)])
def test_a_clamp_keeps_its_bounds_whatever_its_encoding_covers(bits, bounds, written):
    graph = clamp_net(bounds, bits, written)
    given, kept = graph.types["x"], graph.types["y"]
    x = np.random.default_rng(0).integers(0, 1 << bits, given.shape).astype(given.dtype.numpy)
    simulated = find_backend("htp-sim").prepare(graph, RunOptions(threads=1)).run({"x": x})["y"]
    emulated = find_backend("htp-native").prepare(graph, RunOptions()).run({"x": x})["y"]
    first, second = kept.encoding.decode(simulated), kept.encoding.decode(emulated)
    # Two steps of 8 bits in a range of 4.
    assert np.abs(first - second).max() <= 2 * 4 / 255

"""Biases of half precision that have no leading one: HTP reads them with one, and so does the simulation."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.matmul import FullyConnected
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet

CHANNELS = 32
NONE, ONE = ((0, 0), (0, 0)), ((1, 1), (1, 1))
# The second is the largest that has no leading one, the third has one.
BIASES = (1e-6, 1023 * 2.0**-24, 2.0**-14, -0.0, 0.0, -3e-5, 2.0**-24, -0.1)
PRODUCTS: list[tuple[Op, tuple[int, ...]]] = [
    (FullyConnected(), (CHANNELS, CHANNELS)),
    (Conv2d(stride=(1, 1), pad_amount=ONE), (3, 3, CHANNELS, CHANNELS)),
    (TransposeConv2d(stride=(2, 2), pad_amount=NONE), (2, 2, CHANNELS, CHANNELS)),
    (DepthWiseConv2d(stride=(2, 2), pad_amount=ONE), (3, 3, 1, CHANNELS)),
    # A factor for each channel adds what is written.
    (DepthWiseConv2d(stride=(1, 1), pad_amount=NONE), (1, 1, 1, CHANNELS)),
]


@pytest.mark.parametrize(("op", "shape"), PRODUCTS, ids=lambda value: getattr(value, "name", None))
def test_small_biases_are_added_as_the_emulator_does(op: Op, shape: tuple[int, ...]) -> None:
    simulated, found = run_both(op, shape, np.resize(BIASES, CHANNELS))
    # In these one element in a thousand may be the next float.
    is_near = isinstance(op, TransposeConv2d) or shape[:2] == (1, 1)
    allowed = 1e-3 if is_near else 0.0
    assert np.mean(simulated != found) <= allowed


def run_both(op: Op, shape: tuple[int, ...], bias: Array) -> tuple[Array, Array]:
    net = RandomNet("fp16", np.random.default_rng(0))
    value = net.add_input(8, CHANNELS) if len(shape) == 2 else net.add_input(1, 8, 8, CHANNELS)
    weights = net.add_constant(net.random.normal(0, 0.2, shape))
    kind = TensorType(bias.shape, DType.FLOAT_16)
    added = net.graph.add_constant("bias", bias.astype(np.float16), kind)
    net.real[added] = bias
    graph, feed = net.finish(net.add(op, value, weights, added))
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    return simulated[graph.outputs[0]], found[graph.outputs[0]]

"""Values with a column of ones between two products of matrices, as linear attention has them."""

from dataclasses import replace

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.ir.graph import Node
from edgewright.ops.activation import Relu
from edgewright.ops.matmul import MatMul
from edgewright.ops.rearrange import Transpose
from edgewright.ops.rearrange_fill import Pad, Scheme
from edgewright.ops.rearrange_slice import Split
from tests.native.random_nets import RandomNet

ONES = Pad(scheme=Scheme.CONSTANT, pad_amount=((0, 0), (0, 0), (0, 0), (0, 1)), pad_constant_value=1.0)


def make_net(form: str, rows: int, width: int, heads: int = 8):
    net = RandomNet(form, np.random.default_rng(rows + width))
    turned = net.add(Transpose(perm=(0, 1, 3, 2)), net.add_input(1, heads, 3 * width, rows))
    kind, parts = net.graph.types[turned], ["queries", "keys", "values"]
    split = Split(axis=3, split_index=(width, 2 * width))
    types = [replace(kind, shape=(1, heads, rows, width))] * 3
    net.graph.add(Node("split", split, [turned], parts), types)
    net.real |= dict(zip(parts, np.split(net.real[turned], 3, axis=3), strict=True))
    queries, keys = (net.add(Relu(), part) for part in parts[:2])
    summed = net.add(MatMul(transpose_in0=True), keys, net.add(ONES, parts[2]))
    return net.finish(net.add(MatMul(), queries, summed))


@pytest.mark.parametrize(("rows", "width"), [(16, 16), (4, 16), (49, 16), (64, 32)])
def test_no_column_is_lost(rows, width):
    graph, feed = make_net("w8a8", rows, width)
    found = find_backend("htp-native").prepare(graph, RunOptions(threads=1)).run(feed)
    simulated = find_backend("htp-sim").prepare(graph, RunOptions(threads=1)).run(feed)
    for name in graph.outputs:
        assert np.abs(found[name].astype(int) - simulated[name]).max() <= 1

"""Resized images of 8 and 16 bits, as HTP rounds them: to steps of the input, then to those of the output."""

import numpy as np

from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.requantize import shift_down
from edgewright.backends.htp.wide_moves import find_coarse_factor
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node


def repeat_places(graph: Graph, node: Node) -> SumForm | None:
    """Places of an image as they are, in another scale: a table."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None or x.scales == y.scales:
        return None
    factor, added = find_coarse_factor(x, y)
    last, stored = (1 << y.bitwidth) - 1, graph.types[node.outputs[0]].dtype.numpy
    steps = np.floor((np.arange(1 << x.bitwidth) + float(x.offsets[0])) * factor + added)
    table = np.clip(steps - y.offsets[0], 0, last).astype(stored)
    return SumForm({}, tables={node.inputs[0]: (table + float(y.offsets[0])).astype(np.float32)})


def blend_places(graph: Graph, node: Node) -> SumForm | None:
    """What lies between places is a whole number of the input's steps, halves up."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    factor, added = find_coarse_factor(x, y) if x.scales != y.scales else (1.0, 0.5)
    rounded = (Step("Add", np.asarray(0.5, np.float32)), Step("Floor"))
    steps = (*rounded, *shift_down(np.asarray(factor), np.asarray(added)))
    return SumForm({node.inputs[0]: Encoding((1.0,), x.offsets)}, {}, steps)

"""Resized images of 8 and 16 bits, as HTP rounds them: to steps of the input, then to those of the output."""

import numpy as np

from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.requantize import shift_down
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node

# Bits of the factor from one scale to the other; below this ratio values are rounded to parts first.
FACTOR_BITS, LARGEST_PARTED, PARTS = 15, 0.5, 128


def repeat_places(graph: Graph, node: Node) -> SumForm | None:
    """Places of an image as they are, in another scale: a table."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None or x.scales == y.scales:
        return None
    factor, added = _find_factor(x, y)
    last, stored = (1 << y.bitwidth) - 1, graph.types[node.outputs[0]].dtype.numpy
    steps = np.floor((np.arange(1 << x.bitwidth) + float(x.offsets[0])) * factor + added)
    table = np.clip(steps - y.offsets[0], 0, last).astype(stored)
    return SumForm({}, tables={node.inputs[0]: (table + float(y.offsets[0])).astype(np.float32)})


def blend_places(graph: Graph, node: Node) -> SumForm | None:
    """What lies between places is a whole number of the input's steps, halves up."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    factor, added = _find_factor(x, y) if x.scales != y.scales else (1.0, 0.5)
    rounded = (Step("Add", np.asarray(0.5, np.float32)), Step("Floor"))
    steps = (*rounded, *shift_down(np.asarray(factor), np.asarray(added)))
    return SumForm({node.inputs[0]: Encoding((1.0,), x.offsets)}, {}, steps)


def _find_factor(x: Encoding, y: Encoding) -> tuple[float, float]:
    """What steps are multiplied with, and what is added before they are cut."""
    ratio = float(np.float32(x.scales[0]) / np.float32(y.scales[0]))
    bits = FACTOR_BITS - 1 - int(np.floor(np.log2(ratio)))
    half_part = 0.5 / PARTS if ratio < LARGEST_PARTED else 0.0
    return float(np.floor(ratio * 2.0**bits + 0.5) / 2.0**bits), 0.5 + half_part

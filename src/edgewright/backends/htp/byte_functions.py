"""Functions of 8 bits, as HTP tabulates them: in float32, operation by operation."""

import numpy as np

from edgewright.backends.cpu.sums import SumForm
from edgewright.ir.graph import Graph, Node

INTEGERS = 256
THREE, SIX = np.float32(3), np.float32(6)


def compute_gate(graph: Graph, node: Node) -> SumForm | None:
    """HardSwish of what is stored, halves to the even integer."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None:
        return None
    real = (np.arange(INTEGERS) + x.offsets[0]).astype(np.float32) * np.float32(x.scales[0])
    gated = real * np.clip(real + THREE, np.float32(0), SIX) / SIX
    steps = gated * (np.float32(1) / np.float32(y.scales[0])) - np.float32(y.offsets[0])
    return SumForm({node.inputs[0]: x}, table=np.clip(np.rint(steps), 0, INTEGERS - 1).astype(np.uint8))

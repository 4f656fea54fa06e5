"""Activations whose work the product before them has done: they pass its integers on."""

import numpy as np

from edgewright.backends.cpu.sums import SumForm
from edgewright.backends.htp.bent_sums import find_bend
from edgewright.backends.htp.gated_sums import has_same_image, is_gated
from edgewright.backends.htp.products import can_bend
from edgewright.ir.graph import Graph, Node


def pass_gated(graph: Graph, node: Node) -> SumForm | None:
    """A HardSwish behind a product and moves of its result; None where it has work to do."""
    maker = graph.producer(node.inputs[0])
    while maker is not None and has_same_image(graph, maker):
        maker = graph.producer(maker.inputs[0])
    is_done = maker is not None and can_bend(graph, maker) and is_gated(graph, maker)
    return _pass_integers(graph, node) if is_done else None


def pass_bent(graph: Graph, node: Node) -> SumForm | None:
    """A Prelu right behind a product; None where it has work to do."""
    maker = graph.producer(node.inputs[0])
    is_done = maker is not None and can_bend(graph, maker) and find_bend(graph, maker) is not None
    return _pass_integers(graph, node) if is_done else None


def _pass_integers(graph: Graph, node: Node) -> SumForm:
    kind = graph.types[node.inputs[0]]
    assert kind.encoding is not None
    table = np.arange(1 << kind.encoding.bitwidth).astype(kind.dtype.numpy)
    return SumForm({node.inputs[0]: kind.encoding}, table=table)

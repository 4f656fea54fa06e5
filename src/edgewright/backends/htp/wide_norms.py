"""RmsNorm, as HTP rounds it."""

import numpy as np

from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.backends.htp.requantize import is_wide
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given


def cut_root_norm(graph: Graph, node: Node) -> SumForm | None:
    """RmsNorm without a bias: steps are cut."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    name = given(node.inputs, 1)
    is_known = not given(node.inputs, 2) and (not name or name in graph.constants)
    if x is None or y is None or not is_known:
        return None
    constants = {name: _decode_constant(graph, name)} if name else {}
    scale = Step("Div", np.asarray(y.scales[0], np.float32))
    cut = (Step("Floor"),) if is_wide(graph.types[node.outputs[0]]) else _cut_halves(-y.offsets[0])
    return SumForm({node.inputs[0]: x}, constants, (scale, *cut))


def _cut_halves(zero: int) -> tuple[Step, ...]:
    """Steps, counted from the lowest integer, have the 11 bits of a float16 first."""
    added = np.asarray(zero, np.float32)
    halves = Step("Cast", to=DType.FLOAT_16), Step("Cast", to=DType.FLOAT_32)
    return Step("Add", added), *halves, Step("Floor"), Step("Sub", added)


def _decode_constant(graph: Graph, name: str) -> Array:
    encoding, array = graph.types[name].encoding, graph.constants[name]
    return (array if encoding is None else encoding.decode(array)).astype(np.float32)

"""Rewrites a copy of a graph into the form that a plan describes."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.quant import Convert
from edgewright.quantize.assign import Plan
from edgewright.quantize.encodings import compute_covered_range
from edgewright.quantize.pins import Placed
from edgewright.quantize.spans import MASKED


def apply_plan(graph: Graph, plan: Plan) -> Graph:
    """The graph with fixed-point types and constants, and conversions where a reader needs another form."""
    return _Rewriting(graph.copy(), plan).run()


class _Rewriting:
    def __init__(self, graph: Graph, plan: Plan) -> None:
        self._graph, self._plan = graph, plan
        self._encoded: dict[tuple[str, Placed], str] = {}
        self._converted: dict[tuple[str, Placed], str] = {}

    def run(self) -> Graph:
        for value, placed in self._plan.values.items():
            self._graph.types[value] = _make_type(self._graph.types[value], placed)
        # Uses of a constant that share its first form keep its name; others get a copy.
        originals = dict(self._graph.constants)
        for node in self._graph.nodes:
            self._rewire(node, originals)
        for value in originals:
            if not self._graph.consumers(value) and value not in self._graph.outputs:
                self._graph.drop_constant(value)
        self._graph.sort()
        self._plan.report.converts = len(self._converted)
        return self._graph

    def _rewire(self, node: Node, originals: dict[str, Array]) -> None:
        for place, value in enumerate(list(node.inputs)):
            placed = self._plan.reads.get((node.name, place))
            if placed is None:
                continue
            if value in originals:
                self._graph.set_input(node, place, self._store_constant(value, originals[value], placed))
            elif placed != self._plan.values.get(value):
                self._graph.set_input(node, place, self._convert_value(value, placed))

    def _store_constant(self, value: str, array: Array, placed: Placed) -> str:
        """The constant in the form that is read; the first form takes the constant's own name."""
        if (value, placed) not in self._encoded:
            is_first = not any(name == value for name, _ in self._encoded)
            stored, tensor_type = _encode_array(array, placed), _make_type(self._graph.types[value], placed)
            if is_first and value not in self._graph.outputs:
                self._graph.constants[value], self._graph.types[value] = stored, tensor_type
                self._encoded[value, placed] = value
            else:
                name = self._graph.add_constant(self._graph.fresh_name(value), stored, tensor_type)
                self._graph.source_names[name] = self._graph.source_names.get(value, value)
                self._encoded[value, placed] = name
        return self._encoded[value, placed]

    def _convert_value(self, value: str, placed: Placed) -> str:
        key = (value, placed)
        if key not in self._converted:
            source = self._graph.types[value]
            op = Convert(dtype=placed.dtype, encoding=placed.encoding, source=source.encoding)
            name = self._graph.fresh_name(f"{value}_{placed.dtype.name.lower()}")
            node = Node(self._graph.fresh_name(f"{value}_convert"), op, [value], [name])
            self._graph.add(node, [_make_type(source, placed)])
            self._converted[key] = name
        return self._converted[key]


def _make_type(tensor_type: TensorType, placed: Placed) -> TensorType:
    return TensorType(tensor_type.shape, placed.dtype, tensor_type.layout, placed.encoding)


def _encode_array(array: Array, placed: Placed) -> Array:
    if placed.encoding is None:
        # What half precision cannot hold is infinite in it.
        with np.errstate(over="ignore"):
            return array.astype(placed.dtype.numpy, copy=False)
    if np.isinf(array).any() or float(array.min(initial=0.0)) < MASKED:
        # A mask of minus infinity, or nearly so: the lowest step stands for it.
        low, high = compute_covered_range(placed.encoding, placed.dtype)
        array = np.clip(array, low.min(), high.max()).astype(np.float32)
    return placed.encoding.encode(array, placed.dtype)

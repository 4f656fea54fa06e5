"""What each op adds to the noise by itself: exact inputs, rounded weights, a rounded result."""

from collections.abc import Mapping, Sequence

import numpy as np

from edgewright.analyse.channel_gains import ChannelGains
from edgewright.analyse.comparison_points import ComparisonPoint, align_layout
from edgewright.analyse.noise import Noise
from edgewright.analyse.saturation_limits import SaturationLimits
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.quant import Convert

# The whole, and the part that comes from rounded weights, in dB.
OwnNoise = tuple[float | None, float | None]
Feeds = Sequence[Mapping[str, Array]]


def measure_own_noise(
    source: Graph, quantized: Graph, points: Sequence[ComparisonPoint], feeds: Feeds, gains: ChannelGains
) -> dict[str, OwnNoise]:
    """The noise of each point by value; those that cannot be computed alone are left out.

    ``gains`` undo the scales that channels of a value were given before rounding.
    """
    isolated = _IsolatedOps(source, quantized, gains)
    known_points = [point for point in points if isolated.add(point)]
    try:
        return isolated.measure(known_points, feeds) if known_points else {}
    except EdgewrightError:
        # An op that only runs in its place: the noise up to here is known, its own is not.
        return {}


class _IsolatedOps:
    """A graph of single ops, each with inputs of its own: what the float model has in their places."""

    def __init__(self, source: Graph, quantized: Graph, gains: ChannelGains) -> None:
        self._source, self._quantized, self._gains = source, quantized, gains
        self._graph = Graph("isolated")
        # Results get the names that they have there: nothing else may be called so.
        self._graph.reserve((*quantized.types, *source.types))
        self._inputs: dict[str, str] = {}

    def add(self, point: ComparisonPoint) -> bool:
        """Adds the ops of a point; False where one of its inputs is not in the float model."""
        inside: dict[str, str] = {}
        if self._is_passed_on(point.node):
            return False
        if any(node.subgraphs or not self._is_known(node, point) for node in point.nodes):
            return False
        for node in point.nodes:
            inputs = [self._add_input(value, inside) for value in node.inputs]
            outputs = [self._graph.fresh_name(value) if value else "" for value in node.outputs]
            inside.update(zip(node.outputs, outputs, strict=True))
            types = [self._make_float_type(value) for value in node.outputs if value]
            self._graph.add(Node(self._graph.free_name(node.name), node.op, inputs, outputs), types)
        self._graph.rename_value(inside[point.value], point.value)
        self._graph.outputs.append(point.value)
        return True

    def measure(self, points: Sequence[ComparisonPoint], feeds: Feeds) -> dict[str, OwnNoise]:
        values = list(dict.fromkeys([*self._inputs, *(point.value for point in points)]))
        given = [value for value in values if value in self._source.inputs]
        before = self._source.copy()
        before.outputs = [value for value in values if value not in given]
        exact, alone = (CpuBackend().prepare(graph, RunOptions()) for graph in (before, self._graph))
        sums = {point.value: (Noise(), Noise()) for point in points}
        for feed in feeds:
            truth = {**exact.run(feed), **{value: np.asarray(feed[value]) for value in given}}
            results = alone.run(
                {name: self._scale_value(value, truth) for value, name in self._inputs.items()}
            )
            for value, (whole, weights) in sums.items():
                expected = align_layout(truth[value], self._quantized.types[value].static_shape())
                gain = self._find_gain(value)
                limits = SaturationLimits(self._quantized, value)
                clip = limits.clip if self._gains.is_plain(value) else np.asarray
                weights.add(clip(expected), clip(results[value]) * gain)
                whole.add(clip(expected), self._round_value(value, results[value]) * gain)
        return {value: (whole.sqnr_db(), weights.sqnr_db()) for value, (whole, weights) in sums.items()}

    def _is_passed_on(self, node: Node) -> bool:
        """Whether the op rounds nothing: what it reads has the encoding of its result."""
        types = self._quantized.types
        read = types.get(node.inputs[0]) if node.inputs else None
        return (
            node.op.keeps_encoding and read is not None and read.encoding == types[node.outputs[0]].encoding
        )

    def _is_known(self, node: Node, point: ComparisonPoint) -> bool:
        made = {value for other in point.nodes for value in other.outputs}
        return all(
            not value
            or value in made
            or value in self._quantized.constants
            or self._find_source_value(value) is not None
            for value in node.inputs
        )

    def _find_source_value(self, value: str) -> str | None:
        """The value of the float model that a node reads, behind changes of precision."""
        maker = self._quantized.producer(value)
        while value not in self._source.types and maker is not None and isinstance(maker.op, Convert):
            value = maker.inputs[0]
            maker = self._quantized.producer(value)
        source_type = self._source.types.get(value)
        if value in self._gains.unknown:
            return None
        return value if source_type is not None and source_type.is_static else None

    def _add_input(self, value: str, inside: Mapping[str, str]) -> str:
        if not value or value in inside:
            return inside.get(value, "")
        if value in self._quantized.constants:
            return self._add_constant(value)
        base = self._find_source_value(value)
        assert base is not None
        if base not in self._inputs:
            name = self._graph.fresh_name(base)
            self._inputs[base] = self._graph.add_input(name, self._make_float_type(base))
        return self._inputs[base]

    def _add_constant(self, value: str) -> str:
        if value not in self._graph.constants:
            encoding, array = self._quantized.types[value].encoding, self._quantized.constants[value]
            real = array if encoding is None else encoding.decode(array)
            is_half = real.dtype == np.float16
            self._graph.add_constant(value, real.astype(np.float32) if is_half else real)
        return value

    def _make_float_type(self, value: str) -> TensorType:
        """The type of a value in the quantized graph's layout and the float graph's precision."""
        before, after = self._source.types.get(value), self._quantized.types.get(value)
        kind = after or before
        assert kind is not None
        if kind.encoding is None and not kind.dtype.is_float:
            return kind
        return TensorType(kind.shape, DType.FLOAT_32 if before is None else before.dtype, kind.layout)

    def _scale_value(self, value: str, truth: Mapping[str, Array]) -> Array:
        """A value of the float model as the quantized graph has it."""
        array = truth[value]
        if value in self._quantized.types:
            array = align_layout(array, self._quantized.types[value].static_shape())
        if self._gains.is_plain(value) or array.dtype.kind != "f":
            return array
        return np.asarray(array / self._find_gain(value), array.dtype)

    def _find_gain(self, value: str) -> Array:
        gain = self._gains.broadcast_gain(self._quantized, value)
        return np.ones((), np.float32) if gain is None else gain

    def _round_value(self, value: str, real: Array) -> Array:
        kind = self._quantized.types[value]
        if kind.encoding is not None:
            return kind.encoding.decode(kind.encoding.encode(real, kind.dtype))
        return real.astype(kind.dtype.numpy).astype(np.float32)

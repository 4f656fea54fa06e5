"""Encodings that hold their values worse than a fresh calibration on the same data would.

Each layer loses something by itself, some ten dB more than others: how much says little about what is wrong.
How much more than it had to says it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.analyse.channel_gains import find_channel_gains
from edgewright.analyse.comparison_points import align_layout, is_activation, is_fused_away
from edgewright.analyse.noise import Noise
from edgewright.analyse.saturation_limits import SaturationLimits
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.executor import CpuExecutor
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.quantize.encodings import Grid, compute_covered_range
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles

Feeds = Sequence[Mapping[str, Array]]
# Ways to choose ranges, the plain one first: the one that the model's ranges are closest to is compared with.
SCHEMES = ("tf", "auto", "mse", "percentile", "entropy", "enhanced", "symmetric")
# Ranges that agree so well come from the same scheme and data; where few do not, the scheme is known.
SAME_RANGE, FEW_STRANGERS = 0.005, 0.05
# Finer than this is exact for every purpose, such as biases of 32 bits.
FINE_DB = 70.0
# Noise of so many samples tells enough of the others.
NOISE_SAMPLES = 4
# Less than this is what other data of the same kind would change.
ODD_DB = 1.0


@dataclass(frozen=True)
class OddEncoding:
    """A tensor whose encoding loses more than one calibrated on these samples."""

    # The tensor that the encoding is of, and the layer: its result, or the result that its weights make.
    tensor: str
    source: str
    layer: str
    is_weight: bool
    # What is left in dB, what a fresh encoding leaves, and the difference.
    own_db: float
    fresh_db: float
    excess_db: float
    # The range that it holds, and the one that a fresh encoding has.
    low: float
    high: float
    fresh_low: float
    fresh_high: float

    def describe(self) -> str:
        """One sentence: the layer, what its encoding costs, and the range that it should have."""
        held = f"its range {self.low:.4g} to {self.high:.4g} costs"
        part = f"its weights '{self.source}' cost" if self.is_weight else held
        fresh = f"a calibration on these samples ({self.fresh_low:.4g} to {self.fresh_high:.4g})"
        return f"{self.layer}: {part} {self.excess_db:.1f} dB more than {fresh}"


def find_odd_encodings(
    source: Graph, quantized: Graph, feeds: Feeds, scheme: str = "tf"
) -> tuple[OddEncoding, ...]:
    """All tensors that could do better with the same bits, the worst first; tensors of one encoding once.

    Args:
        source: the float graph.
        quantized: made from it, with any encodings.
        feeds: inputs of the float graph; what they calibrate is compared with.
        scheme: how its ranges were most likely chosen; others are tried where most ranges are not as it says.
    """
    reference = _find_reference(source, quantized, feeds, scheme)
    search = _Search(source, quantized, reference)
    entries = [*search.measure_activations(feeds), *search.measure_weights()]
    best: dict[tuple[str, bool], OddEncoding] = {}
    for entry in sorted(entries, key=lambda entry: -entry.excess_db):
        best.setdefault((entry.layer, entry.is_weight), entry)
    return tuple(entry for entry in best.values() if entry.excess_db > 0)


def list_shared_values(graph: Graph, value: str) -> list[str]:
    """A value and those that have its encoding from it, or it from them: through moves and fused activations.

    Others may have an equal encoding by chance, as all do that end at the 6 of a Relu6.
    """
    shared, front = {value}, [value]
    while front:
        here = front.pop()
        maker = graph.producer(here)
        nodes = [*graph.consumers(here), *([] if maker is None else [maker])]
        for node in nodes:
            if not (node.op.keeps_encoding or is_activation(node)):
                continue
            for other in (*node.inputs, *node.outputs):
                is_same = other in graph.types and graph.types[other].encoding == graph.types[value].encoding
                if is_same and other not in shared and other not in graph.constants:
                    shared.add(other)
                    front.append(other)
    return sorted(shared)


def _find_reference(source: Graph, quantized: Graph, feeds: Feeds, first: str) -> Graph:
    """The float graph quantized afresh, in the way that most ranges of the quantized one agree with."""
    best: tuple[float, Graph] | None = None
    for scheme in dict.fromkeys((first, *SCHEMES)):
        graph = quantize_graph(source, _make_request(quantized, scheme), feeds, CpuExecutor()).graph
        strangers = _count_other_ranges(quantized, graph)
        if best is None or strangers < best[0]:
            best = (strangers, graph)
        if strangers <= FEW_STRANGERS:
            break
    assert best is not None
    return best[1]


def _make_request(quantized: Graph, scheme: str) -> QuantizationRequest:
    """Widths as most tensors have them."""
    made = [quantized.types[value] for node in quantized.nodes for value in node.outputs if value]
    bits = [kind.encoding.bitwidth for kind in made if kind.encoding is not None]
    wide = sum(width == 16 for width in bits) > len(bits) / 2
    weights = [
        quantized.types[node.inputs[place]].encoding
        for node in quantized.nodes
        for place in find_roles(quantized, node).weights
    ]
    known = [encoding for encoding in weights if encoding is not None]
    per_channel = sum(encoding.axis is not None for encoding in known) * 2 > len(known)
    widths = [encoding.bitwidth for encoding in known]
    weight_bits = max(set(widths), key=widths.count) if widths else 8
    return QuantizationRequest(
        act_bw=16 if wide else 8,
        weight_bw=weight_bits if weight_bits in {4, 8, 16} else 8,
        act_quantizer=scheme,
        per_channel=per_channel,
        uniform=scheme != "auto",
    )


def _count_other_ranges(quantized: Graph, reference: Graph) -> float:
    """The share of tensors whose ranges have another width."""
    ratios = []
    for node in quantized.nodes:
        for value in filter(None, node.outputs):
            kinds = [graph.types.get(value) for graph in (quantized, reference)]
            if all(kind is not None and _is_single(kind) for kind in kinds):
                widths = [max(high - low, 1e-30) for low, high in map(_find_range, filter(None, kinds))]
                ratios.append(abs(widths[0] / widths[1] - 1) > SAME_RANGE)
    return float(np.mean(ratios)) if ratios else 1.0


def _is_single(kind: TensorType) -> bool:
    return kind.encoding is not None and len(kind.encoding.scales) == 1 and kind.is_static


def _find_range(kind: TensorType) -> tuple[float, float]:
    assert kind.encoding is not None
    low, high = compute_covered_range(kind.encoding, kind.dtype)
    return float(np.min(low)), float(np.max(high))


class _Search:
    """The float graph, the quantized one, and one that was quantized afresh."""

    def __init__(self, source: Graph, quantized: Graph, reference: Graph) -> None:
        self._source, self._quantized, self._reference = source, quantized, reference
        self._gains = find_channel_gains(source, quantized)
        values = [*quantized.inputs, *(value for node in quantized.nodes for value in node.outputs if value)]
        self._values = [value for value in values if self._is_comparable(value)]

    def measure_activations(self, feeds: Feeds) -> Iterable[OddEncoding]:
        """What both encodings leave of each value of the float graph."""
        made = [value for value in self._values if value not in self._source.inputs]
        part = self._source.copy()
        part.outputs = made
        session = CpuBackend().prepare(part, RunOptions()) if made else None
        sums = {value: (Noise(), Noise()) for value in self._values}
        for feed in feeds[:NOISE_SAMPLES]:
            arrays = {**(session.run(feed) if session else {}), **feed}
            for value, noises in sums.items():
                self._add_value(value, np.asarray(arrays[value], np.float32), noises)
        for value, (own, fresh) in sums.items():
            entry = self._make_entry(value, (own.sqnr_db(), fresh.sqnr_db()), self._find_head(value))
            if entry is not None:
                yield entry

    def measure_weights(self) -> Iterable[OddEncoding]:
        """The same of constants that the float graph has in the same shape."""
        for node in self._quantized.nodes:
            for place in find_roles(self._quantized, node).weights:
                value = node.inputs[place]
                graphs = (self._quantized, self._reference)
                if not all(value in graph.constants and graph.types[value].encoding for graph in graphs):
                    continue
                real = self._source.constants.get(value)
                if real is None or real.shape != self._quantized.constants[value].shape:
                    continue
                noises = []
                for graph in graphs:
                    encoding, noise = graph.types[value].encoding, Noise()
                    assert encoding is not None
                    noise.add(np.asarray(real, np.float32), encoding.decode(graph.constants[value]))
                    noises.append(noise.sqnr_db())
                entry = self._make_entry(value, (noises[0], noises[1]), node.outputs[0], is_weight=True)
                if entry is not None:
                    yield entry

    def _is_comparable(self, value: str) -> bool:
        graphs = (self._quantized, self._reference)
        if not all(value in graph.types and _is_single(graph.types[value]) for graph in graphs):
            return False
        kind = self._source.types.get(value)
        return kind is not None and kind.dtype.is_float and kind.is_static and self._gains.is_plain(value)

    def _add_value(self, value: str, array: Array, noises: tuple[Noise, Noise]) -> None:
        kind = self._quantized.types[value]
        turned = align_layout(array, kind.static_shape())
        if turned.size != np.prod(kind.static_shape()):
            return
        clipped = np.clip(SaturationLimits(self._quantized, value).clip(turned), *self._find_clamp(value))
        assert kind.encoding is not None
        for noise, encoding in zip(noises, (kind.encoding, self._find_fresh(value)), strict=True):
            noise.add(clipped, encoding.decode(encoding.encode(clipped, kind.dtype)))

    def _find_clamp(self, value: str) -> tuple[float, float]:
        """What a fused clamp leaves of a value: nothing else can be lost there."""
        if not is_fused_away(self._quantized, value):
            return -np.inf, np.inf
        (reader,) = self._quantized.consumers(value)
        kind = self._reference.types.get(reader.outputs[0])
        is_known = reader.op.specific().is_clamp and kind is not None and _is_single(kind)
        return _find_range(kind) if is_known and kind is not None else (-np.inf, np.inf)

    def _find_fresh(self, value: str) -> Encoding:
        """The reference's range in the bits that the value has here."""
        kind, other = self._quantized.types[value], self._reference.types[value]
        assert kind.encoding is not None
        assert other.encoding is not None
        if (kind.dtype, kind.encoding.bitwidth) == (other.dtype, other.encoding.bitwidth):
            return other.encoding
        low, high = _find_range(other)
        grid = Grid(kind.encoding.bitwidth, is_symmetric=kind.dtype.is_signed)
        return grid.encode_range(low, high)

    def _find_head(self, value: str) -> str:
        """The layer that an encoding belongs to: what passes it on, and what is fused, has no other."""
        types = self._quantized.types
        while True:
            maker = self._quantized.producer(value)
            is_passed = maker is not None and maker.op.keeps_encoding and not is_activation(maker)
            if not is_passed or maker is None or types[maker.inputs[0]].encoding != types[value].encoding:
                break
            if maker.inputs[0] not in self._source.types:
                break
            value = maker.inputs[0]
        while is_fused_away(self._quantized, value):
            (reader,) = self._quantized.consumers(value)
            if types[reader.outputs[0]].encoding != types[value].encoding:
                break
            value = reader.outputs[0]
        return value

    def _make_entry(
        self, value: str, noises: tuple[float | None, float | None], layer: str, *, is_weight: bool = False
    ) -> OddEncoding | None:
        if noises[0] is None or noises[1] is None:
            return None
        own, fresh = (min(noise, FINE_DB) for noise in noises if noise is not None)
        names = self._quantized.source_names
        ranges = (*_find_range(self._quantized.types[value]), *_find_range(self._reference.types[value]))
        return OddEncoding(
            *(value, names.get(value, value), names.get(layer, layer), is_weight),
            *(own, fresh, round(fresh - own, 3)),
            *ranges,
        )

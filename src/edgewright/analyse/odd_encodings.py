"""Encodings that hold their values worse than a fresh calibration on the same data would.

Each layer loses something by itself, some ten dB more than others: how much says little about what is wrong.
How much more than it had to says it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from edgewright.analyse.channel_gains import find_channel_gains
from edgewright.analyse.comparison_points import align_layout, is_activation, is_fused_away
from edgewright.analyse.fresh_encodings import (
    Feeds,
    find_range,
    fit_activation,
    fit_constant,
    has_single_range,
    quantize_afresh,
)
from edgewright.analyse.grid_noise import GridNoise, is_scaled
from edgewright.analyse.saturation_limits import SaturationLimits
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node

# Noise of so many samples tells enough of the others.
NOISE_SAMPLES = 4
# Less than this is what other data of the same kind would change.
ODD_DB = 1.0
# Constants of so many bits are exact for every purpose.
EXACT_BITS = 32


@dataclass(frozen=True)
class OddEncoding:
    """A tensor whose encoding loses more than one calibrated on these samples."""

    # The tensor that the encoding is of, and the layer: its result, or the result that it is a constant of.
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
    # Other tensors that have the same encoding from this one, or from which this one has it.
    shared: tuple[str, ...] = ()

    def describe(self) -> str:
        """One sentence: the layer, what its encoding costs, and the range that it should have."""
        others = f" (shared by {len(self.shared)} more)" if self.shared else ""
        held = f"its range {self.low:.4g} to {self.high:.4g}{others} costs"
        part = f"its constant '{self.source}' ({self.low:.4g} to {self.high:.4g}) costs"
        fresh = f"a calibration on these samples ({self.fresh_low:.4g} to {self.fresh_high:.4g})"
        return f"{self.layer}: {part if self.is_weight else held} {self.excess_db:.1f} dB more than {fresh}"


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
    search = _Search(source, quantized, quantize_afresh(source, quantized, feeds, scheme))
    entries = [*search.measure_activations(feeds), *search.measure_constants()]
    return tuple(sorted((e for e in entries if e.excess_db > 0), key=lambda entry: -entry.excess_db))


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


class _Search:
    """The float graph, the quantized one, and one that was quantized afresh."""

    def __init__(self, source: Graph, quantized: Graph, reference: Graph) -> None:
        self._source, self._quantized, self._reference = source, quantized, reference
        self._gains = find_channel_gains(source, quantized)
        values = [*quantized.inputs, *(value for node in quantized.nodes for value in node.outputs if value)]
        self._values = [value for value in values if self._is_comparable(value)]

    def measure_activations(self, feeds: Feeds) -> Iterable[OddEncoding]:
        """What both encodings leave of the values of the float graph; one entry for each encoding."""
        made = [value for value in self._values if value not in self._source.inputs]
        part = self._source.copy()
        part.outputs = made
        session = CpuBackend().prepare(part, RunOptions()) if made else None
        noises = {value: self._make_noises(value) for value in self._values}
        for feed in feeds[:NOISE_SAMPLES]:
            arrays = {**(session.run(feed) if session else {}), **feed}
            for value, pair in noises.items():
                self._add_value(value, np.asarray(arrays[value], np.float32), pair)
        for group in self._group_values():
            entries = [self._make_activation_entry(value, noises[value], group) for value in group]
            known = [entry for entry in entries if entry is not None]
            if known:
                # The first one of the graph where several lose as much.
                yield max(known, key=lambda entry: entry.excess_db)

    def measure_constants(self) -> Iterable[OddEncoding]:
        """The same of constants that the float graph has in the same shape."""
        for node in self._quantized.nodes:
            for value in dict.fromkeys(node.inputs):
                entry = self._measure_constant(node, value) if value in self._quantized.constants else None
                if entry is not None:
                    yield entry

    def _measure_constant(self, node: Node, value: str) -> OddEncoding | None:
        kind, real = self._quantized.types[value], self._source.constants.get(value)
        if kind.encoding is None or kind.encoding.bitwidth >= EXACT_BITS or real is None:
            return None
        stored = self._quantized.constants[value]
        if real.shape != stored.shape:
            return None
        # Where channels were scaled before rounding, what is stored is the only trace of what was rounded.
        exact, decoded = np.asarray(real, np.float32), kind.encoding.decode(stored)
        if is_scaled(exact, decoded) or not self._gains.is_plain(node.outputs[0]):
            exact = decoded
        fresh = fit_constant(exact, kind, self._reference.types.get(value))
        if fresh is None:
            return None
        noises = (GridNoise(kind.encoding, kind.dtype), GridNoise(fresh, kind.dtype))
        for noise in noises:
            noise.add(exact)
        return self._make_entry(value, noises, node.outputs[0], is_weight=True)

    def _is_comparable(self, value: str) -> bool:
        graphs = (self._quantized, self._reference)
        if not all(value in graph.types and has_single_range(graph.types[value]) for graph in graphs):
            return False
        kind = self._source.types.get(value)
        return kind is not None and kind.dtype.is_float and kind.is_static and self._gains.is_plain(value)

    def _make_noises(self, value: str) -> tuple[GridNoise, GridNoise]:
        kind = self._quantized.types[value]
        assert kind.encoding is not None
        fresh = fit_activation(kind, self._reference.types[value])
        return GridNoise(kind.encoding, kind.dtype), GridNoise(fresh, kind.dtype)

    def _add_value(self, value: str, array: Array, noises: tuple[GridNoise, GridNoise]) -> None:
        shape = self._quantized.types[value].static_shape()
        turned = align_layout(array, shape)
        if turned.size != np.prod(shape):
            return
        # What readers do not see is nothing that a wider range would gain.
        clipped = np.clip(SaturationLimits(self._reference, value).clip(turned), *self._find_clamp(value))
        for noise in noises:
            noise.add(clipped)

    def _find_clamp(self, value: str) -> tuple[float, float]:
        """What a fused clamp leaves of a value: nothing else can be lost there."""
        if not is_fused_away(self._quantized, value):
            return -np.inf, np.inf
        (reader,) = self._quantized.consumers(value)
        kind = self._reference.types.get(reader.outputs[0])
        is_known = reader.op.specific().is_clamp and kind is not None and has_single_range(kind)
        return find_range(kind) if is_known and kind is not None else (-np.inf, np.inf)

    def _group_values(self) -> Iterable[list[str]]:
        """Values that share an encoding, in the order of the graph."""
        known, left = set(self._values), set(self._values)
        for value in self._values:
            if value in left:
                shared = set(list_shared_values(self._quantized, value)) & known
                left -= shared
                yield [other for other in self._values if other in shared]

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

    def _make_activation_entry(
        self, value: str, noises: tuple[GridNoise, GridNoise], group: list[str]
    ) -> OddEncoding | None:
        return self._make_entry(value, noises, self._find_head(value), shared=tuple(group))

    def _make_entry(
        self,
        value: str,
        noises: tuple[GridNoise, GridNoise],
        layer: str,
        *,
        is_weight: bool = False,
        shared: tuple[str, ...] = (),
    ) -> OddEncoding | None:
        own, fresh = (noise.sqnr_db() for noise in noises)
        if own is None or fresh is None:
            return None
        names = self._quantized.source_names
        others = {names.get(other, other) for other in shared} - {names.get(value, value)}
        return OddEncoding(
            *(value, names.get(value, value), names.get(layer, layer), is_weight),
            *(own, fresh, round(fresh - own, 3)),
            *(*noises[0].find_range(), *noises[1].find_range()),
            tuple(sorted(others)),
        )

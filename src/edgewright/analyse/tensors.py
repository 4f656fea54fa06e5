"""The values of the tensors that lose most, beside what their encodings can hold."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from edgewright.analyse.channel_gains import find_channel_gains
from edgewright.analyse.comparison_points import align_layout
from edgewright.analyse.layers import ValueRunner
from edgewright.analyse.noise import EXACT_DB, Noise
from edgewright.analyse.records import Layer, TensorView
from edgewright.analyse.saturation_limits import SaturationLimits
from edgewright.backends.cpu import CpuBackend
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ir.traits import EVERYTHING
from edgewright.quantize.encodings import compute_covered_range
from edgewright.quantize.observers import Extremes, HistogramObserver

VIEW_SAMPLES, MOST_SHOWN, MOST_EXAMINED = 16, 12, 24
BINS = 65
# Half a step beyond the range is rounded, not clipped.
HALF_STEP = 0.5
# A whole step, and what numbers of 32 bits leave of it.
NEARLY = 1.001


def view_worst_tensors(
    source: Graph,
    quantized: Graph,
    samples: Iterable[Mapping[str, Array]],
    layers: Sequence[Layer],
    *,
    count: int = MOST_SHOWN,
) -> tuple[TensorView, ...]:
    """The worst tensors in fixed point: those that add most noise themselves, inputs of the model with them.

    Args:
        source: the float graph; its values are counted.
        quantized: made from it.
        samples: inputs that did not calibrate; some are used.
        layers: what was measured of them.
        count: how many tensors at most.
    """
    measured = [(layer.own_db, layer.tensor) for layer in layers if layer.own_db is not None]
    inputs = [name for name in quantized.inputs if name in source.inputs]
    values = [*inputs, *(tensor for _, tensor in sorted(measured)[:MOST_EXAMINED])]
    values = [value for value in values if _has_single_encoding(quantized, value)]
    collector = _ValueCollector(source, quantized, values, list(itertools.islice(samples, VIEW_SAMPLES)))
    views = collector.collect_views({layer.tensor: layer.sim_db for layer in layers})
    return tuple(sorted(views, key=lambda view: EXACT_DB if view.own_db is None else view.own_db)[:count])


class _ValueCollector:
    """Some values of the float graph, in the scales of the quantized one."""

    def __init__(
        self, source: Graph, quantized: Graph, values: Sequence[str], feeds: Sequence[Mapping[str, Array]]
    ) -> None:
        self._source, self._quantized, self._feeds = source, quantized, feeds
        self._values, self._gains = list(dict.fromkeys(values)), find_channel_gains(source, quantized)
        self._made = [value for value in self._values if value not in source.inputs]

    def collect_views(self, sim_db: Mapping[str, float | None]) -> list[TensorView]:
        """The statistics of each value: one pass for its extremes, one for its histogram."""
        if not self._values or not self._feeds:
            return []
        run = ValueRunner(self._source, CpuBackend(), self._made)
        extremes: dict[str, Extremes] = {}
        for value, array in self._iterate_values(run):
            reach = Extremes.of(array)
            extremes[value] = reach.merge(extremes[value]) if value in extremes else reach
        counts = {value: _TensorStatistics(self._quantized, value, extremes[value]) for value in extremes}
        for value, array in self._iterate_values(run):
            counts[value].add(array)
        names = self._quantized.source_names
        return [count.view(v, names.get(v, v), sim_db.get(v)) for v, count in counts.items()]

    def _iterate_values(self, run: ValueRunner) -> Iterator[tuple[str, Array]]:
        for feed in self._feeds:
            outputs = run(feed) if self._made else {}
            for value in self._values:
                array = np.asarray(outputs[value] if value in outputs else feed[value], np.float32)
                gain = self._gains.broadcast_gain(self._quantized, value)
                moved = align_layout(array, self._quantized.types[value].static_shape())
                yield value, moved if gain is None else moved / gain


class _TensorStatistics:
    """What is known of one value: its histogram, what is beyond its encoding, what rounding costs."""

    def __init__(self, graph: Graph, value: str, extremes: Extremes) -> None:
        kind = graph.types[value]
        self._limits = SaturationLimits(graph, value)
        assert kind.encoding is not None
        self._encoding, self._dtype = kind.encoding, kind.dtype
        low, high = compute_covered_range(kind.encoding, kind.dtype)
        self._low, self._high, self._step = float(low[0]), float(high[0]), kind.encoding.scales[0]
        self._observer, self._noise = HistogramObserver(extremes, BINS), Noise()
        self._rounding = Noise()
        self._beyond = self._size = 0
        self._ends = self._find_own_ends(graph, value)

    def _find_own_ends(self, graph: Graph, value: str) -> tuple[float, float]:
        """Where values end because their op gives no others, a step beyond the encoding's end at most."""
        node = graph.producer(value)
        low, high = EVERYTHING if node is None else node.op.value_range()
        step = self._step * NEARLY
        return (
            self._low if self._low - step <= low <= self._low else -math.inf,
            self._high if self._high <= high <= self._high + step else math.inf,
        )

    def add(self, array: Array) -> None:
        """Another sample."""
        self._observer.add(array)
        self._size += array.size
        # What no reader can see is no loss, nor is the end of what an op can give.
        array = np.clip(self._limits.clip(array), *self._ends)
        rounded = self._encoding.decode(self._encoding.encode(array, self._dtype))
        self._noise.add(array, rounded)
        self._rounding.add(np.clip(array, self._low, self._high), rounded)
        reach = HALF_STEP * self._step
        self._beyond += int(np.count_nonzero((array < self._low - reach) | (array > self._high + reach)))

    def view(self, value: str, source: str, sim_db: float | None) -> TensorView:
        """The record of it."""
        histogram = self._observer.histogram()
        edges = (float(histogram.first[0]) - HALF_STEP + np.arange(BINS + 1)) * float(histogram.width[0])
        # Bins have their centres at whole steps: the outer ones reach beyond the values.
        value_range = min(0.0, float(histogram.extremes.low[0])), max(0.0, float(histogram.extremes.high[0]))
        edges = np.clip(np.clip(edges, *value_range), *self._ends)
        return TensorView(
            tensor=value,
            source=source,
            counts=tuple(histogram.counts[0].tolist()),
            edges=tuple(float(f"{edge:.7g}") for edge in edges),
            bits=self._encoding.bitwidth,
            scale=self._step,
            offset=self._encoding.offsets[0],
            low=self._low,
            high=self._high,
            clipped=self._beyond / max(self._size, 1),
            sim_db=sim_db,
            own_db=self._noise.sqnr_db(),
            rounding_db=self._rounding.sqnr_db(),
        )


def _has_single_encoding(graph: Graph, value: str) -> bool:
    """Whether a value is in fixed point, with one encoding for all of it."""
    encoding = graph.types[value].encoding
    return encoding is not None and len(encoding.scales) == 1 and graph.types[value].is_static

"""How far each layer of a quantized graph is from the float model: in the simulation and on the emulator."""

import itertools
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from edgewright.analyse.channel_gains import find_channel_gains
from edgewright.analyse.comparison_points import ComparisonPoint, align_layout, list_comparison_points
from edgewright.analyse.noise import Noise
from edgewright.analyse.own_noise import OwnNoise, measure_own_noise
from edgewright.analyse.records import Layer
from edgewright.analyse.saturation_limits import SaturationLimits
from edgewright.backends.base import Backend, RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.errors import EdgewrightError
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.ir.contract import dtype_word
from edgewright.ir.graph import Graph, Node
from edgewright.model.surface import Surface
from edgewright.quantize.roles import find_roles

log = logging.getLogger(__name__)

# Samples for the simulation, for the emulator, which is slow, and for what ops add by themselves.
LAYER_SAMPLES, EMULATED_SAMPLES, OWN_SAMPLES = 8, 3, 2
# Elements of all values that are held at a time; some copies of them are made.
MOST_ELEMENTS = 1 << 24

Feeds = Sequence[Mapping[str, Array]]


def measure_layers(
    source: Graph,
    quantized: Graph,
    samples: Iterable[Mapping[str, Array]],
    *,
    emulator: Backend | None = None,
    seconds: float = 60.0,
    most_seconds: float = math.inf,
) -> tuple[Layer, ...]:
    """The layers of a quantized graph in order, each with its distance from the float graph.

    Args:
        source: the float graph.
        quantized: made from it; results with the same names are compared.
        samples: inputs of the float graph that did not calibrate; a few are used.
        emulator: the genuine backend; its distances are None without it and where it refuses a graph.
        seconds: what the emulator may take; values that it has no time for are None.
        most_seconds: what all may take: after it, values that come later are None, the first ones apart.
    """
    count = LAYER_SAMPLES if emulator is None else EMULATED_SAMPLES
    given = list(itertools.islice(samples, LAYER_SAMPLES))
    # From all of them: neighbours in a folder are alike.
    meter = _NoiseMeter(source, quantized, given[:: max(1, len(given) // count)][:count])
    now = time.monotonic()
    deadline, end = now + min(seconds, most_seconds), now + most_seconds
    simulated: dict[str, float | None] = {}
    emulated: dict[str, float | None] = {}
    own: dict[str, OwnNoise] = {}
    points = [
        point for point in list_comparison_points(source, quantized) if point.value not in meter.gains.unknown
    ]
    batches = list(_split_into_batches(quantized, points))
    with announce_progress("comparing layers", total=len(batches)) as step:
        for place, batch in enumerate(batches):
            if place and time.monotonic() > end:
                break
            samples_run = 0
            if emulator is not None:
                noises, samples_run = meter.measure_noises(batch, emulator, deadline=deadline)
                emulated |= noises
            # On the same samples, so that the figures compare.
            known = meter.measure_noises(
                batch, HtpSimBackend(), count=samples_run or count, deadline=end, least=1
            )
            simulated |= known[0]
            own |= meter.measure_own(batch, count=1 if time.monotonic() > end else OWN_SAMPLES)
            step()
    return tuple(
        _make_layer(
            quantized, point, (simulated.get(point.value), emulated.get(point.value)), own.get(point.value)
        )
        for point in points
    )


class ValueRunner:
    """Chosen values of a graph on a backend, as real numbers."""

    def __init__(self, graph: Graph, backend: Backend, values: Sequence[str]) -> None:
        part = graph.copy()
        part.outputs = list(values)
        self._surface = Surface(part)
        self._session = backend.prepare(part, RunOptions())

    def __call__(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The values for one sample."""
        return self._surface.decode_outputs(self._session.run(self._surface.encode_inputs(feed)))


@dataclass
class _NoiseMeter:
    """Two graphs, the samples, and the scales of channels that are no noise."""

    source: Graph
    quantized: Graph
    feeds: Feeds

    def __post_init__(self) -> None:
        self.gains = find_channel_gains(self.source, self.quantized)

    def measure_noises(
        self,
        points: Sequence[ComparisonPoint],
        backend: Backend,
        *,
        count: int = LAYER_SAMPLES,
        deadline: float = math.inf,
        least: int = 0,
    ) -> tuple[dict[str, float | None], int]:
        """The noise of values on a backend in dB, and the samples there was time for.

        Nothing where it refuses the graph. ``least``: so many samples are run however late it is.
        """
        sums = {point.value: Noise() for point in points}
        count_run = 0
        try:
            if least or time.monotonic() < deadline:
                quantized_run = ValueRunner(self.quantized, backend, list(sums))
                float_run = ValueRunner(self.source, CpuBackend(), list(sums))
            for feed in self.feeds[:count]:
                if count_run >= least and time.monotonic() >= deadline:
                    break
                self._add_sample(sums, float_run(feed), quantized_run(feed))
                count_run += 1
        except EdgewrightError as problem:
            log.warning("layers are not compared on %s: %s", backend.name, problem.what)
            return {}, 0
        return {value: noise.sqnr_db() for value, noise in sums.items()} if count_run else {}, count_run

    def _add_sample(
        self, sums: Mapping[str, Noise], references: Mapping[str, Array], results: Mapping[str, Array]
    ) -> None:
        for value, noise in sums.items():
            gain = self.gains.broadcast_gain(self.quantized, value)
            result = results[value] if gain is None else results[value] * gain
            expected = align_layout(references[value], result.shape)
            if gain is None:
                expected = SaturationLimits(self.quantized, value).clip(expected)
            noise.add(expected, result)

    def measure_own(self, points: Sequence[ComparisonPoint], count: int) -> dict[str, OwnNoise]:
        """What ops add by themselves."""
        return measure_own_noise(self.source, self.quantized, points, self.feeds[:count], self.gains)


def _split_into_batches(graph: Graph, points: Sequence[ComparisonPoint]) -> Iterator[list[ComparisonPoint]]:
    """Points whose values are held together."""
    batch: list[ComparisonPoint] = []
    size = 0
    for point in points:
        count = math.prod(graph.types[point.value].static_shape())
        if batch and size + count > MOST_ELEMENTS:
            yield batch
            batch, size = [], 0
        batch.append(point)
        size += count
    if batch:
        yield batch


def _make_layer(
    graph: Graph, point: ComparisonPoint, noises: tuple[float | None, float | None], own: OwnNoise | None
) -> Layer:
    kind = graph.types[point.value]
    node = point.node
    return Layer(
        node=node.name,
        op=point.op,
        tensor=point.value,
        source=graph.source_names.get(point.value, point.value),
        dtype=dtype_word(kind.dtype),
        bits=kind.dtype.bits if kind.encoding is None else kind.encoding.bitwidth,
        weight_bits=_find_weight_bits(graph, node),
        macs=node.op.macs(graph.input_types(node), graph.output_types(node)),
        sim_db=noises[0],
        emulator_db=noises[1],
        own_db=None if own is None else own[0],
        weight_db=None if own is None or not find_roles(graph, node).weights else own[1],
    )


def _find_weight_bits(graph: Graph, node: Node) -> int | None:
    places = sorted(find_roles(graph, node).weights)
    if not places:
        return None
    kind = graph.types[node.inputs[places[0]]]
    return kind.dtype.bits if kind.encoding is None else kind.encoding.bitwidth

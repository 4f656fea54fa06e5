"""How far each layer of a quantized graph is from the float model: in the simulation and on the emulator."""

import itertools
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from edgewright.analyse.flat_ends import FlatEnds
from edgewright.analyse.gains import channel_gains
from edgewright.analyse.noise import Noise
from edgewright.analyse.own_noise import OwnNoise, own_noise
from edgewright.analyse.records import Layer
from edgewright.analyse.spots import Spot, aligned, spots_of
from edgewright.backends.base import Backend, RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.errors import EdgewrightError
from edgewright.core.events import progress
from edgewright.core.numbers import Array
from edgewright.ir.contract import dtype_word
from edgewright.ir.graph import Graph, Node
from edgewright.model.surface import Surface
from edgewright.quantize.roles import find_roles

__all__ = ["ValuesRun", "layers_of"]

log = logging.getLogger(__name__)

# The emulator takes its time.
SAMPLES, EMULATED_SAMPLES, OWN_SAMPLES = 8, 3, 2
# Elements of all values that are held at a time; some copies of them are made.
LARGEST_BATCH = 1 << 24

Feeds = Sequence[Mapping[str, Array]]


def layers_of(
    source: Graph,
    quantized: Graph,
    samples: Iterable[Mapping[str, Array]],
    *,
    emulator: Backend | None = None,
    seconds: float = 60.0,
) -> tuple[Layer, ...]:
    """The layers of a quantized graph in order, each with its distance from the float graph.

    Args:
        source: the float graph.
        quantized: made from it; results with the same names are compared.
        samples: inputs of the float graph that did not calibrate; a few are used.
        emulator: the genuine backend; its distances are None without it and where it refuses a graph.
        seconds: what the emulator may take; values that it has no time for are None.
    """
    count = SAMPLES if emulator is None else EMULATED_SAMPLES
    given = list(itertools.islice(samples, SAMPLES))
    # From all of them: neighbours in a folder are alike.
    measuring = _Measuring(source, quantized, given[:: max(1, len(given) // count)][:count])
    deadline = time.monotonic() + seconds
    simulated: dict[str, float | None] = {}
    emulated: dict[str, float | None] = {}
    own: dict[str, OwnNoise] = {}
    spots = [spot for spot in spots_of(source, quantized) if spot.value not in measuring.gains.unknown]
    batches = list(_batches(quantized, spots))
    with progress("comparing layers", total=len(batches)) as step:
        for batch in batches:
            done = 0
            if emulator is not None:
                found, done = measuring.noises(batch, emulator, deadline=deadline)
                emulated |= found
            # On the same samples, so that the figures compare.
            simulated |= measuring.noises(batch, HtpSimBackend(), count=done or count)[0]
            own |= measuring.own(batch)
            step()
    return tuple(
        _layer(quantized, spot, (simulated.get(spot.value), emulated.get(spot.value)), own.get(spot.value))
        for spot in spots
    )


class ValuesRun:
    """Chosen values of a graph on a backend, as real numbers."""

    def __init__(self, graph: Graph, backend: Backend, values: Sequence[str]) -> None:
        asked = graph.copy()
        asked.outputs = list(values)
        self._surface = Surface(asked)
        self._session = backend.prepare(asked, RunOptions())

    def __call__(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The values for one sample."""
        return self._surface.decode_outputs(self._session.run(self._surface.encode_inputs(feed)))


@dataclass
class _Measuring:
    """Two graphs, the samples, and the scales of channels that are no noise."""

    source: Graph
    quantized: Graph
    feeds: Feeds

    def __post_init__(self) -> None:
        self.gains = channel_gains(self.source, self.quantized)

    def noises(
        self, spots: Sequence[Spot], backend: Backend, *, count: int = SAMPLES, deadline: float = math.inf
    ) -> tuple[dict[str, float | None], int]:
        """The noise of values on a backend in dB, and the samples there was time for.

        Nothing where it refuses the graph.
        """
        sums = {spot.value: Noise() for spot in spots}
        done = 0
        try:
            if time.monotonic() < deadline:
                found = ValuesRun(self.quantized, backend, list(sums))
                truth = ValuesRun(self.source, CpuBackend(), list(sums))
            for feed in self.feeds[:count]:
                if time.monotonic() >= deadline:
                    break
                self._add(sums, truth(feed), found(feed))
                done += 1
        except EdgewrightError as problem:
            log.warning("layers are not compared on %s: %s", backend.name, problem.what)
            return {}, 0
        return {value: noise.sqnr_db() for value, noise in sums.items()} if done else {}, done

    def _add(
        self, sums: Mapping[str, Noise], wanted: Mapping[str, Array], results: Mapping[str, Array]
    ) -> None:
        for value, noise in sums.items():
            gain = self.gains.shaped(self.quantized, value)
            result = results[value] if gain is None else results[value] * gain
            expected = aligned(wanted[value], result.shape)
            noise.add(FlatEnds(self.quantized, value).cut(expected) if gain is None else expected, result)

    def own(self, spots: Sequence[Spot]) -> dict[str, OwnNoise]:
        """What ops add by themselves."""
        return own_noise(self.source, self.quantized, spots, self.feeds[:OWN_SAMPLES], self.gains)


def _batches(graph: Graph, spots: Sequence[Spot]) -> Iterator[list[Spot]]:
    """Spots whose values are held together."""
    batch: list[Spot] = []
    size = 0
    for spot in spots:
        count = math.prod(graph.types[spot.value].static_shape())
        if batch and size + count > LARGEST_BATCH:
            yield batch
            batch, size = [], 0
        batch.append(spot)
        size += count
    if batch:
        yield batch


def _layer(graph: Graph, spot: Spot, found: tuple[float | None, float | None], own: OwnNoise | None) -> Layer:
    kind = graph.types[spot.value]
    node = spot.node
    return Layer(
        node=node.name,
        op=spot.op,
        tensor=spot.value,
        source=graph.source_names.get(spot.value, spot.value),
        dtype=dtype_word(kind.dtype),
        bits=kind.dtype.bits if kind.encoding is None else kind.encoding.bitwidth,
        weight_bits=_weight_bits(graph, node),
        macs=node.op.macs(graph.input_types(node), graph.output_types(node)),
        sim_db=found[0],
        emulator_db=found[1],
        own_db=None if own is None else own[0],
        weight_db=None if own is None or not find_roles(graph, node).weights else own[1],
    )


def _weight_bits(graph: Graph, node: Node) -> int | None:
    places = sorted(find_roles(graph, node).weights)
    if not places:
        return None
    kind = graph.types[node.inputs[places[0]]]
    return kind.dtype.bits if kind.encoding is None else kind.encoding.bitwidth

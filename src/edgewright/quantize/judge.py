"""Judges quantized graphs by what they do to the outputs, on samples that ranges were not chosen from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply_plan
from edgewright.quantize.assign import assign_encodings
from edgewright.quantize.calibrate import observe_extremes
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups, is_real
from edgewright.quantize.pins import Pin
from edgewright.quantize.request import QuantizationRequest

# Every so many-th sample judges, so many at most.
TURN, JUDGES = 3, 32
# What an algorithm must gain on the samples: less is luck, and other data may lose by it.
WORTH_DB = 0.25
# What stands for no noise at all.
LEAST_NOISE = 1e-12


@dataclass(frozen=True)
class Part:
    """The samples that judge, or the others; with too few of them, all do both."""

    samples: Samples
    is_judging: bool

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        judges = 0
        for number, sample in enumerate(self.samples):
            is_judge = number % TURN == TURN - 1 and judges < JUDGES
            judges += is_judge
            if is_judge == self.is_judging or (self.is_judging and number == 0):
                yield sample


class Judge:
    """Holds a few samples and what the float graph makes of them."""

    def __init__(self, graph: Graph, samples: Samples, executor: Executor) -> None:
        self.executor, self._values = executor, list_judged_values(graph)
        self.feeds = list(Part(samples, is_judging=True))
        self._float = self._compute_outputs(graph)

    def measure_noise(self, graph: Graph) -> float:
        """Noise over signal in dB: the mean of all outputs and samples, so that no sample decides alone."""
        outputs = self._compute_outputs(graph)
        noises = []
        for name, expected in self._float.items():
            signal = np.mean([np.square(a, dtype=np.float64).sum() for a in expected])
            pairs = zip(expected, outputs[name], strict=True)
            noise = np.array([np.square(a.astype(np.float64) - b).sum() for a, b in pairs])
            if signal > 0:
                noises.append(10 * np.log10(np.maximum(noise / signal, LEAST_NOISE)).mean())
        return float(np.mean(noises)) if noises else 0.0

    def measure_noise_at_once(
        self, graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin]
    ) -> float:
        """The noise of a float graph when its values cover just what they have in these samples."""
        groups = Groups(graph, request, pins)
        extremes = observe_extremes(graph, groups.list_observed(), self.feeds, self.executor)
        plan = assign_encodings(graph, groups, replace(request, act_quantizer="tf"), pins, extremes)
        return self.measure_noise(apply_plan(graph, plan))

    def _compute_outputs(self, graph: Graph) -> dict[str, list[Array]]:
        """What judges look at, as real numbers."""
        outputs: dict[str, list[Array]] = {name: [] for name in self._values}
        if not outputs:
            return outputs
        session = self.executor.prepare(graph, self._values)
        for feed in self.feeds:
            results = session.run(_encode_feed(graph, feed))
            for name, arrays in outputs.items():
                encoding = graph.types[name].encoding
                arrays.append(results[name] if encoding is None else encoding.decode(results[name]))
        return outputs


def list_judged_values(graph: Graph) -> list[str]:
    """Outputs, and the scores before a softmax or sigmoid that makes one.

    Few samples have probabilities that are neither 0 nor 1, and those few would decide alone.
    """
    values = [name for name in graph.outputs if is_real(graph, name)]
    for name in list(values):
        maker = graph.producer(name)
        while maker is not None and maker.op.keeps_encoding:
            maker = graph.producer(maker.inputs[0])
        if maker is not None and maker.op.is_probability and maker.inputs[0] not in graph.constants:
            values.append(maker.inputs[0])
    return list(dict.fromkeys(values))


def _encode_feed(graph: Graph, feed: Mapping[str, Array]) -> dict[str, Array]:
    """A feed as the graph's inputs are stored."""
    types = {name: graph.types[name] for name in graph.inputs}
    return {
        # What overrides keep in floating point may be narrower than the samples.
        name: feed[name].astype(t.dtype.numpy, copy=False)
        if t.encoding is None
        else t.encoding.encode(feed[name], t.dtype)
        for name, t in types.items()
    }

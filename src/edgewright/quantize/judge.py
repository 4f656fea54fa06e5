"""Judges quantized graphs by what they do to the outputs, on samples held apart from all choices."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply_plan
from edgewright.quantize.assign import assign_encodings
from edgewright.quantize.calibrate import observe_extremes
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups, is_real
from edgewright.quantize.held_apart import split_samples
from edgewright.quantize.meter import Meter
from edgewright.quantize.noise import Noise
from edgewright.quantize.pins import Pin
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.tails import Tails, extend_ranges

# What stands for outputs that are no numbers.
NO_NUMBER = 1e30


class Judge:
    """Holds some samples apart, and what the float graph makes of them."""

    def __init__(self, graph: Graph, samples: Samples, executor: Executor) -> None:
        split = split_samples(samples)
        self.samples = samples
        self.executor = executor if isinstance(executor, Meter) else Meter(executor, graph, split.count)
        self.fitting, self.feeds, self.text = split.fitting, split.judging, split.describe()
        self.rough = split.rough
        self.judging_share = len(self.feeds) / max(1, split.count)
        self.fitting_count = split.count - len(self.feeds)
        self._outputs = [name for name in graph.outputs if is_real(graph, name)]
        self._values = list_judged_values(graph)
        self._graph = graph

    def measure_noise(self, graph: Graph) -> Noise:
        """The noise of a quantized graph, or of a float one that was changed."""
        values = self._compute_values(graph)
        signal, noise = np.zeros((2, len(self._values), len(self.feeds)))
        for row, name in enumerate(self._values):
            for column, (expected, actual) in enumerate(zip(self._float[name], values[name], strict=True)):
                wide = expected.astype(np.float64)
                signal[row, column] = np.square(wide).sum()
                noise[row, column] = np.square(wide - actual).sum()
        return Noise(signal, np.nan_to_num(noise, nan=NO_NUMBER, posinf=NO_NUMBER), len(self._outputs))

    @cached_property
    def _float(self) -> dict[str, list[Array]]:
        return self._compute_values(self._graph)

    def measure_plain_noise(
        self, graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin]
    ) -> Noise:
        """The noise of a float graph when its values cover what the other samples let expect of them."""
        groups, tails = Groups(graph, request, pins), Tails()
        extremes = observe_extremes(graph, groups.list_observed(), self.rough, self.executor, tails.add)
        ranges = extend_ranges(graph, groups, extremes, tails)
        plan = assign_encodings(graph, groups, replace(request, act_quantizer="tf"), pins, ranges)
        return self.measure_noise(apply_plan(graph, plan))

    def _compute_values(self, graph: Graph) -> dict[str, list[Array]]:
        """What is judged, as real numbers."""
        values: dict[str, list[Array]] = {name: [] for name in self._values}
        if not values:
            return values
        session = self.executor.prepare(graph, self._values)
        for feed in self.feeds:
            results = session.run(_encode_feed(graph, feed))
            for name, arrays in values.items():
                encoding = graph.types[name].encoding
                arrays.append(results[name] if encoding is None else encoding.decode(results[name]))
        return values


def list_judged_values(graph: Graph) -> list[str]:
    """Outputs, then the scores before a softmax or sigmoid that makes one.

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

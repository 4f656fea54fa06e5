"""Ranges that several schemes choose for the values of a graph, from some samples and from all of them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.quantize.calibrate import observe_extremes, observe_histograms
from edgewright.quantize.groups import Groups
from edgewright.quantize.judge import Judge
from edgewright.quantize.observers import Extremes, Histogram
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.schemes import Mse, Percentile, Scheme
from edgewright.quantize.spans import Statistics
from edgewright.quantize.tails import Tails, extend_ranges
from edgewright.quantize.weights.bias_correction import measure_input_means

SCHEMES: dict[str, Scheme] = {"mse": Mse(), "percentile": Percentile()}
# Elements that must have been seen before any of them counts as rare enough to be cut off.
FEWEST = 1 << 15
# The scheme whose ranges leave room for more than the samples showed.
ROOMY = "roomy"

RangesByScheme = dict[str, dict[str, Extremes]]


class Observed:
    """What samples showed of a float graph: two passes, and a third one where means are asked for.

    Args:
        graph: the float graph.
        request: how it is quantized.
        groups: of values that share an encoding.
        judge: its samples held apart are not in ``few``, the others are in ``few`` and ``every``.
    """

    def __init__(self, graph: Graph, request: QuantizationRequest, groups: Groups, judge: Judge) -> None:
        self._graph, self._request, self._groups, self._judge = graph, request, groups, judge
        self.few, self.every = self._choose_ranges()

    def get_plain(self) -> Statistics:
        """The ranges of the first scheme, which cover all that was seen."""
        return next(iter(self.few.values()))

    @cached_property
    def means(self) -> dict[str, Array]:
        """The mean of each input channel of products."""
        return measure_input_means(self._graph, self._judge.fitting, self._judge.executor)

    def _choose_ranges(self) -> tuple[RangesByScheme, RangesByScheme]:
        """Ranges by scheme: from the samples that do not judge, and from all."""
        graph, values, tails = self._graph, self._groups.list_observed(), Tails()
        samples, judges, executor = self._judge.fitting, self._judge.feeds, self._judge.executor
        few = observe_extremes(graph, values, samples, executor, tails.add)
        reached = [extend_ranges(graph, self._groups, few, tails)]
        others = observe_extremes(graph, values, judges, executor, tails.add)
        every = {value: extremes.merge(others[value]) for value, extremes in few.items()}
        reached.append(extend_ranges(graph, self._groups, every, tails))
        if self._request.act_bw > 8 or not every:
            pairs = zip(reached, (few, every), strict=True)
            wide, plain = ({ROOMY: beyond, "min-max": extremes} for beyond, extremes in pairs)
            return wide, plain
        counted = observe_histograms(graph, every, samples, executor)
        rest = observe_histograms(graph, every, judges, executor)
        parts = {v: replace(histogram, extremes=few[v]) for v, histogram in counted.items()}
        whole = {v: replace(h, counts=h.counts + rest[v].counts) for v, h in counted.items()}
        return self._choose_by_schemes(parts, reached[0]), self._choose_by_schemes(whole, reached[1])

    def _choose_by_schemes(
        self, histograms: Mapping[str, Histogram], reached: dict[str, Extremes]
    ) -> RangesByScheme:
        """Ranges by scheme; of few elements, none can tell which are rare."""
        kept = {
            v: reached[v]
            for v, h in histograms.items()
            if h.counts.sum() < FEWEST or v in self._graph.outputs
        }
        chosen = {
            name: {**self._choose_by_scheme(histograms, scheme), **kept} for name, scheme in SCHEMES.items()
        }
        return {"min-max": reached, **chosen}

    def _choose_by_scheme(self, histograms: Mapping[str, Histogram], scheme: Scheme) -> dict[str, Extremes]:
        grid = self._request.make_act_grid(self._request.act_bw)
        kept = scheme.choose_ranges(Histogram.stack(list(histograms.values())), grid)
        pairs = zip(kept.low.tolist(), kept.high.tolist(), strict=True)
        return {value: Extremes.from_bounds(*pair) for value, pair in zip(histograms, pairs, strict=True)}

"""Estimated times of the precisions that a build may choose from."""

import logging
import math

from edgewright.core.errors import EdgewrightError
from edgewright.estimate.estimate import estimate_network
from edgewright.estimate.graph_layers import read_graph
from edgewright.estimate.records import TimeRange
from edgewright.estimate.work import BYTES
from edgewright.ir.graph import Graph
from edgewright.targets.soc import Soc

log = logging.getLogger(__name__)

_HALF, _MIXED = "fp16", "mixed"


def estimate_candidates(graph: Graph, soc: Soc, names: tuple[str, ...]) -> dict[str, TimeRange]:
    """Times of candidates by their names; without those that nothing can be said about."""
    try:
        network = read_graph(graph)
        if not network.layers:
            return {}
        known = {
            precision: estimate_network(network, soc, precision).time
            for precision in ("float", "w8a8", "w8a16", "w4a8", "w4a16")
        }
    except EdgewrightError as problem:
        log.info("times were not estimated: %s", problem)
        return {}
    times = {name: _find_time(known, name) for name in names}
    return {name: time for name, time in times.items() if time is not None}


def _find_time(known: dict[str, TimeRange], name: str) -> TimeRange | None:
    # w8a8+algorithms takes as long as w8a8.
    precision = name.partition("+")[0]
    if precision == _HALF:
        return known["float"]
    if precision == _MIXED:
        narrow, wide = known["w8a8"], known["w8a16"]
        middle = math.sqrt(narrow.microseconds * wide.microseconds)
        return TimeRange(middle, min(narrow.low, wide.low), max(narrow.high, wide.high))
    return known[precision] if precision in BYTES else None

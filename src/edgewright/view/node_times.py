"""Times of single ops in a profile, by the names of nodes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgewright.lower.names import sanitize_name
from edgewright.model.profile.summary import summarise_file
from edgewright.view.records import Overlay, ViewGraph

# 'name:OpId_3' by our engines, 'name:OpId_3 (cycles) (host emulation)' by the genuine libraries.
_OP = re.compile(r"^(?P<name>.+):OpId_\d+(?P<rest>.*)$", re.DOTALL)


@dataclass(frozen=True)
class NodeTimes:
    """An average execution: how long each node takes."""

    unit: str
    values: Mapping[str, float]

    def find(self, node: str) -> float | None:
        """The time of a node by its name in the graph."""
        return self.values.get(node, self.values.get(sanitize_name(node)))


def read_node_times(file: Path) -> NodeTimes:
    """The times that a log holds; those of parts of a node are added up."""
    values: dict[str, float] = {}
    unit = ""
    for measure in summarise_file(file)[1].ops:
        match = _OP.match(measure.name)
        if match is None:
            continue
        values[match["name"]] = values.get(match["name"], 0.0) + measure.average
        unit = "cycles" if "(cycles)" in match["rest"] else "µs"
    return NodeTimes(unit, values)


def make_time_overlay(graph: ViewGraph, times: NodeTimes) -> Overlay:
    """The nodes coloured by their times."""
    measured = {node.name: times.find(node.name) for node in graph.nodes}
    values = {name: value for name, value in measured.items() if value is not None}
    return Overlay("time", "Time", values, times.unit)

"""Who runs graphs for the quantizer: it is handed in, so that no backend is imported here."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph

# Inputs by name, one mapping for each sample. Walked more than once: a spent iterator will not do.
Samples = Iterable[Mapping[str, Array]]


class OutOfTime(Exception):
    """The time that work may take is up; what is finished by then is kept."""


class Session(Protocol):
    """A graph that is ready to run."""

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """The values that were asked for, by name."""
        ...


class Executor(Protocol):
    """Makes sessions."""

    def prepare(self, graph: Graph, outputs: Sequence[str]) -> Session:
        """A session that returns the given values of the graph, whether they are its outputs or not."""
        ...

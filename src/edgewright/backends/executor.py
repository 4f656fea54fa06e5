"""Runs graphs for the quantizer on the CPU backend."""

from collections.abc import Sequence

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.ir.graph import Graph
from edgewright.quantize.executor import Session


class CpuExecutor:
    """Sessions that return only the requested values."""

    def __init__(self, threads: int = 0) -> None:
        self._options = RunOptions(threads=threads)

    def prepare(self, graph: Graph, outputs: Sequence[str]) -> Session:
        """A session of a copy of the graph whose outputs are the given values."""
        asked = graph.copy()
        asked.outputs = list(outputs)
        return CpuBackend().prepare(asked, self._options)

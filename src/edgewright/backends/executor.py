"""Runs graphs for the quantizer: float ones on the CPU, fixed point as the NPU computes it."""

from collections.abc import Sequence

from edgewright.backends.base import Backend, RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.htp import HtpSimBackend
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
        return _choose_backend(graph).prepare(asked, self._options)


def _choose_backend(graph: Graph) -> Backend:
    """What is judged must be what will run: the simulation rounds as the NPU does."""
    is_fixed = any(kind.encoding is not None for kind in graph.types.values())
    return HtpSimBackend() if is_fixed else CpuBackend()

"""The CPU backend on ONNX Runtime: importing it registers every lowering, in this order."""

from edgewright.backends.base import RunOptions, Session
from edgewright.backends.cpu.session import CpuSession
from edgewright.core.registry import import_families
from edgewright.ir.graph import Graph

__all__ = ["CpuBackend"]

import_families(
    __name__,
    *("activation", "cast", "conv", "detection", "elementwise", "foreign", "gather", "matmul"),
    *("norm", "pool", "quant", "rearrange", "recurrent", "reduce", "resize", "resize_sample"),
    *("signal",),
)


class CpuBackend:
    """Float and integer graphs on this machine's processor."""

    name = "cpu"
    library_names = ("libQnnCpu.so", "QnnCpu.dll")
    has_exact_ends = True

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """A session for the graph."""
        return CpuSession(graph, options)

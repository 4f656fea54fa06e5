"""Whether a graph is one that the HTP can compute."""

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph


def is_narrow(graph: Graph) -> bool:
    """Whether something is in fixed point or half precision, which is what the HTP computes in."""
    return any(t.dtype.is_fixed_point or t.dtype == DType.FLOAT_16 for t in graph.types.values())

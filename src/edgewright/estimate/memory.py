"""Memory of a model on the chip, from its shapes. Nothing here is calibrated."""

import math

from edgewright.estimate.records import MemoryRange
from edgewright.estimate.work import BYTES
from edgewright.ir.graph import Graph
from edgewright.ir.symbols import batch_symbols, resolve

# The memory beside the units where a chip's is not known.
VTCM_MB = 8
# What a context holds beside weights (code, tables, padding), at most.
_CONTEXT_OVERHEAD, _CONTEXT_BASE = 1.5, 500_000


def measure_memory(
    graph: Graph, precision: str, vtcm_mb: int = 0, context_bytes: int | None = None
) -> MemoryRange:
    """Ranges: of the context (its real size where it is given), tensors that live at one time, spills."""
    weight_bytes, element_bytes = BYTES[precision]
    batch = dict.fromkeys(batch_symbols({name: graph.types[name] for name in graph.inputs}), 1)

    def count(value: str, size: float) -> int:
        return int(math.prod(resolve(graph.types[value], batch).static_shape()) * size)

    weights = sum(count(name, weight_bytes) for name in graph.constants)
    context = (
        (weights, int(weights * _CONTEXT_OVERHEAD) + _CONTEXT_BASE)
        if context_bytes is None
        else (context_bytes, context_bytes)
    )
    sizes = {
        name: count(name, element_bytes)
        for name in graph.types
        if name not in graph.constants and resolve(graph.types[name], batch).is_static
    }
    peak = _find_peak(graph, sizes)
    vtcm = (vtcm_mb or VTCM_MB) << 20
    return MemoryRange(
        context,
        context_bytes is not None,
        sum(sizes.get(name, 0) for name in (*graph.inputs, *graph.outputs)),
        peak,
        (max(0, peak[0] - vtcm), max(0, peak[1] - vtcm)),
    )


def _find_peak(graph: Graph, sizes: dict[str, int]) -> tuple[int, int]:
    """Bytes of the largest op alone, and of all that is alive at once where ops run in their order."""
    last = {value: place for place, node in enumerate(graph.nodes) for value in node.inputs}
    last |= dict.fromkeys(graph.outputs, len(graph))
    alive = sum(sizes.get(name, 0) for name in graph.inputs)
    largest, peak = 0, alive
    for place, node in enumerate(graph.nodes):
        read = {value for value in node.inputs if value in sizes}
        written = [value for value in node.outputs if value in sizes]
        alive += sum(sizes[value] for value in written)
        largest = max(largest, sum(sizes[value] for value in (*read, *written)))
        peak = max(peak, alive)
        alive -= sum(sizes[value] for value in (*read, *written) if last.get(value, place) == place)
    return largest, max(peak, largest)

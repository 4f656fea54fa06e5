"""A quantized graph with more bits for some tensors, all else as it was."""

import json
from dataclasses import replace

import numpy as np

from edgewright.analyse.fresh_encodings import find_range
from edgewright.analyse.odd_encodings import list_shared_values
from edgewright.artifacts.encodings import load_encodings
from edgewright.ir.graph import Graph
from edgewright.quantize.encodings import Grid
from edgewright.quantize.observers.extremes import Extremes
from edgewright.quantize.tensor_encodings import TensorEncoding


def widen_tensors(source: Graph, quantized: Graph, override: str) -> Graph | None:
    """A copy with the widths that an encodings file asks for; None where that cannot be done.

    Weights are rounded again from those of the float graph.
    """
    wide = quantized.copy()
    asked = load_encodings(json.loads(override))
    names = {quantized.source_names.get(value, value): value for value in quantized.types}
    for entry in () if asked is None else asked.tensors:
        value = names.get(entry.name)
        if value is None or quantized.types[value].encoding is None:
            return None
        if value in quantized.constants:
            if not _widen_constant(source, wide, value, entry.bits):
                return None
        else:
            _widen_result(wide, value, entry)
    return wide


def _widen_result(graph: Graph, value: str, entry: TensorEncoding) -> None:
    """The range that is asked for, or the one that it has, in more steps; for all that share it."""
    kind = graph.types[value]
    low, high = find_range(kind)
    if entry.scales:
        (scale,), (offset,) = entry.scales, entry.offsets
        low, high = scale * offset, scale * ((1 << entry.bits) - 1 + offset)
    grid = Grid(entry.bits, is_symmetric=kind.dtype.is_signed)
    encoding = grid.encode_range(low, high)
    for name in list_shared_values(graph, value):
        graph.types[name] = replace(graph.types[name], dtype=grid.dtype, encoding=encoding)


def _widen_constant(source: Graph, graph: Graph, value: str, bits: int) -> bool:
    kind, real = graph.types[value], source.constants.get(value)
    assert kind.encoding is not None
    if real is None or real.shape != graph.constants[value].shape:
        return False
    exact = np.asarray(real, np.float32)
    extremes = Extremes.of(exact, kind.encoding.axis)
    grid = Grid(bits, is_symmetric=kind.dtype.is_signed)
    encoding = grid.encode_range(extremes.low, extremes.high, kind.encoding.axis)
    graph.types[value] = replace(kind, dtype=grid.dtype, encoding=encoding)
    graph.constants[value] = encoding.encode(exact, grid.dtype)
    return True

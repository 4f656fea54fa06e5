"""Lets graph inputs and outputs be real numbers where the network inside is in fixed point."""

from collections.abc import Collection
from dataclasses import replace

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.quant import Dequantize, Quantize


def with_float_io(graph: Graph) -> Graph:
    """A copy whose fixed-point inputs and outputs are real numbers."""
    changed = graph.copy()
    make_all_io_float(changed)
    return changed


def make_all_io_float(graph: Graph) -> None:
    """All fixed-point inputs and outputs become real numbers, in place."""
    for name in list(graph.outputs):
        make_output_float(graph, name)
    for name in list(graph.inputs):
        make_input_float(graph, name)


def make_io_float(graph: Graph, names: Collection[str]) -> None:
    """The named inputs and outputs become real numbers, in place."""
    for name in list(graph.inputs):
        if name in names:
            make_input_float(graph, name)
    for name in list(dict.fromkeys(graph.outputs)):
        if name in names:
            make_output_float(graph, name)


def make_input_float(graph: Graph, name: str, dtype: DType = DType.FLOAT_32) -> bool:
    """A fixed-point input becomes a float one that is quantized; False where it has no encoding."""
    inner = graph.types[name]
    if inner.encoding is None:
        return False
    readers, fresh = graph.consumers(name), graph.fresh_name(name)
    graph.types[name] = replace(inner, dtype=dtype, encoding=None)
    op = Quantize(dtype=inner.dtype, encoding=inner.encoding)
    graph.add(Node(graph.fresh_name(f"{name}_quantize"), op, [name], [fresh], source=name), [inner])
    graph.source_names[fresh] = graph.source_names.get(name, name)
    for reader in readers:
        for place, value in enumerate(reader.inputs):
            if value == name:
                graph.set_input(reader, place, fresh)
    if name in graph.outputs:
        graph.outputs = [fresh if value == name else value for value in graph.outputs]
    graph.sort()
    return True


def make_output_float(graph: Graph, name: str, dtype: DType = DType.FLOAT_32) -> bool:
    """A fixed-point output is dequantized and keeps its name; False where it has no encoding."""
    inner = graph.types[name]
    if inner.encoding is None or graph.producer(name) is None:
        return False
    fresh = graph.fresh_name(name)
    graph.rename_value(name, fresh)
    graph.source_names[fresh] = graph.source_names.get(name, name)
    op = Dequantize(encoding=inner.encoding, dtype=dtype)
    outer = replace(inner, dtype=dtype, encoding=None)
    graph.add(Node(graph.fresh_name(f"{name}_dequantize"), op, [fresh], [name], source=name), [outer])
    graph.outputs = [name if value == fresh else value for value in graph.outputs]
    return True

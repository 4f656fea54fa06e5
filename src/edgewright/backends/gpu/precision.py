"""The precisions of QNN's GPU backend, written into a graph: its inputs and outputs keep their types."""

from collections.abc import Iterable

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.cast import Cast
from edgewright.passes.target.datatypes import replace_dtypes
from edgewright.passes.target.narrow_float import narrow_float
from edgewright.passes.target.retype_io import insert_after_input, insert_before_output

FLOATS = frozenset({DType.FLOAT_16, DType.FLOAT_32})


def with_precision(graph: Graph, precision: str, outputs: Iterable[str]) -> Graph:
    """A copy that computes in the precision; the values named in outputs keep their types too."""
    declared = {name: kind.dtype for name, kind in graph.types.items() if kind.dtype in FLOATS}
    if precision == "user_provided" or not declared:
        return graph
    copy = graph.copy()
    if precision == "fp16":
        narrow_float(copy)
    else:
        replace_dtypes(copy, {DType.FLOAT_16: DType.FLOAT_32}, _widen_array)
    if precision == "hybrid":
        _store_in_halves(copy)
    _keep_types(copy, declared, outputs)
    copy.sort()
    return copy


def _keep_types(graph: Graph, declared: dict[str, DType], outputs: Iterable[str]) -> None:
    for name in [name for name in graph.inputs if name in declared]:
        inner = graph.types[name]
        if inner.dtype != declared[name]:
            insert_after_input(graph, name, inner.with_dtype(declared[name]), Cast(dtype=inner.dtype))
    for name in dict.fromkeys(outputs):
        is_changed = name in declared and graph.types[name].dtype != declared[name]
        if is_changed and graph.producer(name) is not None:
            insert_before_output(graph, name, Cast(dtype=declared[name]))


def _store_in_halves(graph: Graph) -> None:
    """Every float32 result passes through 16 bits; what only moves elements adds nothing to that."""
    for name, array in graph.constants.items():
        if graph.types[name].dtype == DType.FLOAT_32:
            graph.constants[name] = _round_to_half(array)
    for name in [name for name in graph.inputs if graph.types[name].dtype == DType.FLOAT_32]:
        inner = graph.types[name]
        insert_after_input(graph, name, inner, Cast(dtype=DType.FLOAT_16))
        half = graph.consumers(name)[0].outputs[0]
        graph.types[half] = inner.with_dtype(DType.FLOAT_16)
        _widen_value(graph, half)
    for node in [node for node in graph.nodes if not (node.op.only_moves() or node.op.is_encoder)]:
        for value in [value for value in node.outputs if value]:
            if graph.types[value].dtype == DType.FLOAT_32:
                _round_value(graph, value)


def _round_value(graph: Graph, value: str) -> None:
    kind = graph.types[value]
    exact, half = graph.fresh_name(value), graph.fresh_name(f"{value}_half")
    graph.rename_value(value, exact)
    graph.outputs = [value if name == exact else name for name in graph.outputs]
    narrow = Node(graph.fresh_name(half), Cast(dtype=DType.FLOAT_16), [exact], [half], source=value)
    graph.add(narrow, [kind.with_dtype(DType.FLOAT_16)])
    wide = Node(graph.fresh_name(value), Cast(dtype=DType.FLOAT_32), [half], [value], source=value)
    graph.add(wide, [kind])
    for reader in [reader for reader in graph.consumers(exact) if reader is not narrow]:
        for index, name in enumerate(reader.inputs):
            if name == exact:
                graph.set_input(reader, index, value)


def _widen_value(graph: Graph, half: str) -> None:
    """Its readers read the same numbers in 32 bits."""
    readers, kind = graph.consumers(half), graph.types[half].with_dtype(DType.FLOAT_32)
    wide = graph.fresh_name(half)
    graph.add(Node(graph.fresh_name(half), Cast(dtype=DType.FLOAT_32), [half], [wide], source=half), [kind])
    for reader in readers:
        for index, name in enumerate(reader.inputs):
            if name == half:
                graph.set_input(reader, index, wide)


def _widen_array(_name: str, array: Array, dtype: DType) -> Array:
    return array.astype(dtype.numpy)


def _round_to_half(array: Array) -> Array:
    limit = float(np.finfo(np.float16).max)
    is_finite = np.isfinite(array)
    kept = np.where(is_finite, np.clip(array, -limit, limit), array)
    return kept.astype(np.float16).astype(np.float32)

"""Replaces 64-bit integers by 32-bit ones where every known value fits."""

from dataclasses import fields, replace

import numpy as np

from edgewright.core.errors import UnsupportedFeature, Where
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph
from edgewright.ir.op import Op
from edgewright.passes.graph_pass import graph_pass

__all__ = ["narrow_int64"]

NARROW = {DType.INT_64: DType.INT_32, DType.UINT_64: DType.UINT_32}
LOWEST, HIGHEST = -(1 << 31), (1 << 31) - 1
# Exporters write these for "to the end": they mean the same when they are clamped.
OPEN_ENDS = (np.iinfo(np.int64).max, np.iinfo(np.int64).min)


@graph_pass()
def narrow_int64(graph: Graph) -> int:
    """Types, constants and the datatypes that ops name."""
    found = [name for name, tensor_type in graph.types.items() if tensor_type.dtype in NARROW]
    for name in found:
        narrow = NARROW[graph.types[name].dtype]
        if name in graph.constants:
            graph.constants[name] = _narrowed(graph, name, narrow)
        graph.types[name] = graph.types[name].with_dtype(narrow)
    for node in graph.nodes:
        node.op = _narrow_op(node.op)
    return len(found)


def _narrowed(graph: Graph, name: str, dtype: DType) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    array = graph.constants[name]
    inner = array[~np.isin(array, OPEN_ENDS)]
    if inner.size and (inner.min() < LOWEST or inner.max() > HIGHEST):
        raise UnsupportedFeature(
            f"constant holds {int(inner.min())}..{int(inner.max())}, which does not fit 32 bits",
            Where(tensor=name),
            do="keep 64-bit integers with --keep_int64_inputs, or change the model",
        )
    return np.clip(array, LOWEST, HIGHEST).astype(dtype.numpy)


def _narrow_op(op: Op) -> Op:
    changed = {
        f.name: NARROW[v] for f in fields(op) if isinstance(v := getattr(op, f.name), DType) and v in NARROW
    }
    return replace(op, **changed) if changed else op

"""Softmax as one op of our own for the engine, where it is compiled; elsewhere numpy computes the same."""

from typing import cast

import numpy as np

from edgewright.backends.cpu.compiled import DOMAIN, find_kernels
from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import Writer
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.share_powers import PLACES, raise_fractions
from edgewright.backends.htp.shares import FEWEST_SHARES, count_units, weigh_bytes
from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ops.reduce_softmax import Softmax


def write_shares(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    """Our kernels read rows of the last axis."""
    kind, result = (w.graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    axis = cast("Softmax", op.op).axis_of(kind.rank)
    count = kind.shape[axis]
    if find_kernels() is None or not isinstance(count, int) or kind.dtype != result.dtype:
        raise NotOnEngine
    order = [*(other for other in range(kind.rank) if other != axis), axis]
    shares = _write_rows(w, op, w.transpose(inputs[0], order), kind.dtype, count)
    return w.transpose(shares, [order.index(place) for place in range(kind.rank)])


def _write_rows(w: Writer, op: LibraryOp, rows: str, dtype: DType, count: int) -> str:
    if dtype == DType.FLOAT_32:
        factor = w.constant(np.asarray([cast("Softmax", op.op).beta], np.float64))
        return w.node("ShareHalves", rows, factor, domain=DOMAIN)
    if dtype == DType.UFIXED_POINT_8:
        operands = tuple(w.constant(array.astype(np.float64)) for array in weigh_bytes(op, count))
        return w.node("ShareBytes", rows, *operands, domain=DOMAIN)
    if count < FEWEST_SHARES or op.op.is_wrong_on_htp(op.given):
        raise NotOnEngine
    powers = raise_fractions(np.arange(PLACES)).astype(np.int32)
    operands = (w.constant(powers), w.scalar(count_units(op), DType.INT_32))
    return w.node("ShareWords", rows, *operands, domain=DOMAIN)

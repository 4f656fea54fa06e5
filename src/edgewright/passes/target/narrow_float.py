"""Stores floats in 16 bits, and biases in as many bits as asked for.

The guide (lines 12634-12635) converts *all* activation, weight and bias tensors with --float_bw 16,
graph inputs and outputs too. Where these must stay (--preserve_io datatype), ``retype_io`` adds casts later.
"""

import logging

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.passes.target.datatypes import replace_dtypes

log = logging.getLogger(__name__)

FLOATS = {16: DType.FLOAT_16, 32: DType.FLOAT_32}


def narrow_float(graph: Graph, bits: int = 16, bias_bits: int | None = None) -> int:
    """Changes float32 values to ``bits`` and biases to ``bias_bits``; returns how many."""
    bits_of_biases = bits if bias_bits is None else bias_bits
    biases = _own_biases(graph) if bits_of_biases != bits else {}
    changed = 0
    if bits == 16:
        changed += replace_dtypes(graph, {DType.FLOAT_32: DType.FLOAT_16}, _narrow_array, keep=biases)
    for name in biases:
        if graph.types[name].dtype != FLOATS[bits_of_biases]:
            graph.constants[name] = _narrow_array(name, graph.constants[name], FLOATS[bits_of_biases])
            graph.types[name] = graph.types[name].with_dtype(FLOATS[bits_of_biases])
            changed += 1
    return changed


def _own_biases(graph: Graph) -> dict[str, Node]:
    """Constants that are biases and nothing else; one that is more gets a twin that is only a bias."""
    biases: dict[str, Node] = {}
    for node in graph.nodes:
        name = given(node.inputs, 2) if node.op.is_product else None
        if not name or name not in graph.constants or graph.types[name].dtype != DType.FLOAT_32:
            continue
        if not all(_is_bias_only(reader, name) for reader in graph.consumers(name)):
            name = graph.add_constant(graph.fresh_name(name), graph.constants[name], graph.types[name])
            graph.set_input(node, 2, name)
        biases[name] = node
    return biases


def _is_bias_only(node: Node, name: str) -> bool:
    return node.op.is_product and [i for i, v in enumerate(node.inputs) if v == name] == [2]


def _narrow_array(name: str, array: Array, dtype: DType) -> Array:
    """Numbers beyond the range of the type become its largest: an infinity would spoil sums and products."""
    if dtype == DType.FLOAT_32:
        return array
    limit = float(np.finfo(dtype.numpy).max)
    is_beyond = np.isfinite(array) & (np.abs(array) > limit)
    if not np.any(is_beyond):
        return array.astype(dtype.numpy)
    log.warning("%d elements of '%s' exceed the largest float16 and are clamped", int(is_beyond.sum()), name)
    return np.where(is_beyond, np.sign(array) * limit, array).astype(dtype.numpy)

"""Runs a graph slowly and truly, node by node, through the ops' own numpy meaning."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.conv_patches import ExtractPatches, Im2Col
from edgewright.ops.gather_sparse import CreateSparse, SparseToDense
from edgewright.ops.rearrange_blocks import Buffer, SpaceToBatch
from edgewright.ops.rearrange_fill import Pad, Scheme

# They move elements, and put zeros beside them: a real 0 is another integer than 0 in most encodings.
FILLERS = (Buffer, CreateSparse, ExtractPatches, Im2Col, SpaceToBatch, SparseToDense)


def run(graph: Graph, inputs: Mapping[str, Array], outputs: Iterable[str] | None = None) -> dict[str, Array]:
    """Values of the graph's outputs (or of any named values) for the given inputs."""
    values: dict[str, Array] = {**graph.constants, **inputs}
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            arrays = [values[value] if value else None for value in node.inputs]
            results = computed(node.op, arrays, graph.input_types(node), graph.output_types(node))
            values.update(zip((value for value in node.outputs if value), results, strict=False))
    return {name: values[name] for name in (graph.outputs if outputs is None else outputs)}


def computed(
    op: Op,
    arrays: Sequence[Array | None],
    types: Sequence[TensorType | None],
    results: Sequence[TensorType],
) -> Sequence[Array]:
    """An op's results; where it means real numbers, stored operands are decoded and results encoded."""
    if not means_real_numbers(op, [t for t in (*types, *results) if t is not None]):
        return op.values_for(arrays)
    real = [_decoded(array, tensor_type) for array, tensor_type in zip(arrays, types, strict=True)]
    return [_encoded(array, t) for array, t in zip(op.values_for(real), results, strict=False)]


def means_real_numbers(op: Op, types: Sequence[TensorType]) -> bool:
    """Whether the op means the real numbers behind the stored integers of its inputs and outputs.

    Ops that only move elements keep the integers where all have one encoding, and nothing is a real number.
    """
    fixed = {(t.dtype, t.encoding) for t in types if t.dtype.is_fixed_point}
    if not fixed or op.is_encoder:
        return False
    is_mixed = len(fixed) > 1 or any(t.dtype.is_float for t in types)
    return not op.keeps_encoding or is_mixed or fills_gaps(op)


def fills_gaps(op: Op) -> bool:
    """Whether an op that moves elements puts numbers of its own beside them."""
    return isinstance(op, FILLERS) or (isinstance(op, Pad) and op.scheme == Scheme.CONSTANT)


def _decoded(array: Array | None, tensor_type: TensorType | None) -> Any:
    if array is None or tensor_type is None or tensor_type.encoding is None:
        return array
    return tensor_type.encoding.decode(array)


def _encoded(array: Array, tensor_type: TensorType) -> Array:
    if tensor_type.encoding is None:
        return array
    if array.dtype == np.bool_:
        # HTP's library stores true as the step after the lowest, whatever the encoding says.
        stored: Array = tensor_type.encoding.limits(tensor_type.dtype)[0] + array.astype(np.int64)
        return stored.astype(tensor_type.dtype.numpy)
    return tensor_type.encoding.encode(array, tensor_type.dtype)

"""Replaces 64-bit integers by 32-bit ones where every known value fits."""

import numpy as np

from edgewright.core.errors import UnsupportedFeature, Where
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph
from edgewright.passes.graph_pass import register_pass
from edgewright.passes.target.datatypes import replace_dtypes

NARROW = {DType.INT_64: DType.INT_32, DType.UINT_64: DType.UINT_32}
# Exporters write these for "to the end": they mean the same when they are clamped.
OPEN_ENDS = (np.iinfo(np.int64).max, np.iinfo(np.int64).min)


@register_pass()
def narrow_int64(graph: Graph) -> int:
    """Types, constants and the datatypes that ops name."""
    return replace_dtypes(graph, NARROW, _narrow_array)


def _narrow_array(name: str, array: Array, dtype: DType) -> Array:
    limits = np.iinfo(dtype.numpy)
    inner = array[~np.isin(array, OPEN_ENDS)]
    if inner.size and (inner.min() < limits.min or inner.max() > limits.max):
        raise UnsupportedFeature(
            f"constant holds {int(inner.min())}..{int(inner.max())}, which does not fit 32 bits",
            Where(tensor=name),
            do="keep 64-bit integers with --keep_int64_inputs, or change the model",
        )
    return np.clip(array, limits.min, limits.max).astype(dtype.numpy)

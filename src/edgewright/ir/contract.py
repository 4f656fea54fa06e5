"""The I/O contract of a model: its inputs and outputs, next to those of the source model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType


@dataclass(frozen=True)
class IoTensor:
    """One input or output; the source's name, type and shape are empty without a source."""

    role: str  # input or output
    name: str
    dtype: str
    shape: tuple[int | str, ...]
    layout: str = ""
    source_dtype: str = ""
    source_shape: tuple[int | str, ...] = ()
    # For fixed point: real = scale * (stored + offset).
    scale: float | None = None
    offset: int | None = None
    # As the source spells the name, where that is another spelling.
    source_name: str = ""


def contract(graph: Graph, source: Mapping[str, TensorType] | None = None) -> tuple[IoTensor, ...]:
    """All inputs, then all outputs; ``source`` holds their types before anything was changed."""
    roles = [("input", name) for name in graph.inputs] + [("output", name) for name in graph.outputs]
    return tuple(_tensor(role, name, graph.types[name], (source or {}).get(name)) for role, name in roles)


def dtype_word(dtype: DType) -> str:
    """A datatype as options spell it: float32, int64, bool; fixed-point types keep QNN's spelling."""
    if dtype == DType.BOOL_8:
        return "bool"
    word = dtype.name.lower()
    return word if dtype.is_fixed_point else re.sub(r"_(?=\d)", "", word)


def dtype_of_word(word: str) -> DType:
    """The datatype with this spelling in options."""
    return _BY_WORD[word]


def shape_of(tensor_type: TensorType) -> tuple[int | str, ...]:
    """The dimensions as numbers, and as text where they are symbolic."""
    return tuple(dim if isinstance(dim, int) else str(dim) for dim in tensor_type.shape)


def _tensor(role: str, name: str, found: TensorType, source: TensorType | None) -> IoTensor:
    before = ("", ()) if source is None else (dtype_word(source.dtype), shape_of(source))
    encoding = (
        (None, None) if found.encoding is None else (found.encoding.scales[0], found.encoding.offsets[0])
    )
    layout = found.layout or ""
    return IoTensor(role, name, dtype_word(found.dtype), shape_of(found), layout, *before, *encoding)


_BY_WORD = {dtype_word(dtype): dtype for dtype in DType}

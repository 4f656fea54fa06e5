"""The tensor tables of a DLC as records."""

import math
from collections.abc import Callable
from dataclasses import replace

from edgewright.artifacts import raw_data
from edgewright.artifacts.blockwise import BLOCKWISE_EXPANSION, FACTOR_BITS, add_blocks
from edgewright.artifacts.dlc.formats import Layout, decode_layout
from edgewright.artifacts.dlc.tables import (
    UNDEFINED,
    AxisSlot,
    BlockwiseSlot,
    EncodingSlot,
    ScalarSlot,
    StepSlot,
    TensorSlot,
)
from edgewright.artifacts.net_json.fields import as_name
from edgewright.artifacts.net_json.tensors import convert_scalar, find_dtype
from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.flatbuffer import Table
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnScalar, QnnTensor, TensorKind

# name, datatype and dims of a static tensor -> its data
Lookup = Callable[[str, DType, tuple[int, ...]], Array]

_LARGEST_RANK = 32


def read_tensor(table: Table, file: Where, lookup: Lookup, layouts: dict[str, Layout]) -> QnnTensor:
    """The record of one tensor; `layouts` holds those that the table cannot express."""
    name = as_name(table.text(TensorSlot.NAME), "the name of a tensor", file)
    where = replace(file, tensor=name)
    kind = _read_kind(table, where)
    dtype = find_dtype(table.integer(TensorSlot.DTYPE, "I"), where)
    dims = _read_dims(table, dtype, where)
    told = decode_layout(
        table.integer(TensorSlot.FORMAT, "i"), table.integer(TensorSlot.SOURCE_FORMAT, "i"), len(dims)
    )
    form, order = layouts.get(name, told)
    if order and sorted(order) != list(range(len(dims))):
        raise BadInput(f"the order is {list(order)}, expected one of the {len(dims)} axes", where)
    data = lookup(name, dtype, dims) if kind == TensorKind.STATIC else None
    return QnnTensor(name, kind, dtype, dims, _read_encoding(table, dtype, dims, where), data, form, order)


def read_scalar(table: Table, name: str, where: Where) -> QnnScalar:
    """The value of a scalar attribute."""
    dtype = find_dtype(table.integer(ScalarSlot.DTYPE, "I"), where)
    called = f"parameter '{shown(name)}'"
    if dtype == DType.STRING:
        return QnnScalar(dtype, table.text(ScalarSlot.TEXT))
    if dtype.is_float:
        return QnnScalar(dtype, table.real(ScalarSlot.REAL, "d"))
    form = "Q" if dtype == DType.UINT_64 else "q"
    return QnnScalar(dtype, convert_scalar(table.integer(ScalarSlot.INTEGER, form), dtype, called, where))


def _read_kind(table: Table, where: Where) -> TensorKind:
    code = table.integer(TensorSlot.KIND, "i")
    if not 0 <= code <= TensorKind.NULL:
        raise BadInput(f"tensor type is {code}, expected 0 to {int(TensorKind.NULL)}", where)
    return TensorKind(code)


def _read_dims(table: Table, dtype: DType, where: Where) -> tuple[int, ...]:
    dims = tuple(table.numbers(TensorSlot.DIMS, "u4", _LARGEST_RANK).tolist())
    raw_data.check_dims(dims, dtype, where)
    return dims


def _read_encoding(tensor: Table, dtype: DType, dims: tuple[int, ...], where: Where) -> Encoding | None:
    table = tensor.child(TensorSlot.ENCODING)
    # Genuine writers leave out what is 0, the definition altogether.
    if table is None or UNDEFINED in (
        table.integer(EncodingSlot.TYPE, "I"),
        table.integer(EncodingSlot.DEFINITION, "I"),
    ):
        return None
    code = table.integer(EncodingSlot.TYPE, "I")
    if code in {0, 2}:
        step = table.child(EncodingSlot.STEP)
        return None if step is None else _join_steps([step], None, dtype.bits, where)
    if code in {1, 3}:
        return _read_axis_encoding(table, dtype, dims, where)
    if code == BLOCKWISE_EXPANSION:
        return _read_blocks(table, dtype, dims, where)
    if code in {4, 6, 7}:
        raise UnsupportedFeature(
            f"encoding {code} (scales of blocks, or vectors) is not read, expected 0 to 3 or 5", where
        )
    raise BadInput(f"encoding is {code}, expected 0 to 7", where)


def _read_axis_encoding(table: Table, dtype: DType, dims: tuple[int, ...], where: Where) -> Encoding:
    listed = table.child(EncodingSlot.AXIS)
    if listed is None:
        raise BadInput("the encoding is along an axis, but names none", where)
    return _read_channels(listed, dtype.bits, dims, where)


def _read_blocks(table: Table, dtype: DType, dims: tuple[int, ...], where: Where) -> Encoding:
    listed = table.child(EncodingSlot.BLOCKWISE)
    if listed is None:
        raise BadInput("the encoding is one of blocks, but has none", where)
    width = listed.integer(BlockwiseSlot.FACTOR_BITS, "B")
    if width != FACTOR_BITS or listed.integer(BlockwiseSlot.STORAGE, "I"):
        raise UnsupportedFeature(
            f"scales of blocks have {width} bits, expected {FACTOR_BITS} in bytes", where
        )
    expanded = _read_channels(listed, 2 * FACTOR_BITS, dims, where)
    channels = replace(expanded, bitwidth=expanded.bitwidth - FACTOR_BITS)
    if not 0 < channels.bitwidth <= dtype.bits:
        raise BadInput(f"the encoding has {channels.bitwidth} bits, {dtype.name} has {dtype.bits}", where)
    factors = listed.numbers(BlockwiseSlot.FACTORS, "u1", math.prod(dims)).tolist()
    return add_blocks(channels, dims, listed.integer(BlockwiseSlot.BLOCKS, "I"), factors, where)


def _read_channels(listed: Table, bits: int, dims: tuple[int, ...], where: Where) -> Encoding:
    axis = listed.integer(AxisSlot.AXIS, "i")
    if not 0 <= axis < len(dims):
        raise BadInput(f"the encoding's axis is {axis}, the tensor has {len(dims)} axes", where)
    steps = list(listed.children(AxisSlot.STEPS))
    if len(steps) != dims[axis]:
        raise BadInput(
            f"there are {len(steps)} scales along axis {axis}, the tensor has {dims[axis]} there", where
        )
    return _join_steps(steps, axis, bits, where)


def _join_steps(steps: list[Table], axis: int | None, bits: int, where: Where) -> Encoding:
    scales = tuple(_read_scale(step, where) for step in steps)
    offsets = tuple(step.integer(StepSlot.OFFSET, "i") for step in steps)
    widths = {step.integer(StepSlot.BITWIDTH, "I") or bits for step in steps} or {bits}
    if len(widths) != 1:
        raise BadInput(f"bit widths differ along the axis: {sorted(widths)}, expected one", where)
    width = widths.pop()
    if width > bits:
        raise BadInput(f"the encoding has {width} bits, expected at most {bits}", where)
    return Encoding(scales, offsets, axis, width)


def _read_scale(step: Table, where: Where) -> float:
    scale = step.real(StepSlot.SCALE, "f")
    # Zero is real: HTP ignores the scale of a bias beside weights with a scale per channel.
    if not (math.isfinite(scale) and scale >= 0):
        raise BadInput(f"the scale is {scale}, expected a finite number of at least 0", where)
    return scale

"""The tensor objects of the JSON description, as records."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgewright.artifacts import raw_data
from edgewright.artifacts.blockwise import BLOCKWISE_EXPANSION, FACTOR_BITS, LARGEST_FACTOR, add_blocks
from edgewright.artifacts.net_json.fields import Fields, as_float, as_integer
from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnTensor, TensorKind

# name, datatype and dims of a static tensor -> its data
Lookup = Callable[[str, DType, tuple[int, ...]], Array]

_CODES = {int(dtype): dtype for dtype in DType if dtype.is_qnn}
_DEFINED = 1
_LARGEST_CODE = 2**32 - 1
_INT32 = 2**31
_LARGEST_RANK = 32


def read_tensor(name: str, value: object, where: Where, lookup: Lookup) -> QnnTensor:
    """The record of one tensor; data of a static one comes from the JSON itself or from `lookup`."""
    fields = Fields(value, replace(where, tensor=name), f"tensor '{shown(name)}'")
    kind = _read_kind(fields)
    dtype = find_dtype(fields.integer("data_type", 0, _LARGEST_CODE), fields.where)
    dims = _read_dims(fields, dtype)
    data = None
    if kind == TensorKind.STATIC:
        data = _read_listed_data(fields, dtype, dims) if "data" in fields else lookup(name, dtype, dims)
    order = _order(fields, len(dims))
    form = fields.text("axis_format") if "axis_format" in fields else "ANY"
    return QnnTensor(name, kind, dtype, dims, _read_encoding(fields, dtype, dims), data, form, order)


def find_dtype(code: int, where: Where) -> DType:
    """The datatype with a QNN code."""
    if code not in _CODES:
        raise BadInput(f"data type {code} (0x{code:x}) is not one that QNN defines", where)
    return _CODES[code]


def convert_scalar(value: Any, dtype: DType, called: str, where: Where) -> int | float | bool | str:
    """A scalar as the Python type of the datatype."""
    if dtype == DType.STRING:
        if not isinstance(value, str):
            raise BadInput(f"{called} is '{shown(value)}', expected a text", where)
        return value
    if dtype.is_float:
        return as_float(value, called, where)
    if dtype == DType.BOOL_8:
        return value if isinstance(value, bool) else bool(as_integer(value, called, where, 0, 255))
    limits = np.iinfo(dtype.numpy)
    return as_integer(value, called, where, int(limits.min), int(limits.max))


def _read_kind(fields: Fields) -> TensorKind:
    code = fields.integer("type", 0, _LARGEST_CODE)
    if code > TensorKind.NULL:
        raise BadInput(f"tensor type is {code}, expected 0 to {int(TensorKind.NULL)}", fields.where)
    return TensorKind(code)


def _read_dims(fields: Fields, dtype: DType) -> tuple[int, ...]:
    dims = fields.integers(0, 2**32 - 1, "dims", "current_dims")  # the second until SDK 2.0
    raw_data.check_dims(dims, dtype, fields.where)
    return dims


def _order(fields: Fields, rank: int) -> tuple[int, ...]:
    if "permute_order_to_src" not in fields:
        return ()
    order = fields.integers(0, _LARGEST_RANK, "permute_order_to_src")
    if order and sorted(order) != list(range(rank)):
        raise BadInput(
            f"'permute_order_to_src' is {list(order)}, expected an order of the {rank} axes", fields.where
        )
    return order


def _read_listed_data(fields: Fields, dtype: DType, dims: tuple[int, ...]) -> Array:
    items: list[Any] = [fields.first_of("data")]
    for _ in range(len(dims) + 1):
        # One level at a time: recursion would let the file choose the depth of our stack.
        items = [inner for item in items for inner in (item if isinstance(item, list) else [item])]
    expected = math.prod(dims)
    if len(items) != expected:
        raise BadInput(f"'data' has {len(items)} values, dims {list(dims)} need {expected}", fields.where)
    if dtype == DType.STRING:
        raise BadInput("the tensor holds strings, a static tensor of QNN holds numbers", fields.where)
    values = [convert_scalar(item, dtype, "a value of 'data'", fields.where) for item in items]
    with np.errstate(over="ignore"):  # a value out of range becomes infinity, as in C
        return (
            np.array(values, np.float64 if dtype.is_float else dtype.numpy).astype(dtype.numpy).reshape(dims)
        )


def _read_encoding(fields: Fields, dtype: DType, dims: tuple[int, ...]) -> Encoding | None:
    params = fields.fields("quant_params")
    if params.integer("definition", 0, _LARGEST_CODE) != _DEFINED:
        return None
    code = params.integer("encoding", 0, _LARGEST_CODE)
    if code in {0, 2}:
        step = _step(params.fields("scale_offset"), dtype)
        return Encoding((step.scale,), (step.offset,), None, step.bitwidth)
    if code in {1, 3}:
        return _read_axis_encoding(params.fields("axis_scale_offset", "bw_axis_scale_offset"), dtype, dims)
    if code == BLOCKWISE_EXPANSION:
        return _read_blocks(params.fields("blockwise_expansion"), dtype, dims)
    if code in {4, 6}:
        raise UnsupportedFeature(
            f"encoding {code} (scales of blocks, or vectors) is not read, expected 0 to 3 or 5", fields.where
        )
    raise BadInput(f"encoding is {code}, expected 0 to 6", fields.where)


def _read_blocks(fields: Fields, dtype: DType, dims: tuple[int, ...]) -> Encoding:
    channels = _read_axis_encoding(fields, dtype, dims)
    fields.integer("block_scale_bitwidth", FACTOR_BITS, FACTOR_BITS)
    factors = fields.integers(1, LARGEST_FACTOR, "blocks_scale8")
    blocks = fields.integer("num_blocks_per_axis", 1, max(*dims, 1))
    return add_blocks(channels, dims, blocks, factors, fields.where)


def _read_axis_encoding(fields: Fields, dtype: DType, dims: tuple[int, ...]) -> Encoding:
    axis = fields.integer("axis", 0, max(len(dims) - 1, 0))
    if not dims:
        raise BadInput("the encoding has an axis, the tensor has none", fields.where)
    listed = fields.array("scale_offsets")
    if len(listed) != dims[axis]:
        raise BadInput(
            f"there are {len(listed)} scales along axis {axis}, the tensor has {dims[axis]} there",
            fields.where,
        )
    steps = [_step(Fields(item, fields.where, "an item of 'scale_offsets'"), dtype) for item in listed]
    widths = {step.bitwidth for step in steps} or {dtype.bits}
    if len(widths) != 1:
        raise BadInput(f"bit widths differ along the axis: {sorted(widths)}, expected one", fields.where)
    return Encoding(tuple(s.scale for s in steps), tuple(s.offset for s in steps), axis, widths.pop())


@dataclass(frozen=True)
class _Step:
    scale: float
    offset: int
    bitwidth: int


def _step(fields: Fields, dtype: DType) -> _Step:
    scale = as_float(fields.first_of("scale"), "'scale'", fields.where)
    # Zero is real: HTP ignores the scale of a bias beside weights with a scale per channel.
    if not (math.isfinite(scale) and scale >= 0):
        raise BadInput(f"'scale' is {scale}, expected a finite number of at least 0", fields.where)
    bitwidth = fields.integer("bitwidth", 1, dtype.bits) if "bitwidth" in fields else dtype.bits
    return _Step(scale, fields.integer("offset", -_INT32, _INT32 - 1), bitwidth)

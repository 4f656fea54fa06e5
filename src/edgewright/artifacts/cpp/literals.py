"""C++ literals and comments that reproduce any value exactly."""

import math
from collections.abc import Iterator

import numpy as np

from edgewright.core.errors import UnsupportedFeature, Where
from edgewright.core.numbers import Array, DType
from edgewright.lower.qnn_graph import QnnScalar

_ON_ONE_LINE = 16
_PLAIN = frozenset(
    map(ord, " !#$%&'()*+,-./0123456789:;<=>@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~")
)

# Field of the union in Qnn_Scalar_t. Fixed-point scalars and small floats have none.
_SCALAR_FIELDS = {
    DType.FLOAT_32: "floatValue",
    DType.FLOAT_64: "doubleValue",
    DType.UINT_64: "uint64Value",
    DType.INT_64: "int64Value",
    DType.UINT_32: "uint32Value",
    DType.INT_32: "int32Value",
    DType.UINT_16: "uint16Value",
    DType.INT_16: "int16Value",
    DType.UINT_8: "uint8Value",
    DType.INT_8: "int8Value",
    DType.BOOL_8: "bool8Value",
    DType.STRING: "stringValue",
}


def write_text(value: str) -> str:
    """A string literal; everything but plain characters is an octal escape of three digits."""
    # '?' is escaped too: two of them may start a trigraph.
    return (
        '"' + "".join(chr(c) if c in _PLAIN else f"\\{c:03o}" for c in value.encode("utf-8", "replace")) + '"'
    )


def write_comment(value: str) -> str:
    """A block comment that the text inside cannot close, nor continue past its end."""
    lines = [_escape_line(line) for line in value.splitlines()]
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"]) + "\n"


def write_scalar(value: QnnScalar, where: Where) -> str:
    """The initialiser of a Qnn_Scalar_t."""
    field = _SCALAR_FIELDS.get(value.dtype)
    if field is None:
        raise UnsupportedFeature(f"a QNN scalar cannot be {value.dtype.name}", where)
    return f"{{QNN_DATATYPE_{value.dtype.name}, {{.{field} = {_write_literal(value)}}}}}"


def write_real(value: float, dtype: DType = DType.FLOAT_32) -> str:
    """A floating-point literal that reads back as the same number."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    if dtype == DType.FLOAT_64:
        return repr(float(value))
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    return write_real(math.copysign(math.inf, value)) if np.isinf(rounded) else f"{rounded!s}f"


def choose_array_type(dtype: DType) -> str:
    """The C type of one stored element; 16-bit floats have none and are written as their bits."""
    if dtype == DType.BOOL_8:
        return "uint8_t"
    stored = dtype.numpy
    if dtype in {DType.FLOAT_32, DType.FLOAT_64}:
        return {4: "float", 8: "double"}[stored.itemsize]
    return f"{'int' if stored.kind == 'i' else 'uint'}{stored.itemsize * 8}_t"


def write_array_lines(data: Array, dtype: DType) -> Iterator[str]:
    """The values of an array in storage order, some on each line."""
    flat = np.ascontiguousarray(data).reshape(-1)
    if flat.dtype.itemsize == 2 and flat.dtype.kind in "fV":
        flat = flat.view(np.uint16)
    elif flat.dtype.kind == "b":
        flat = flat.view(np.uint8)
    for start in range(0, len(flat), _ON_ONE_LINE):
        values = flat[start : start + _ON_ONE_LINE].tolist()
        yield ", ".join(write_real(v, dtype) if isinstance(v, float) else _write_integer(v) for v in values)


def _write_literal(value: QnnScalar) -> str:
    if value.dtype == DType.STRING:
        return write_text(str(value.value))
    if value.dtype.is_float:
        return write_real(float(value.value), value.dtype)
    return _write_integer(int(value.value))


def _write_integer(value: int) -> str:
    if value == -(2**63):
        return "(-9223372036854775807LL - 1)"  # the literal itself would be out of range before the minus
    if value > 2**63 - 1:
        return f"{value}ULL"
    return str(value) if -(2**31) < value < 2**31 else f"{value}LL"


def _escape_line(line: str) -> str:
    shown = "".join(c if c.isprintable() else "?" for c in line)
    # A backslash at the end of a line would join the next one to it.
    return shown.replace("*/", "* /").replace("/*", "/ *").rstrip("\\ ")

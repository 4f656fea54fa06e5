"""QNN's C structs as ctypes, in the layout of core API 2 on 64-bit Linux."""

import ctypes
from ctypes import POINTER, Structure, Union, c_char_p, c_double, c_float, c_void_p
from ctypes import c_int8 as i8
from ctypes import c_int16 as i16
from ctypes import c_int32 as i32
from ctypes import c_int64 as i64
from ctypes import c_uint8 as u8
from ctypes import c_uint16 as u16
from ctypes import c_uint32 as u32
from ctypes import c_uint64 as u64


class Version(Structure):
    _fields_ = (("major", u32), ("minor", u32), ("patch", u32))


class ProviderHead(Structure):
    """What comes before the function table of a backend's provider."""

    _fields_ = (("backend_id", u32), ("name", c_char_p), ("core", Version), ("backend", Version))


class SystemProviderHead(Structure):
    """What comes before the function table of the System library's provider."""

    _fields_ = (("backend_id", u32), ("name", c_char_p), ("system", Version))


class _ScalarValue(Union):
    _fields_ = (
        ("float_32", c_float),
        ("float_64", c_double),
        ("uint_64", u64),
        ("int_64", i64),
        ("uint_32", u32),
        ("int_32", i32),
        ("uint_16", u16),
        ("int_16", i16),
        ("uint_8", u8),
        ("int_8", i8),
        ("bool_8", u8),
        ("string", c_char_p),
    )


class Scalar(Structure):
    _fields_ = (("data_type", u32), ("value", _ScalarValue))


class ScaleOffset(Structure):
    _fields_ = (("scale", c_float), ("offset", i32))


class BwScaleOffset(Structure):
    _fields_ = (("bitwidth", u32), ("scale", c_float), ("offset", i32))


class AxisScaleOffset(Structure):
    _fields_ = (("axis", i32), ("count", u32), ("pairs", POINTER(ScaleOffset)))


class BwAxisScaleOffset(Structure):
    _fields_ = (
        ("bitwidth", u32),
        ("axis", i32),
        ("count", u32),
        ("scales", POINTER(c_float)),
        ("offsets", POINTER(i32)),
    )


class _BlockEncoding(Structure):
    _fields_ = (("block_size", POINTER(u32)), ("pairs", POINTER(ScaleOffset)))


class BlockwiseExpansion(Structure):
    _fields_ = (
        ("axis", i32),
        ("pairs", POINTER(ScaleOffset)),
        ("blocks_per_axis", u32),
        ("scale_bitwidth", u32),
        ("storage", u32),
        ("scales", POINTER(u8)),
    )


class _QuantizeUnion(Union):
    _fields_ = (
        ("scale_offset", ScaleOffset),
        ("axis", AxisScaleOffset),
        ("bw", BwScaleOffset),
        ("bw_axis", BwAxisScaleOffset),
        ("block", _BlockEncoding),
        ("expansion", POINTER(BlockwiseExpansion)),
    )


class QuantizeParams(Structure):
    _fields_ = (("definition", u32), ("encoding", u32), ("of", _QuantizeUnion))


class ClientBuffer(Structure):
    _fields_ = (("data", c_void_p), ("size", u32))


class _TensorMemory(Union):
    _fields_ = (("buffer", ClientBuffer), ("handle", c_void_p))


class TensorV1(Structure):
    _fields_ = (
        ("id", u32),
        ("name", c_char_p),
        ("type", u32),
        ("data_format", u32),
        ("data_type", u32),
        ("quantize", QuantizeParams),
        ("rank", u32),
        ("dims", POINTER(u32)),
        ("memory_type", u32),
        ("memory", _TensorMemory),
    )


class _SparseParams(Structure):
    _fields_ = (("type", u32), ("specified", u32), ("dimensions", u32))


class _TensorV2(Structure):
    _anonymous_ = ("v1",)
    _fields_ = (
        ("v1", TensorV1),
        ("is_dynamic", POINTER(u8)),
        ("sparse", _SparseParams),
        ("is_produced", u8),
    )


class _TensorUnion(Union):
    _fields_ = (("v1", TensorV1), ("v2", _TensorV2))


class Tensor(Structure):
    """A tensor of either version; the fields of version 1 are at the same place in both."""

    _fields_ = (("version", u32), ("of", _TensorUnion))


class _ParamUnion(Union):
    _fields_ = (("scalar", Scalar), ("tensor", Tensor))


class Param(Structure):
    _fields_ = (("type", u32), ("name", c_char_p), ("of", _ParamUnion))


class OpConfig(Structure):
    """An op; its union has one member and is written flat, since ctypes passes that by value safely."""

    _fields_ = (
        ("version", u32),
        ("name", c_char_p),
        ("package", c_char_p),
        ("type_name", c_char_p),
        ("params_count", u32),
        ("params", POINTER(Param)),
        ("inputs_count", u32),
        ("inputs", POINTER(Tensor)),
        ("outputs_count", u32),
        ("outputs", POINTER(Tensor)),
    )


class OperationName(Structure):
    _fields_ = (("package", c_char_p), ("name", c_char_p), ("target", c_char_p))


class _ConfigValue(Union):
    _fields_ = (("custom", c_void_p), ("number", u32), ("path", c_char_p))


class Config(Structure):
    """The configuration of a backend, device, context, graph or profile: one option and its value."""

    _fields_ = (("option", u32), ("value", _ConfigValue))


class EventData(Structure):
    _fields_ = (("type", u32), ("unit", u32), ("value", u64), ("identifier", c_char_p))


assert ctypes.sizeof(Tensor) == 144, "this machine lays out structs differently"
assert ctypes.sizeof(OpConfig) == 80

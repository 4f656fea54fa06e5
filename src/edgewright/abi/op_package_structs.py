"""The structs of op packages as ctypes: the interface, and what the CPU backend passes."""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_double, c_size_t, c_void_p
from ctypes import c_uint32 as u32

from edgewright.abi.structs import Version

# Functions of an interface of version 1.x, in order.
INTERFACE = (
    *("init", "terminate", "getInfo", "validateOpConfig", "createOpImpl", "freeOpImpl"),
    *("logInitialize", "logSetLevel", "logTerminate"),
)
LARGEST_RANK = 8


class PackageInterface(Structure):
    _fields_ = (("version", Version), ("functions", c_void_p * len(INTERFACE)))


class PackageInfo(Structure):
    _fields_ = (
        ("name", c_char_p),
        ("operations", POINTER(c_char_p)),
        ("operation_info", c_void_p),
        ("operations_count", u32),
        ("optimizations", c_void_p),
        ("optimizations_count", u32),
        ("sdk_build", c_char_p),
        ("sdk_version", c_void_p),
        ("package_info", c_void_p),
        ("opset_version", c_void_p),
        ("reserved", c_size_t * 7),
    )


class CpuTensor(Structure):
    _fields_ = (("data_type", u32), ("rank", u32), ("dims", POINTER(u32)), ("data", c_void_p))


class CpuParam(Structure):
    _fields_ = (
        ("type", u32),
        ("name", c_char_p),
        ("scalar", c_double),
        ("text", c_char_p),
        ("tensor", CpuTensor),
    )


class CpuNode(Structure):
    _fields_ = (
        ("name", c_char_p),
        ("package", c_char_p),
        ("type_name", c_char_p),
        ("params_count", u32),
        ("params", POINTER(CpuParam)),
        ("inputs_count", u32),
        ("inputs", POINTER(CpuTensor)),
        ("outputs_count", u32),
        ("outputs", POINTER(CpuTensor)),
    )


class CpuOpImpl(Structure):
    _fields_ = (("function", c_void_p), ("user_data", c_void_p))


class InferredOutput(Structure):
    _fields_ = (("data_type", u32), ("rank", u32), ("dims", u32 * LARGEST_RANK))


assert ctypes.sizeof(PackageInterface) == 88

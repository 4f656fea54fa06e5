"""The structs that the System library describes a context binary or a DLC with."""

from ctypes import POINTER, Structure, c_char_p, c_void_p
from ctypes import c_uint32 as u32
from ctypes import c_uint64 as u64

from edgewright.abi.structs import Tensor, Version


class _GraphInfoV3(Structure):
    _fields_ = (
        ("name", c_char_p),
        ("inputs_count", u32),
        ("inputs", POINTER(Tensor)),
        ("outputs_count", u32),
        ("outputs", POINTER(Tensor)),
        ("updateable_count", u32),
        ("updateable", POINTER(Tensor)),
        ("blob_size", u32),
        ("blob", c_void_p),
        ("start_op", u32),
        ("end_op", u32),
    )


class GraphInfo(Structure):
    """A graph in a binary; versions 1 to 3 start alike."""

    _fields_ = (("version", u32), ("of", _GraphInfoV3))


class _BinaryInfoV3(Structure):
    _fields_ = (
        ("backend_id", u32),
        ("build_id", c_char_p),
        ("core", Version),
        ("backend", Version),
        ("soc_version", c_char_p),
        ("blob_version", Version),
        ("blob_size", u64),
        ("context_tensors_count", u32),
        ("context_tensors", POINTER(Tensor)),
        ("graphs_count", u32),
        ("graphs", POINTER(GraphInfo)),
        ("platform", c_void_p),
        ("meta_size", u32),
        ("meta", c_void_p),
        ("soc_model", u32),
    )


class BinaryInfo(Structure):
    _fields_ = (("version", u32), ("of", _BinaryInfoV3))

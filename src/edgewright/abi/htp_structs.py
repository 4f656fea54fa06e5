"""The structs of the HTP, IR and Saver libraries: custom configuration, and what HTP adds to metadata."""

from ctypes import Structure, Union, c_char_p, c_float, c_void_p
from ctypes import c_uint8 as u8
from ctypes import c_uint32 as u32
from ctypes import c_uint64 as u64


class _Arch(Structure):
    _fields_ = (("device_id", u32), ("arch", u32))


class _NarrowDeviceValue(Union):
    _fields_ = (("soc_model", u32), ("arch", _Arch))


class _DeviceValue(Union):
    # The pointer member came after SDK 2.40 and moved the union to offset 8.
    _fields_ = (("soc_model", u32), ("arch", _Arch), ("pointer", c_void_p))


class HtpDeviceConfigNarrow(Structure):
    """The layout of SDK 2.40 and before (12 bytes)."""

    _fields_ = (("option", u32), ("value", _NarrowDeviceValue))


class HtpDeviceConfig(Structure):
    """The layout of SDK 2.51 (16 bytes)."""

    _fields_ = (("option", u32), ("value", _DeviceValue))


class _Optimization(Structure):
    _fields_ = (("type", u32), ("value", c_float))


class _GraphValue(Union):
    _fields_ = (("optimization", _Optimization), ("number", u32), ("count", u64), ("room", u64 * 6))


class HtpGraphConfig(Structure):
    _fields_ = (("option", u32), ("value", _GraphValue))


class _ContextValue(Union):
    _fields_ = (("is_on", u8), ("room", u64 * 2))


class HtpContextConfig(Structure):
    _fields_ = (("option", u32), ("value", _ContextValue))


class _IrTarget(Structure):
    _fields_ = (("kind", u32), ("path", c_char_p))


class IrGraphConfig(Structure):
    _fields_ = (("option", u32), ("target", _IrTarget))


class _SaverValue(Union):
    _fields_ = (("path", c_char_p), ("number", u32), ("room", u64 * 2))


class SaverConfig(Structure):
    _fields_ = (("option", u32), ("value", _SaverValue))


class HtpGraphBlob(Structure):
    """The head of HTP's description of a compiled graph; the rest is not read."""

    _fields_ = (
        ("version", u32),
        ("spill_fill", u64),
        ("vtcm_bytes", u32),
        ("optimization_level", u32),
        ("is_dlbc", u8),
        ("hvx_threads", u64),
    )


class HtpContextMeta(Structure):
    _fields_ = (("version", u32), ("dsp_arch", u32))

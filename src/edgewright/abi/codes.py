"""The numbers of QNN's enums, under our own names."""

from enum import IntEnum

UNDEFINED = 0x7FFFFFFF
# The part of a returned handle that is the error's number.
CAUGHT = 0xFFFF


class EncodingKind(IntEnum):
    """How a tensor's quantize parameters are spelled."""

    SCALE_OFFSET = 0
    AXIS = 1
    BW = 2
    BW_AXIS = 3
    BLOCK = 4
    BLOCKWISE_EXPANSION = 5


class LogLevel(IntEnum):
    ERROR = 1
    WARN = 2
    INFO = 3
    VERBOSE = 4
    DEBUG = 5


class HtpGraphOption(IntEnum):
    OPTIMIZATION = 1
    PRECISION = 2
    VTCM_MB = 3
    HVX_THREADS = 6


class ProfileUnit(IntEnum):
    MICROSECONDS = 1
    BYTES = 2
    CYCLES = 3
    COUNT = 4
    OBJECT = 5


class NumericError(IntEnum):
    """Codes that are distinguished here; the library's own text explains the rest."""

    UNSUPPORTED = 1000
    UNKNOWN_OP = 4005
    UNFIT_OP = 3110
    UNFIT_TENSOR = 7004

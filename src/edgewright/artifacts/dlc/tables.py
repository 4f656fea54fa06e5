"""The slots of fields in the tables of a DLC, and its enum values."""

from enum import IntEnum

# Magic number, major and minor version; the last two bytes are 0.
BLOB_HEADER = "<2sHH2x"
MODEL_IDENTIFIER = b"NETD"
PARAMS_IDENTIFIER = b"NETP"
UNDEFINED = 0x7FFFFFFF
# Flags of an attribute.
PARAMETER = 1
BOOKKEEPING = 2
PACKAGE_NAME = "packageName"


class ModelSlot(IntEnum):
    GRAPHS = 0


class GraphSlot(IntEnum):
    NAME = 0
    NODES = 1
    TENSORS = 2
    NAME_AGAIN = 4  # since 4.1


class NodeSlot(IntEnum):
    NAME = 0
    TYPE = 1
    INPUTS = 2
    OUTPUTS = 3
    ATTRIBUTES = 4


class AttributeSlot(IntEnum):
    NAME = 0
    KIND = 1
    FLAG = 2
    SCALAR = 3
    TENSOR = 4


class AttributeKind(IntEnum):
    SCALAR = 0
    TENSOR = 1


class ScalarSlot(IntEnum):
    DTYPE = 0
    INTEGER = 1
    REAL = 2
    TEXT = 3


class TensorSlot(IntEnum):
    ID = 0
    NAME = 1
    KIND = 2
    DIMS = 3
    FORMAT = 4
    ENCODING = 5
    DTYPE = 6
    PLAIN_DTYPE = 7
    IS_QUANTIZABLE = 8
    SOURCE_FORMAT = 12


class EncodingSlot(IntEnum):
    TYPE = 0
    IS_OVERRIDDEN = 1
    STEP = 2
    AXIS = 3
    BLOCKWISE = 5
    DEFINITION = 7


class StepSlot(IntEnum):
    BITWIDTH = 0
    MINIMUM = 1
    MAXIMUM = 2
    SCALE = 3
    OFFSET = 4
    IS_SYMMETRIC = 5


class AxisSlot(IntEnum):
    AXIS = 0
    STEPS = 1


class BlockwiseSlot(IntEnum):
    AXIS = 0
    STEPS = 1
    BLOCKS = 2
    # 0: factors are bytes.
    STORAGE = 3
    FACTOR_BITS = 4
    FACTORS = 5


class GraphDataSlot(IntEnum):
    NAME = 0
    TENSORS = 1
    NODES = 2


class NodeDataSlot(IntEnum):
    TENSORS = 0


class TensorDataSlot(IntEnum):
    NAME = 0
    BYTES = 1
    PLACE = 3


class PlaceSlot(IntEnum):
    OFFSET = 0
    SIZE = 1

"""The closed set of records that travel between the worker and its caller."""

from edgewright.abi.frames import Codec
from edgewright.abi.versions import LibraryVersion
from edgewright.backends.qnn.info import BinaryInfo, GraphInfo
from edgewright.backends.qnn.options import GraphOptions, HtpOptions, Priority, ProfilingLevel, WorkerOptions
from edgewright.backends.qnn.profile import ProfileEvent
from edgewright.core import errors
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind

_RECORDS = (
    BinaryInfo,
    DType,
    Encoding,
    GraphInfo,
    GraphOptions,
    HtpOptions,
    LibraryVersion,
    Priority,
    ProfileEvent,
    ProfilingLevel,
    QnnGraph,
    QnnNode,
    QnnScalar,
    QnnTensor,
    TensorKind,
    WorkerOptions,
    errors.Where,
)
_ERRORS = (
    errors.BackendCrash,
    errors.BadInput,
    errors.EnvironmentProblem,
    errors.UnsupportedFeature,
    errors.UnsupportedOp,
    errors.UsageError,
)
CODEC = Codec((*_RECORDS, *_ERRORS))

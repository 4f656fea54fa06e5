"""Plain records that mirror QNN's tensor and op-config structs: what every artifact spells in its own way."""

from dataclasses import dataclass, field
from enum import IntEnum

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding


class TensorKind(IntEnum):
    """Who writes and reads a tensor (Qnn_TensorType_t)."""

    APP_WRITE = 0
    APP_READ = 1
    APP_READWRITE = 2
    NATIVE = 3
    STATIC = 4
    NULL = 5


@dataclass(frozen=True, eq=False)
class QnnTensor:
    """A tensor of the graph, or the value of a tensor parameter (then it is STATIC and has data)."""

    name: str
    kind: TensorKind
    dtype: DType
    dims: tuple[int, ...]
    encoding: Encoding | None = None
    # Static tensors only; may be a view of a mapped file, in the stored dtype and any memory order.
    data: Array | None = None
    # "NHWC" and the like, and the permutation that brings the tensor into the source model's layout.
    axis_format: str = "ANY"
    permute_order_to_src: tuple[int, ...] = ()


@dataclass(frozen=True)
class QnnScalar:
    """The value of a scalar parameter."""

    dtype: DType
    value: int | float | bool | str


@dataclass(frozen=True, eq=False)
class QnnNode:
    """One op of the graph."""

    name: str
    package: str
    type: str
    scalar_params: dict[str, QnnScalar] = field(default_factory=dict)
    tensor_params: dict[str, QnnTensor] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    macs: int = 0
    # What conversion records about a node for later steps, such as a batch norm folded into it.
    notes: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class QnnGraph:
    """Nodes in an order that can run. Names already suit file names and C++ identifiers."""

    name: str
    tensors: dict[str, QnnTensor]
    nodes: list[QnnNode]
    # name here -> name in the source model, where they differ
    source_names: dict[str, str] = field(default_factory=dict)
    # name here -> tensor of the source model that it was made from (a layout, one side of a clamp)
    forms: dict[str, str] = field(default_factory=dict)
    # tensor of the source model that has no tensor here -> why
    gone: dict[str, str] = field(default_factory=dict)

    def of_kind(self, kind: TensorKind) -> list[QnnTensor]:
        """The tensors of one kind, in order."""
        return [tensor for tensor in self.tensors.values() if tensor.kind == kind]

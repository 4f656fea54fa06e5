"""The content of a context: its graphs with their tensors, and the metadata of a context binary."""

from dataclasses import dataclass

from edgewright.lower.qnn_graph import QnnTensor

Version = tuple[int, int, int]


@dataclass(frozen=True)
class GraphInfo:
    """A graph's name, its inputs and outputs, and the facts of its compilation that the library reports."""

    name: str
    inputs: tuple[QnnTensor, ...]
    outputs: tuple[QnnTensor, ...]
    vtcm_bytes: int | None = None
    spill_fill_bytes: int | None = None
    optimization_level: int | None = None
    hvx_threads: int | None = None
    is_dlbc: bool | None = None


@dataclass(frozen=True)
class BinaryInfo:
    """The metadata of a context binary."""

    backend_id: int
    build_id: str
    core_version: Version
    backend_version: Version
    blob_version: Version
    soc_model: int
    soc_version: str
    dsp_arch: int | None
    blob_bytes: int
    graphs: tuple[GraphInfo, ...]
    context_tensors: tuple[QnnTensor, ...] = ()

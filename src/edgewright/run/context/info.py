"""What a context binary holds, whether a genuine library made it or one of our own backends."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgewright.abi.libraries import find_libraries
from edgewright.artifacts.context import reader
from edgewright.artifacts.context.frame import is_framed
from edgewright.artifacts.context.records import Context
from edgewright.backends.qnn.info import BinaryInfo, GraphInfo
from edgewright.backends.qnn.runtime import QnnRuntime
from edgewright.core.errors import BadInput, EdgewrightError, EnvironmentProblem, Where, locate_problem, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array
from edgewright.core.optional import install_command
from edgewright.lower.qnn_graph import QnnGraph, QnnTensor, TensorKind

# Qnn backend ids of the libraries that ours stand for.
_IDS = {"cpu": 3, "gpu": 4, "htp-sim": 6}
# First bytes of files that are not context binaries.
_OTHERS = {b"PK": "a zip such as a DLC", b"\x7fELF": "a library", b"{": "JSON"}
_NAMES = {3: "cpu", 4: "gpu", 6: "htp-native"}


@dataclass(frozen=True)
class ContextInfo:
    """A context binary: who reads it, and what is in it."""

    file: str
    # cpu, gpu or htp-sim for contexts of our own backends, htp-native for genuine ones.
    backend: str
    is_genuine: bool
    binary: BinaryInfo
    bytes: int
    # In addition to what a genuine binary records: chip, priority, settings of graphs.
    settings: dict[str, object] = field(default_factory=dict)


def read_context_info(path: Path | str) -> ContextInfo:
    """Reads and validates a context binary of either kind."""
    path = Path(path)
    if is_framed(path):
        return _own_info(path, own_context(path))
    binary = read_genuine_info(path)
    backend = _NAMES.get(binary.backend_id, f"backend {binary.backend_id}")
    return ContextInfo(str(path), backend, True, binary, measure_file(path))


def own_context(path: Path) -> Context:
    """The context of a file that one of our backends made."""
    return reader.read(path)


def read_genuine_info(path: Path) -> BinaryInfo:
    """The System library's description of a context binary, read in a separate process."""
    _refuse_others(path)
    if find_libraries() is None:
        raise EnvironmentProblem(
            f"'{shown(path)}' is not a context binary of Edgewright; reading others needs the QNN libraries",
            do=install_command("onnxruntime_qnn"),
        )
    with QnnRuntime() as runtime:
        try:
            return runtime.info(read_binary(path))
        except EdgewrightError as problem:
            raise locate_problem(problem, Where(file=str(path))) from problem


def _refuse_others(path: Path) -> None:
    """Refuses files that are mistaken for context binaries, by their first bytes."""
    measure_file(path)
    with path.open("rb") as file:
        start = file.read(4)
    for magic, kind in _OTHERS.items():
        if start.startswith(magic):
            raise BadInput(
                f"the file is {kind}, expected a context binary",
                Where(file=str(path)),
                do="compile a model with qnn-context-binary-generator",
            )


def read_binary(path: Path, *, is_mapped: bool = True) -> Array:
    """The bytes of a file, read or mapped."""
    if not measure_file(path):
        raise BadInput("the file is empty, expected a context binary", Where(file=str(path)))
    return np.memmap(path, np.uint8, "r") if is_mapped else np.fromfile(path, np.uint8)


def _own_info(path: Path, context: Context) -> ContextInfo:
    head = context.head
    size = measure_file(path)
    binary = BinaryInfo(
        backend_id=_IDS[head.backend],
        build_id=head.producer,
        core_version=(0, 0, 0),
        backend_version=(0, 0, 0),
        blob_version=(1, 0, 0),
        soc_model=head.soc_model,
        soc_version=head.soc,
        dsp_arch=head.dsp_arch or None,
        blob_bytes=size,
        graphs=tuple(_make_graph_info(graph, head.settings.get(graph.name, {})) for graph in context.graphs),
    )
    settings = {"priority": head.priority, "weight_sharing": head.is_weight_sharing}
    return ContextInfo(str(path), head.backend, False, binary, size, settings)


def _make_graph_info(graph: QnnGraph, settings: dict[str, int]) -> GraphInfo:
    megabytes = settings.get("vtcm_mb")
    return GraphInfo(
        graph.name,
        tuple(map(_strip_tensor, graph.of_kind(TensorKind.APP_WRITE))),
        tuple(map(_strip_tensor, graph.of_kind(TensorKind.APP_READ))),
        vtcm_bytes=None if megabytes is None else megabytes << 20,
        optimization_level=settings.get("optimization_level"),
        hvx_threads=settings.get("hvx_threads"),
        is_dlbc=None if "dlbc" not in settings else bool(settings["dlbc"]),
    )


def _strip_tensor(tensor: QnnTensor) -> QnnTensor:
    return QnnTensor(tensor.name, tensor.kind, tensor.dtype, tensor.dims, tensor.encoding)

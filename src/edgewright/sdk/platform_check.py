"""What qnn-platform-validator can check on a host: which backends are here, and whether they work."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.abi.libraries import find_libraries
from edgewright.backends.base import Backend, RunOptions
from edgewright.backends.gpu.backend import GpuBackend
from edgewright.backends.registry import find_backend
from edgewright.core.errors import EdgewrightError, UsageError, shown
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu
from edgewright.targets.soc import find_soc

# The tool's names for our backends; newer chips have the HTP in place of the DSP.
_BACKENDS = {"cpu": ("cpu",), "gpu": ("gpu",), "dsp": ("htp",), "htp": ("htp",), "all": ("cpu", "gpu", "htp")}
CSV_NAME = "Result.csv"
# Hexagon architectures whose tensors run on vectors, with libraries of their own (libQnnDsp.so).
_WITHOUT_HTP = frozenset({"v65", "v66"})
_HEADER = (
    "Backend",
    "Hardware",
    "Backend Libraries",
    "Library Version",
    "Core Version",
    "Unit Test",
    "Detail",
)


@dataclass(frozen=True)
class BackendCheck:
    """One backend; fields that were not requested are empty."""

    backend: str
    hardware: str
    libraries: str
    library_version: str = ""
    core_version: str = ""
    unit_test: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Asked:
    """Which checks were requested."""

    test: bool = False
    core: bool = False
    library: bool = False


def check_platform(
    backend: str, directory: Path | str | None = None, dsp_type: str | None = None, asked: Asked | None = None
) -> tuple[BackendCheck, ...]:
    """The checks of the backends that a name stands for."""
    if directory is not None and not Path(directory).is_dir():
        raise UsageError(f"'{shown(directory)}' is not a folder, expected the root of an SDK")
    if dsp_type is not None and dsp_type.lower() in _WITHOUT_HTP:
        return tuple(
            _check_old_dsp(dsp_type) if name == "htp" else _check(name, asked or Asked())
            for name in _BACKENDS[backend]
        )
    if dsp_type is not None:
        find_soc(dsp_type)
    return tuple(_check(name, asked or Asked()) for name in _BACKENDS[backend])


def write_csv(checks: tuple[BackendCheck, ...]) -> bytes:
    """The checks as the tool's CSV file."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_HEADER)
    writer.writerows(vars(item).values() for item in checks)
    return buffer.getvalue().encode()


def _check_old_dsp(dsp_type: str) -> BackendCheck:
    detail = f"{dsp_type.lower()} has no HTP: its libraries run on a device only, nothing emulates them here"
    return BackendCheck("dsp", "Not supported", "Not found", detail=detail)


def _check(name: str, asked: Asked) -> BackendCheck:
    try:
        backend = find_backend(name)
    except EdgewrightError as problem:
        return BackendCheck(name, "Not supported", "Not found", detail=problem.what)
    library, core = _find_versions(name)
    tested, trouble = _run_relu(name, backend) if asked.test else ("", "")
    return BackendCheck(
        name,
        _describe_hardware(name, backend),
        "Found",
        library if asked.library else "",
        core if asked.core else "",
        tested,
        trouble or backend.name,
    )


def _describe_hardware(name: str, backend: Backend) -> str:
    if isinstance(backend, GpuBackend):
        return "Emulated on this host" if backend.is_software else "Supported"
    return "Supported" if name == "cpu" else "Emulated on this host"


def _find_versions(name: str) -> tuple[str, str]:
    libraries = find_libraries()
    if name in {"cpu", "gpu"} or libraries is None:
        from importlib.metadata import version

        return f"edgewright {version('edgewright')}", "none: no genuine library"
    from edgewright.backends.qnn.backend import shared_runtime
    from edgewright.backends.qnn.options import HtpOptions

    library = shared_runtime(HtpOptions()).version
    return library.build_id, ".".join(map(str, library.core))


def _run_relu(name: str, backend: Backend) -> tuple[str, str]:
    """A ReLU on four numbers, bytes where the backend takes them: small, and its result is known."""
    is_float = name == "gpu"
    kind = TensorType((1, 4), DType.UFIXED_POINT_8, None, Encoding((0.5,), (-2,)))
    if is_float:
        kind = TensorType((1, 4))
    given, expected = ([-2, -1, 0, 7], [0, 0, 0, 7]) if is_float else ([0, 1, 2, 9], [2, 2, 2, 9])
    graph = Graph("validator")
    graph.add_input("x", kind)
    graph.add(Node("relu", Relu(), ["x"], ["y"]), [kind])
    graph.outputs = ["y"]
    try:
        result = backend.prepare(graph, RunOptions()).run({"x": np.array([given], kind.dtype.numpy)})["y"]
    except EdgewrightError as problem:
        return "Failed", problem.what
    is_right = result.tolist() == [expected]
    return (
        ("Passed", "")
        if is_right
        else ("Failed", f"{name} computed {result.tolist()}, expected {[expected]}")
    )

"""The genuine libraries for callers: graphs compiled, loaded, composed and run; binaries described."""

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np

from edgewright.abi.libraries import HOST_NAMES, Libraries, find_libraries, spell_library
from edgewright.abi.versions import LibraryVersion
from edgewright.abi.worker_process import WorkerGone
from edgewright.backends.qnn.checks import check_graph, check_values
from edgewright.backends.qnn.client import Worker
from edgewright.backends.qnn.info import BinaryInfo, GraphInfo
from edgewright.backends.qnn.options import HtpOptions
from edgewright.backends.qnn.profile import ProfileEvent
from edgewright.backends.qnn.shared import SharedBlock
from edgewright.core.errors import BadInput, EnvironmentProblem, UnsupportedFeature, UsageError, Where
from edgewright.core.numbers import Array
from edgewright.core.optional import install_command
from edgewright.lower.qnn_graph import QnnGraph

HTP = spell_library("QnnHtp")
# How often a run is tried where its worker was ended before it began.
ATTEMPTS = 3


class QnnRuntime:
    """A worker process with a library opened for one chip; use it in a `with`, or call `close`."""

    def __init__(self, options: HtpOptions | None = None, library: str = HTP) -> None:
        self.options = options or HtpOptions()
        self.libraries = required_libraries()
        self._worker = Worker(self.libraries.folder, library, self.options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def version(self) -> LibraryVersion:
        """The library's version."""
        return self._worker.version

    @property
    def is_alive(self) -> bool:
        """Whether the worker is still alive."""
        return self._worker.is_alive

    def operations(self) -> list[str]:
        """The ops that the library has."""
        names: list[str] = self._worker.ask("operations")
        return names

    def compile(self, graphs: Sequence[QnnGraph], options: HtpOptions | None = None) -> "QnnContext":
        """A context of graphs from records, all checked here and validated there before any is built.

        ``options`` may differ from the runtime's in everything but the chip.
        """
        for graph in graphs:
            check_graph(graph)
        fit = self._fit(options)
        return self._context(fit, *self._worker.ask("compile", records=list(graphs), options=fit))

    def load(self, binary: bytes | Array, options: HtpOptions | None = None) -> "QnnContext":
        """A context from a context binary."""
        fit = self._fit(options)
        return self._context(fit, *self._worker.ask("load", binary=_some_bytes(binary), options=fit))

    def compose_library(
        self, path: Path | str, prefix: str = "QnnModel", options: HtpOptions | None = None
    ) -> "QnnContext":
        """A context of the graphs that a model library builds directly in the genuine library."""
        fit = self._fit(options)
        return self._context(
            fit, *self._worker.ask("compose", path=str(Path(path).resolve()), prefix=prefix, options=fit)
        )

    def open_dlc(self, dlc: Path | str) -> None:
        """Opens a DLC with the System library; an error if it cannot."""
        if not Path(dlc).is_file():
            raise BadInput("the file does not exist", Where(file=str(dlc)), do="check the path")
        self._worker.ask("open_dlc", path=str(Path(dlc).resolve()))

    def compose(self, dlc: Path | str, options: HtpOptions | None = None) -> "QnnContext":
        """Refuses: graphs of a DLC are built from records, not by the System library.

        Its call takes a backend's interface by value, and no library of the wheel reveals its size; a wrong
        one crashes or shifts the arguments after it.
        """
        self._fit(options)
        self.open_dlc(dlc)
        raise UnsupportedFeature(
            "the System library opens the DLC, but building its graphs there needs the size of QNN's"
            " interface (QNN_SDK_VERSION), which no library of the wheel reveals",
            Where(file=str(dlc)),
            do="use a DLC that edgewright inspect can read: it is compiled from its records",
        )

    def info(self, binary: bytes | Array) -> BinaryInfo:
        """The System library's description of a context binary."""
        found: BinaryInfo = self._worker.ask("info", binary=_some_bytes(binary))
        return found

    def close(self) -> None:
        """Stops the worker."""
        self._worker.stop()

    def _fit(self, options: HtpOptions | None) -> HtpOptions:
        if options is None:
            return self.options
        if (options.soc_model, options.dsp_arch) != (self.options.soc_model, self.options.dsp_arch):
            raise UsageError(
                f"the worker is opened for SoC {self.options.soc_model}, asked for {options.soc_model}",
                do="make another QnnRuntime for that chip",
            )
        return options

    def _context(self, options: HtpOptions, number: int, graphs: tuple[GraphInfo, ...]) -> "QnnContext":
        return QnnContext(self._worker, number, graphs, is_shared=options.is_shared)


class QnnContext:
    """Graphs that are ready to run in a worker; they are freed with this object."""

    def __init__(
        self, worker: Worker, number: int, graphs: tuple[GraphInfo, ...], *, is_shared: bool = False
    ) -> None:
        self.graphs = graphs
        self._is_shared = is_shared
        self._blocks: dict[str, SharedBlock] = {}
        # Only one run at a time may use a block.
        self._lock = threading.Lock()
        self._worker = worker
        self._number = number
        weakref.finalize(self, worker.drop, number)

    @property
    def is_alive(self) -> bool:
        """Whether its worker is still alive."""
        return self._worker.is_alive

    def run(self, graph: str, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs of a graph for inputs, all of them stored values by the tensors' names."""
        info = next((item for item in self.graphs if item.name == graph), None)
        wanted = [] if info is None else info.inputs
        missing = [tensor.name for tensor in wanted if tensor.name not in inputs]
        if info is None or missing:
            raise UsageError(
                f"graph '{graph}' needs inputs {missing}"
                if info is not None
                else f"there is no graph '{graph}', there are {[item.name for item in self.graphs]}",
                do="name a graph and give all of its inputs",
            )
        values = {tensor.name: check_values(tensor, np.asarray(inputs[tensor.name])) for tensor in wanted}
        if self._is_shared:
            return self._run_shared(info, values)
        found: dict[str, Array] = self._worker.ask("run", context=self._number, graph=graph, values=values)
        return found

    def _run_shared(self, info: GraphInfo, values: Mapping[str, Array]) -> dict[str, Array]:
        with self._lock:
            if info.name not in self._blocks:
                self._blocks[info.name] = SharedBlock([*info.inputs, *info.outputs])
            block = self._blocks[info.name]
            for name, array in values.items():
                np.copyto(block.arrays[name], array)
            self._worker.ask(
                "run_shared", context=self._number, graph=info.name, block=block.name, places=block.places
            )
            return {tensor.name: block.arrays[tensor.name].copy() for tensor in info.outputs}

    def binary(self) -> bytes:
        """The context binary."""
        found: Array = self._worker.ask("binary", context=self._number)
        return found.tobytes()

    def profile(self) -> list[ProfileEvent]:
        """What the library measured since the last call; empty unless profiling is on."""
        found: list[ProfileEvent] = self._worker.ask("profile", context=self._number)
        return found


class RenewedContext:
    """A context that is made again where its worker is gone, after a crash or an interrupted call."""

    def __init__(self, make: Callable[[], QnnContext]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._context = make()

    def current(self) -> QnnContext:
        """The context, made again if needed."""
        with self._lock:
            if not self._context.is_alive:
                self._context = self._make()
            return self._context

    def run(self, graph: str, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs of a graph for inputs."""
        for _ in range(ATTEMPTS - 1):
            # The worker is gone where a call of another thread was stopped meanwhile.
            with suppress(WorkerGone):
                return self.current().run(graph, inputs)
        return self.current().run(graph, inputs)

    def profile(self) -> list[ProfileEvent]:
        """What the library measured since the last call; what a worker measured is gone with it."""
        return self._context.profile() if self._context.is_alive else []


def required_libraries() -> Libraries:
    """The libraries of the wheel, or an error that says how to get it."""
    found = find_libraries()
    if found is None:
        raise EnvironmentProblem(
            "the genuine QNN libraries are not installed; they come with the wheel 'onnxruntime-qnn' for"
            f" {HOST_NAMES}",
            do=f"{install_command('onnxruntime_qnn')}, or use --backend htp-sim",
        )
    return found


def _some_bytes(binary: bytes | Array) -> Array:
    data: Array = np.frombuffer(binary, np.uint8) if isinstance(binary, bytes) else binary.view(np.uint8)
    if not data.size:
        raise BadInput("the context binary is empty", do="write it again")
    return data

"""The process that the libraries run in: reads requests from a socket, answers each, ends with its caller."""

import faulthandler
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from edgewright.abi.libraries import is_device, spell_library
from edgewright.abi.worker_process import serve
from edgewright.backends.qnn.contexts import LiveContext
from edgewright.backends.qnn.info import BinaryInfo
from edgewright.backends.qnn.library import Library
from edgewright.backends.qnn.messages import CODEC
from edgewright.backends.qnn.options import HtpOptions
from edgewright.backends.qnn.recorders import save_calls, start_saver, write_dlc
from edgewright.backends.qnn.shared import shared_arrays
from edgewright.backends.qnn.system import SystemLibrary
from edgewright.core.errors import BackendCrash, EdgewrightError
from edgewright.core.numbers import Array
from edgewright.core.signals import leave_to_caller
from edgewright.lower.qnn_graph import QnnGraph


class Host:
    """What a worker does; every public method is a request."""

    def __init__(self) -> None:
        self._library: Library | None = None
        self._system: SystemLibrary | None = None
        self._contexts: dict[int, LiveContext] = {}
        # Blocks of memory that are shared with the caller, by context and graph.
        self._shared: dict[tuple[int, str], tuple[str, dict[str, Array]]] = {}
        self._options = HtpOptions()
        self._folder = Path()
        self._made = 0

    def start(
        self, folder: str, library: str, options: HtpOptions, log_level: int, saved_to: str = ""
    ) -> Any:
        """Loads a library and opens its backend for the chip."""
        self._folder, self._options = Path(folder), options
        if options.worker.memory_limit:
            _limit_memory(options.worker.memory_limit)
        if is_device():
            # Where the device's own part of the libraries is found.
            os.environ.setdefault("ADSP_LIBRARY_PATH", folder)
        self._library = Library(self._folder / library, log_level)
        if options.schematics:
            # The library names the file, and the folder is this process's own.
            os.chdir(options.schematics)
        if saved_to:
            start_saver(self._library, saved_to)
        self._library.open(options.soc_model, options.dsp_arch, options.platform)
        return self._library.version

    def operations(self) -> list[str]:
        """Ops of the backend."""
        return self._opened.operations()

    def compile(self, records: Sequence[QnnGraph], options: HtpOptions) -> Any:
        """A context of graphs from records."""
        return self._kept(options, lambda context: context.compile(records))

    def load(self, binary: Array, options: HtpOptions) -> Any:
        """A context from its binary."""
        return self._kept(options, lambda context: context.load(self._reader, binary))

    def compose(self, path: str, prefix: str, options: HtpOptions) -> Any:
        """A context of the graphs that a model library builds."""
        return self._kept(options, lambda context: context.compose(path, prefix))

    def open_dlc(self, path: str) -> None:
        """Whether the genuine reader opens a DLC."""
        self._reader.open_dlc(path)

    def write_dlc(self, record: QnnGraph, path: str) -> None:
        """Writes a graph as a DLC; only the IR library can."""
        write_dlc(self._opened, record, path)

    def save_calls(self, record: QnnGraph, runs: Sequence[dict[str, Array]]) -> None:
        """Makes all calls of a run, for the Saver library to record."""
        save_calls(self._opened, record, runs)

    def info(self, binary: Array) -> BinaryInfo:
        """The metadata of a context binary."""
        return self._reader.info(binary)

    def run(self, context: int, graph: str, values: dict[str, Array]) -> dict[str, Array]:
        """One run of a graph."""
        return self._contexts[context].execute(graph, values)

    def run_shared(self, context: int, graph: str, block: str, places: dict[str, int]) -> None:
        """One run of a graph on memory shared with the caller."""
        live = self._contexts[context].graph(graph)
        found, arrays = self._shared.get((context, graph), ("", {}))
        if found != block:
            arrays = shared_arrays(block, [*live.inputs, *live.outputs], places)
            self._shared[context, graph] = block, arrays
        rooms = {tensor.name: arrays[tensor.name] for tensor in live.outputs}
        self._contexts[context].execute(graph, arrays, rooms)

    def binary(self, context: int) -> Array:
        """The bytes of a context."""
        return self._contexts[context].binary()

    def profile(self, context: int) -> Any:
        """What was measured."""
        return self._contexts[context].profile.events()

    def free(self, contexts: Sequence[int]) -> None:
        """Frees contexts."""
        self._shared = {key: held for key, held in self._shared.items() if key[0] not in contexts}
        for number in contexts:
            found = self._contexts.pop(number, None)
            if found is not None:
                found.free()

    def taken_log(self) -> list[tuple[int, str]]:
        """What the library logged since the last call."""
        if self._library is None:
            return []
        lines, self._library.lines = self._library.lines, []
        return lines

    @property
    def _opened(self) -> Library:
        assert self._library is not None
        return self._library

    @property
    def _reader(self) -> SystemLibrary:
        if self._system is None:
            self._system = SystemLibrary(self._folder / spell_library("QnnSystem"))
        return self._system

    def _kept(self, options: HtpOptions, make: Callable[[LiveContext], None]) -> Any:
        context = LiveContext(self._opened, options)
        try:
            make(context)
        except BaseException:
            context.free()
            raise
        self._made += 1
        self._contexts[self._made] = context
        return self._made, context.infos()


def _limit_memory(limit: int) -> None:
    """The most address space of this process; Windows has no such limit."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(descriptor: int) -> None:
    """Serves requests until the caller is gone."""
    leave_to_caller()
    faulthandler.enable()  # shows at least which call crashed in a library
    host = Host()
    serve(descriptor, CODEC, lambda name, arguments: _answer(host, name, arguments))


def _answer(host: Host, name: str, arguments: dict[str, Any]) -> tuple[Any, EdgewrightError | None, Any]:
    """Value, error and log of one request; our own bugs keep their traceback in the worker's log."""
    try:
        return getattr(host, name)(**arguments), None, host.taken_log()
    except EdgewrightError as problem:
        return None, problem, host.taken_log()
    except MemoryError:
        full = BackendCrash("the worker has no memory left", do="use a smaller graph or raise its limit")
        return None, full, host.taken_log()
    except Exception as problem:
        traceback.print_exc()
        return None, BackendCrash(f"the worker failed: {type(problem).__name__}: {problem}"), host.taken_log()


if __name__ == "__main__":
    main(int(sys.argv[1]))

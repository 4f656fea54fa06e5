"""The HTP backend of provider `native`: IR graphs on Qualcomm's own emulator, in a worker process."""

import logging
import threading
from collections.abc import Mapping

import numpy as np

from edgewright.abi.libraries import is_device
from edgewright.backends.base import RunOptions, Session
from edgewright.backends.qnn.options import HtpOptions
from edgewright.backends.qnn.profile import ProfileEvent
from edgewright.backends.qnn.runtime import QnnRuntime, RenewedContext, required_libraries
from edgewright.core.errors import BadInput, ShapeMismatch, TypeMismatch, UsageError, Where
from edgewright.core.numbers import Array
from edgewright.core.signals import close_at_exit
from edgewright.ir.graph import Graph
from edgewright.ir.shape_advice import advise_shape
from edgewright.lower.lower import lower
from edgewright.lower.qnn_graph import QnnGraph
from edgewright.passes.htp.replace_biased_matmul import check_biases
from edgewright.passes.htp.unroll_recurrent import check_unrolled
from edgewright.passes.pipeline import HTP, run_passes

log = logging.getLogger(__name__)

_SHARED: dict[tuple[object, ...], QnnRuntime] = {}
_SHARED_LOCK = threading.Lock()


class HtpNativeBackend:
    """Graphs compiled for one chip and run by the genuine libraries."""

    library_names = ("libQnnHtp.so", "QnnHtp.dll")

    def __init__(self, options: HtpOptions | None = None) -> None:
        self.options = options or HtpOptions()
        required_libraries()

    @property
    def name(self) -> str:
        """Names the emulator and its chip, or the chip itself."""
        return name_native_htp(self.options.soc_model)

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """A session on the emulator; one worker process serves all sessions of a chip."""
        log.info("graph '%s' runs on %s", graph.name, self.name)
        return NativeSession(graph, options, self.options)


class NativeSession:
    """A compiled graph; where its worker is gone, the next run compiles it again."""

    def __init__(self, graph: Graph, options: RunOptions, htp: HtpOptions) -> None:
        self._graph = graph
        self._outputs = list(dict.fromkeys((*graph.outputs, *options.extra_outputs)))
        self._record = live_records(graph, self._outputs)
        self._names = {self._record.source_names.get(name, name): name for name in self._record.tensors}
        self._context = RenewedContext(lambda: shared_runtime(htp).compile([self._record], htp))

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Values of the outputs for the inputs, which must have the declared types."""
        stored = {self._names[name]: self._stored(name, inputs) for name in self._graph.inputs}
        found = self._context.run(self._record.name, stored)
        return {name: self._given_back(name, found[self._names[name]]) for name in self._outputs}

    def placement(self) -> Mapping[str, str]:
        """Every node runs in the library."""
        return {node.name: "htp" for node in self._graph.nodes}

    def profile(self) -> list[ProfileEvent]:
        """What the library measured since the last call."""
        return self._context.profile()

    def _stored(self, name: str, inputs: Mapping[str, Array]) -> Array:
        if name not in inputs:
            raise UsageError(f"input '{name}' is missing", do=f"give all of {self._graph.inputs}")
        given, declared = np.asarray(inputs[name]), self._graph.types[name].dtype.numpy
        tensor = self._record.tensors[self._names[name]]
        if given.dtype != declared:
            raise TypeMismatch(
                f"input is {given.dtype}, expected {declared}",
                Where(tensor=name),
                do=f"convert it with .astype('{declared}')",
            )
        expected = self._graph.types[name].static_shape()
        # The bytes of another layout would fit as well, and give wrong results.
        if given.shape != expected:
            raise ShapeMismatch(
                f"shape {list(given.shape)} does not fit {list(expected)}",
                Where(tensor=name),
                do=advise_shape(given.shape, expected),
            )
        return _narrowed(name, given, tensor.dtype.numpy).reshape(tensor.dims)

    def _given_back(self, name: str, stored: Array) -> Array:
        declared = self._graph.types[name]
        return stored.astype(declared.dtype.numpy, copy=False).reshape(declared.static_shape())


def name_native_htp(soc_model: int) -> str:
    """What the genuine library runs on: the emulator of a chip, or the HTP of this machine."""
    return f"htp (native, SoC {soc_model})" if is_device() else f"htp (native emulator, SoC {soc_model})"


def live_records(graph: Graph, outputs: list[str]) -> QnnGraph:
    """The records of a graph in the form that HTP needs: 32-bit integers, no scalars, these outputs."""
    prepared = graph.copy()
    prepared.outputs = outputs
    run_passes(prepared, HTP)
    check_unrolled(prepared)
    check_biases(prepared)
    return lower(prepared)


def shared_runtime(options: HtpOptions) -> QnnRuntime:
    """This process's worker for a chip, started if needed."""
    key = (options.soc_model, options.dsp_arch, options.worker, options.platform)
    with _SHARED_LOCK:
        found = _SHARED.get(key)
        if found is None or not found.is_alive:
            if not _SHARED:
                close_at_exit(_close_all)
            if found is not None:
                found.close()
            found = _SHARED[key] = QnnRuntime(options)
        return found


def _close_all() -> None:
    for runtime in _SHARED.values():
        runtime.close()
    _SHARED.clear()


def _narrowed(name: str, given: Array, dtype: np.dtype[np.generic]) -> Array:
    narrow = given.astype(dtype, copy=False)
    if given.dtype != dtype and not np.array_equal(narrow, given):
        raise BadInput(
            f"input holds {given.min()}..{given.max()}, HTP takes {dtype}", Where(tensor=name), do="clamp it"
        )
    return narrow

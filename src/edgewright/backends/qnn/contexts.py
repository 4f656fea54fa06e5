"""Contexts in the worker: compiled, serialized, loaded, executed."""

from collections.abc import Mapping, Sequence
from ctypes import byref, c_uint64, c_void_p, cast
from typing import Any

import numpy as np

from edgewright.abi.htp_structs import HtpContextConfig
from edgewright.abi.model_library import GraphConfigInfo
from edgewright.abi.structs import Config, Tensor
from edgewright.backends.qnn.build import LiveGraph, build, checked, graph_configs
from edgewright.backends.qnn.checks import check_values
from edgewright.backends.qnn.info import GraphInfo
from edgewright.backends.qnn.library import Library, configs, custom_config
from edgewright.backends.qnn.model_library import composed, opened_library
from edgewright.backends.qnn.options import HtpOptions, Priority
from edgewright.backends.qnn.profile import Profile
from edgewright.backends.qnn.system import SystemLibrary
from edgewright.backends.qnn.tensors import Kept, point_at, read_tensor
from edgewright.core.errors import UsageError, Where
from edgewright.core.numbers import Array
from edgewright.core.words import did_you_mean
from edgewright.lower.qnn_graph import QnnGraph, QnnTensor, TensorKind

_PRIORITY, _WEIGHT_SHARING = 1, 1


class LiveContext:
    """A context handle and its graphs."""

    def __init__(self, library: Library, options: HtpOptions) -> None:
        self._library = library
        self._options = options
        self._kept = Kept()
        self._handle = c_void_p()
        self.graphs: dict[str, LiveGraph] = {}
        self.profile = Profile(library, options.profiling, is_traced=bool(options.schematics))

    def compile(self, records: Sequence[QnnGraph]) -> None:
        """Builds and finalizes graphs after validating all their ops."""
        checked(self._library, records)
        self._create()
        for record in records:
            options = graph_configs(self._options.options_of(record.name), self._kept)
            live = build(self._library, self._handle, record, options)
            live.inputs = [*record.of_kind(TensorKind.APP_WRITE), *record.of_kind(TensorKind.APP_READWRITE)]
            live.outputs = record.of_kind(TensorKind.APP_READ)
            self._finalize(record.name, live)

    def load(self, system: SystemLibrary, binary: Array) -> None:
        """The graphs of a context binary; the ids of their tensors are in its metadata."""
        described = system.graphs_of(binary)
        data = self._kept.add(np.ascontiguousarray(binary))
        self._library.must(
            "contextCreateFromBinary",
            self._library.backend,
            self._library.device,
            self._configs(),
            data.ctypes.data,
            data.nbytes,
            byref(self._handle),
            self.profile.handle,
        )
        for name, inputs, outputs in described:
            handle = c_void_p()
            self._library.must("graphRetrieve", self._handle, name.encode(), byref(handle))
            self.graphs[name] = _described(handle, inputs, outputs)

    def compose(self, path: str, prefix: str) -> None:
        """The graphs that a model library builds through the backend's own function table."""
        self._create()
        library = opened_library(path, prefix)
        configs = [self._graph_config(name) for name in self._options.graphs]
        for info in composed(library, self._library, self._handle, configs):
            # The library owns the tensors; it stays loaded as long as the process.
            inputs, outputs = info.inputs[: info.inputs_count], info.outputs[: info.outputs_count]
            live = _described(c_void_p(info.graph), inputs, outputs)
            self._finalize((info.name or b"").decode(errors="replace"), live)

    def execute(
        self, name: str, values: Mapping[str, Array], rooms: dict[str, Array] | None = None
    ) -> dict[str, Array]:
        """One run of a graph; outputs go to ``rooms`` if given."""
        live = self.graph(name)
        kept = Kept()
        inputs = [_filled(live, tensor, values[tensor.name], kept) for tensor in live.inputs]
        if rooms is None:
            rooms = {t.name: np.zeros(t.dims, t.dtype.numpy) for t in live.outputs}
        outputs = [_filled(live, tensor, rooms[tensor.name], kept) for tensor in live.outputs]
        self._library.must(
            "graphExecute",
            live.handle,
            (Tensor * len(inputs))(*inputs),
            len(inputs),
            (Tensor * len(outputs))(*outputs),
            len(outputs),
            self.profile.handle,
            None,
            where=Where(detail=f"graph '{name}'"),
        )
        return rooms

    def binary(self) -> Array:
        """The bytes of the context binary."""
        size, written = c_uint64(), c_uint64()
        self._library.must("contextGetBinarySize", self._handle, byref(size))
        room: Array = np.zeros(size.value, np.uint8)
        self._library.must("contextGetBinary", self._handle, room.ctypes.data, size.value, byref(written))
        return room[: written.value]

    def infos(self) -> tuple[GraphInfo, ...]:
        """Names and tensors of the graphs."""
        return tuple(
            GraphInfo(name, tuple(map(_bare, live.inputs)), tuple(map(_bare, live.outputs)))
            for name, live in self.graphs.items()
        )

    def graph(self, name: str) -> LiveGraph:
        """The graph of that name."""
        if name not in self.graphs:
            raise UsageError(
                f"the context has no graph '{name}', it has {sorted(self.graphs)}",
                do=did_you_mean(name, sorted(self.graphs), "name one of them"),
            )
        return self.graphs[name]

    def free(self) -> None:
        """Frees everything in the library."""
        if self._handle:
            self._library.interface.call("contextFree", self._handle, None)
            self._handle = c_void_p()
        self.profile.free()

    def _create(self) -> None:
        self._library.must(
            "contextCreate", self._library.backend, self._library.device, self._configs(), byref(self._handle)
        )

    def _finalize(self, name: str, live: LiveGraph) -> None:
        self._library.must(
            "graphFinalize", live.handle, self.profile.handle, None, where=Where(detail=f"graph '{name}'")
        )
        self.graphs[name] = live

    def _graph_config(self, name: str) -> GraphConfigInfo:
        settings = graph_configs(self._options.options_of(name), self._kept)
        info: GraphConfigInfo = self._kept.add(GraphConfigInfo(name.encode(), None))
        info.configs = cast(settings, c_void_p) if settings else None
        return info

    def _configs(self) -> Any:
        items: list[Config] = []
        if self._options.priority != Priority.NORMAL:
            priority = Config(option=_PRIORITY)
            priority.value.number = int(self._options.priority)
            items.append(priority)
        if self._options.is_weight_sharing:
            sharing = HtpContextConfig(option=_WEIGHT_SHARING)
            sharing.value.is_on = 1
            items.append(custom_config(sharing, self._kept))
        return configs(items, self._kept)


def _described(handle: c_void_p, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> LiveGraph:
    live = LiveGraph(handle)
    live.inputs = [read_tensor(tensor) for tensor in inputs]
    live.outputs = [read_tensor(tensor) for tensor in outputs]
    both = zip((*live.inputs, *live.outputs), (*inputs, *outputs), strict=True)
    live.tensors = {record.name: tensor for record, tensor in both}
    return live


def _filled(live: LiveGraph, record: QnnTensor, values: Array, kept: Kept) -> Tensor:
    """A copy of a tensor's struct that points at an array of exactly its size."""
    tensor = Tensor.from_buffer_copy(live.tensors[record.name])
    tensor.of.v1.memory_type = 0
    point_at(tensor, check_values(record, values), kept)
    return tensor


def _bare(tensor: QnnTensor) -> QnnTensor:
    return QnnTensor(tensor.name, tensor.kind, tensor.dtype, tensor.dims, tensor.encoding)

"""The libraries that record calls instead of computing: IR as a DLC, Saver as a program in C."""

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import byref, c_uint64, c_void_p
from typing import Any

import numpy as np

from edgewright.abi.codes import CAUGHT
from edgewright.abi.htp_structs import IrGraphConfig, SaverConfig
from edgewright.abi.structs import Tensor
from edgewright.backends.qnn.build import build
from edgewright.backends.qnn.checks import check_values
from edgewright.backends.qnn.library import Library, configs, custom_config
from edgewright.backends.qnn.tensors import Kept, point_at
from edgewright.core.errors import Where
from edgewright.core.numbers import Array
from edgewright.lower.qnn_graph import QnnGraph, TensorKind

_SERIALIZATION, _FLATBUFFER = 1, 1
_OUTPUT_DIR = 0


def write_dlc(library: Library, record: QnnGraph, path: str) -> None:
    """Writes a graph as a DLC; the file appears when the graph is finalized."""
    kept = Kept()
    config = IrGraphConfig(option=_SERIALIZATION)
    config.target.kind, config.target.path = _FLATBUFFER, kept.add(path.encode())
    context = _context(library)
    live = build(library, context, record, configs([custom_config(config, kept)], kept))
    library.must("graphFinalize", live.handle, None, None, where=Where(file=path))
    library.interface.call("contextFree", context, None)


def start_saver(library: Library, folder: str) -> None:
    """Sets the Saver library's folder, which must happen before its backend exists."""
    config = SaverConfig(option=_OUTPUT_DIR)
    config.value.path = library.kept.add(folder.encode())
    kind = ctypes.POINTER(SaverConfig)
    array = library.kept.add((kind * 2)(ctypes.pointer(library.kept.add(config)), kind()))
    initialize = library.interface.library.QnnSaver_initialize
    initialize.restype = c_uint64
    code = int(initialize(array)) & CAUGHT
    if code:
        raise library.failure("QnnSaver_initialize", code, Where(file=folder))


def save_calls(library: Library, record: QnnGraph, runs: Sequence[Mapping[str, Array]]) -> None:
    """Builds, finalizes and executes; nothing is computed, and no output is written."""
    context = _context(library)
    live = build(library, context, record, None)
    library.must("graphFinalize", live.handle, None, None)
    outputs = record.of_kind(TensorKind.APP_READ)
    for values in runs:
        kept = Kept()
        given = [
            (live.tensors[t.name], check_values(t, values[t.name]))
            for t in record.of_kind(TensorKind.APP_WRITE)
        ]
        read = [_pointed(tensor, array, kept) for tensor, array in given]
        made = [_pointed(live.tensors[t.name], _room(t.dims, t.dtype.numpy), kept) for t in outputs]
        library.must(
            "graphExecute",
            live.handle,
            (Tensor * len(read))(*read),
            len(read),
            (Tensor * len(made))(*made),
            len(made),
            None,
            None,
        )
    library.interface.call("contextFree", context, None)
    library.interface.call("backendFree", library.backend)


def _context(library: Library) -> c_void_p:
    context = c_void_p()
    library.must("contextCreate", library.backend, None, None, byref(context))
    return context


def _pointed(tensor: Tensor, values: Array, kept: Kept) -> Tensor:
    copy = Tensor.from_buffer_copy(tensor)
    point_at(copy, values, kept)
    return copy


def _room(dims: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return np.zeros(dims, dtype)

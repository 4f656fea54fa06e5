"""The System library in the worker: what is in a context binary, and DLCs as live graphs."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_uint32, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.abi.htp_structs import HtpContextMeta, HtpGraphBlob
from edgewright.abi.interface import load_system
from edgewright.abi.structs import Tensor
from edgewright.abi.system_structs import BinaryInfo as BinaryStruct
from edgewright.backends.qnn.info import BinaryInfo, GraphInfo
from edgewright.backends.qnn.tensors import read_tensor
from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import Array

Described = tuple[str, list[Tensor], list[Tensor]]
HTP_BACKEND = 6


class SystemLibrary:
    """Reads context binaries and DLCs."""

    def __init__(self, path: Path) -> None:
        self._interface = load_system(path)

    def info(self, binary: Array) -> BinaryInfo:
        """The metadata of a context binary."""
        with self._described(binary) as found:
            return _binary_info(found)

    def graphs_of(self, binary: Array) -> list[Described]:
        """Name, inputs and outputs of each graph; the structs carry the ids that execution needs."""
        with self._described(binary) as found:
            return [_copied(found.graphs[index]) for index in range(found.graphs_count)]

    def open_dlc(self, path: str) -> None:
        """Opens a DLC with the genuine reader; an error if it cannot.

        Building its graphs takes a backend's interface by value, whose size no library of the wheel reveals:
        a wrong one shifts the arguments after it, so that call is not made.
        """
        dlc = c_void_p()
        code = self._interface.call("systemDlcCreateFromFile", None, path.encode(), byref(dlc))
        if code:
            raise BadInput(
                f"the System library returned {code} for the file, expected a DLC",
                Where(file=path),
                do=f"see edgewright explain {code}",
            )
        self._interface.call("systemDlcFree", dlc)

    @contextmanager
    def _described(self, binary: Array) -> Iterator[Any]:
        handle, found = c_void_p(), POINTER(BinaryStruct)()
        data = np.ascontiguousarray(binary)
        self._interface.call("systemContextCreate", byref(handle))
        try:
            code = self._interface.call(
                "systemContextGetMetaData", handle, data.ctypes.data, data.nbytes, byref(found)
            )
            if code or not found:
                raise BadInput(
                    f"the System library returned {code} for {data.nbytes} bytes, expected a context binary",
                    do=f"see edgewright explain {code}",
                )
            yield found.contents.of
        finally:
            self._interface.call("systemContextFree", handle)


def _binary_info(found: Any) -> BinaryInfo:
    is_htp = found.backend_id == HTP_BACKEND
    meta = ctypes.cast(found.meta, POINTER(HtpContextMeta)).contents if is_htp and found.meta else None
    return BinaryInfo(
        found.backend_id,
        _text(found.build_id),
        _numbers(found.core),
        _numbers(found.backend),
        _numbers(found.blob_version),
        found.soc_model,
        _text(found.soc_version),
        meta.dsp_arch if meta is not None else None,
        found.blob_size,
        tuple(_graph_info(found.graphs[index], is_htp=is_htp) for index in range(found.graphs_count)),
        tuple(read_tensor(found.context_tensors[i]) for i in range(found.context_tensors_count)),
    )


def _graph_info(graph: Any, *, is_htp: bool) -> GraphInfo:
    of = graph.of
    inputs = tuple(read_tensor(of.inputs[index]) for index in range(of.inputs_count))
    outputs = tuple(read_tensor(of.outputs[index]) for index in range(of.outputs_count))
    # Only version 3 has the blob; before it, the fields after the tensors mean nothing.
    if not is_htp or graph.version < 3 or not of.blob or of.blob_size < ctypes.sizeof(HtpGraphBlob):
        return GraphInfo(_text(of.name), inputs, outputs)
    blob = ctypes.cast(of.blob, POINTER(HtpGraphBlob)).contents
    return GraphInfo(
        _text(of.name),
        inputs,
        outputs,
        blob.vtcm_bytes,
        blob.spill_fill,
        blob.optimization_level,
        blob.hvx_threads,
        bool(blob.is_dlbc),
    )


def _copied(graph: Any) -> Described:
    """Copies the structs and whatever they point to, so that they outlive their source."""
    of = graph.of
    inputs = [_own(of.inputs[index]) for index in range(of.inputs_count)]
    return _text(of.name), inputs, [_own(of.outputs[index]) for index in range(of.outputs_count)]


def _own(tensor: Tensor) -> Tensor:
    copy = Tensor.from_buffer_copy(tensor)
    of = copy.of.v1
    dims = (c_uint32 * of.rank)(*(of.dims[axis] for axis in range(of.rank)))
    # ctypes keeps what is assigned to a field alive with the struct itself.
    of.name = _text(of.name).encode()
    of.dims = dims
    return copy


def _text(text: bytes | None) -> str:
    return (text or b"").decode(errors="replace")


def _numbers(version: Any) -> tuple[int, int, int]:
    return version.major, version.minor, version.patch

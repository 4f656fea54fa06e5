"""What the library asks for: ops validated, graphs prepared and executed, context binaries made and read."""

import os
import struct
from collections.abc import Sequence
from pathlib import Path

from edgewright.artifacts.context import reader
from edgewright.artifacts.context.records import Context, ContextHead
from edgewright.artifacts.context.writer import to_chunks
from edgewright.artifacts.model_library.composer import check_library
from edgewright.backends.base import Backend
from edgewright.backends.op_package.packages import load_package
from edgewright.backends.registry import find_backend
from edgewright.core.errors import BadInput, UnsupportedFeature, UnsupportedOp, Where, shown
from edgewright.core.version import VERSION
from edgewright.ir.encodings import Encoding
from edgewright.ir.op import REGISTRY
from edgewright.ir.verify import verify
from edgewright.lower.lift import lift
from edgewright.lower.lower import QNN_PACKAGE
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnTensor, TensorKind
from edgewright.run.backend_library.served_graph import ServedGraph
from edgewright.targets.htp_ops import read_htp_ops

# QNN's ids of the backends that ours stand for.
BACKEND_IDS = {"cpu": 3, "htp-sim": 6}
_NO_ENCODING = 0xFFFFFFFF
_SCALE_OFFSET, _AXIS, _BW = 0, 1, 2


class Host:
    """The objects of one library: its contexts by number, their graphs by number."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._backend: Backend | None = None
        self._contexts: dict[int, dict[int, ServedGraph]] = {}

    def validate(self, description: bytes, data: memoryview) -> None:
        """Refuses an op that the backend lacks, or whose tensors and parameters do not fit."""
        records = reader.read_graph(description, data, Where())
        for node in records.nodes:
            self._check_op(node)
        verify(lift(records))

    def prepare_graph(self, context: int, number: int, description: bytes, data: memoryview) -> None:
        """Prepares a graph."""
        records = reader.read_graph(description, data, Where())
        for node in records.nodes:
            self._check_op(node)
        self._contexts.setdefault(context, {})[number] = ServedGraph(records, self._find_backend())

    def find_graph(self, context: int, number: int) -> ServedGraph:
        """A graph that was prepared."""
        return self._contexts[context][number]

    def make_binary(self, context: int) -> int:
        """A file in memory that holds the context; the caller closes it."""
        graphs = tuple(graph.records for graph in self._contexts.get(context, {}).values())
        if not graphs:
            raise BadInput("the context has no graphs, expected at least 1")
        head = ContextHead(backend=self.kind, producer=f"edgewright {VERSION}")
        file = os.memfd_create("edgewright-binary")
        with os.fdopen(file, "wb", closefd=False) as written:
            for chunk in to_chunks(Context(head, graphs)):
                written.write(chunk)
        return file

    def load_binary(self, context: int, file: int) -> bytes:
        """Prepares the graphs of a binary for a context, or only describes it for context 0."""
        loaded = reader.read(Path(f"/proc/self/fd/{file}"))
        if context and loaded.head.backend != self.kind:
            raise BadInput(f"the binary is for {loaded.head.backend}, this library is {self.kind}")
        if context:
            backend = self._find_backend()
            prepared = {number: ServedGraph(records, backend) for number, records in enumerate(loaded.graphs)}
            self._contexts[context] = prepared
        return describe_context(loaded)

    def free_context(self, context: int) -> None:
        """Forgets a context and its graphs."""
        self._contexts.pop(context, None)

    def list_ops(self) -> list[str]:
        """The ops that the backend has."""
        return sorted(name for name in REGISTRY if self.kind == "cpu" or name in read_htp_ops())

    def register_package(self, path: str, provider: str, target: str) -> None:
        """Loads an op package, which is code, in a process of its own."""
        if target.upper() != "CPU" or self.kind != "cpu":
            raise UnsupportedFeature(
                f"the op package is for '{shown(target)}', this backend is {self.kind}",
                do="register packages of the CPU with the CPU kind of this library",
            )
        check_library(Path(path))
        load_package(Path(path), provider)

    def _check_op(self, node: QnnNode) -> None:
        is_lacking = self.kind != "cpu" and node.type not in read_htp_ops()
        if is_lacking and node.package == QNN_PACKAGE:
            raise UnsupportedOp(f"HTP has no op '{shown(node.type)}'", Where(op=node.type, node=node.name))

    def _find_backend(self) -> Backend:
        if self._backend is None:
            self._backend = find_backend(self.kind)
        return self._backend


def describe_context(context: Context) -> bytes:
    """The description that the library turns into QNN's structs: see info.c."""
    parts = [
        struct.pack("<I", BACKEND_IDS[context.head.backend]),
        _pack_text(context.head.producer),
        struct.pack("<II", context.head.soc_model, len(context.graphs)),
        *(_describe_graph(graph) for graph in context.graphs),
    ]
    return b"".join(parts)


def _describe_graph(graph: QnnGraph) -> bytes:
    inputs, outputs = graph.of_kind(TensorKind.APP_WRITE), graph.of_kind(TensorKind.APP_READ)
    return b"".join(
        (_pack_text(graph.name), _pack_tensors(inputs, 1), _pack_tensors(outputs, 1 + len(inputs)))
    )


def _pack_tensors(tensors: Sequence[QnnTensor], first: int) -> bytes:
    packed = (_pack_tensor(tensor, number) for number, tensor in enumerate(tensors, first))
    return struct.pack("<I", len(tensors)) + b"".join(packed)


def _pack_tensor(tensor: QnnTensor, number: int) -> bytes:
    head = struct.pack("<IIII", number, int(tensor.kind), int(tensor.dtype), len(tensor.dims))
    dims = struct.pack(f"<{len(tensor.dims)}I", *tensor.dims)
    return _pack_text(tensor.name) + head + dims + _pack_encoding(tensor.encoding, tensor.dtype.bits)


def _pack_encoding(encoding: Encoding | None, bits: int) -> bytes:
    if encoding is None:
        return struct.pack("<I", _NO_ENCODING)
    kind = _AXIS if encoding.axis is not None else _SCALE_OFFSET if encoding.bitwidth == bits else _BW
    head = struct.pack("<IIII", kind, encoding.bitwidth, encoding.axis or 0, len(encoding.scales))
    pairs = zip(encoding.scales, encoding.offsets, strict=True)
    return head + b"".join(struct.pack("<fi", scale, offset) for scale, offset in pairs)


def _pack_text(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<I", len(content)) + content

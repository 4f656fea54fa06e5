"""The process that composes a model library: records the calls it makes and answers with plain data."""

from __future__ import annotations

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_uint64, c_void_p, cast

from edgewright.abi.model_library import ModelLibrary, Refused, Unloadable
from edgewright.abi.structs import BlockwiseExpansion, OpConfig, QuantizeParams, Tensor
from edgewright.abi.tables import BACKEND_TABLE

# Defined as in typing, without importing it: a process that only composes must start fast.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

# Fields of a scalar's union by datatype; text has its own field.
_SCALARS = {
    0x0008: "int_8",
    0x0016: "int_16",
    0x0032: "int_32",
    0x0064: "int_64",
    0x0508: "bool_8",
    0x0108: "uint_8",
    0x0116: "uint_16",
    0x0132: "uint_32",
    0x0164: "uint_64",
    0x0232: "float_32",
    0x0264: "float_64",
    0x0608: "string",
}
_STATIC = 4
# Kinds of encodings (abi.codes.EncodingKind). No enum, no json, no re here: each takes as long to load as a
# whole graph takes to compose.
_SCALE_OFFSET, _AXIS, _BW, _BW_AXIS, _BLOCKWISE = 0, 1, 2, 3, 5
_ALONG_AXIS = (_AXIS, _BW_AXIS, _BLOCKWISE)
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(32), ord('"'), ord("\\"))}
_NOT_SUPPORTED = 1000


class Recorder:
    """A backend that builds nothing and records everything."""

    def __init__(self) -> None:
        self.graphs: list[dict[str, Any]] = []
        self.pages: list[tuple[int, int, int]] = []
        # Bytes that are not in the library's file: they are sent.
        self.sent: list[bytes] = []
        self._sent_bytes = 0
        self._ids = 0

    def create_graph(self, _context: int, name: bytes, _configs: int, handle: Any) -> int:
        self.graphs.append({"name": name.decode(errors="replace"), "tensors": [], "nodes": []})
        handle[0] = len(self.graphs)
        return 0

    def create_tensor(self, graph: int, tensor: Any) -> int:
        self._ids += 1
        found = tensor[0].of.v1
        found.id = self._ids
        self.graphs[graph - 1]["tensors"].append(self._record_tensor(found))
        return 0

    def add_node(self, graph: int, op: OpConfig) -> int:
        params = [op.params[index] for index in range(op.params_count)]
        node = {
            "name": op.name.decode(errors="replace"),
            "package": op.package.decode(errors="replace"),
            "type": op.type_name.decode(errors="replace"),
            "scalars": {_read_text(p.name): _read_scalar(p.of.scalar) for p in params if p.type == 0},
            "tensors": {
                _read_text(p.name): self._record_tensor(p.of.tensor.of.v1) for p in params if p.type == 1
            },
            "inputs": [_read_text(op.inputs[index].of.v1.name) for index in range(op.inputs_count)],
            "outputs": [_read_text(op.outputs[index].of.v1.name) for index in range(op.outputs_count)],
        }
        self.graphs[graph - 1]["nodes"].append(node)
        return 0

    def _record_tensor(self, found: Any) -> list[Any]:
        dims = found.dims[: found.rank] if found.rank else []
        data = self._record_data(found) if found.type == _STATIC else None
        return [
            _read_text(found.name),
            found.type,
            found.data_type,
            dims,
            _read_encoding(found.quantize, dims),
            data,
        ]

    def _record_data(self, found: Any) -> tuple[str, int, int]:
        address, size = found.memory.buffer.data or 0, found.memory.buffer.size
        for start, end, offset in self.pages:
            if start <= address and address + size <= end:
                return "file", offset + address - start, size
        # Copied now: data on the function's stack is gone when it returns.
        self.sent.append(ctypes.string_at(address, size) if address else b"")
        self._sent_bytes += len(self.sent[-1])
        return "sent", self._sent_bytes - len(self.sent[-1]), size


def main(path: str, prefix: str) -> None:
    """Composes the library and writes the answer; the library's own output goes to stderr."""
    line = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    recorder = Recorder()
    answer: dict[str, Any] = {}
    try:
        library = ModelLibrary(path, prefix)
        recorder.pages = list(_read_only_pages(path))
        table, kept = _make_table(recorder)
        library.compose(c_void_p(1), ctypes.addressof(table), c_void_p(1))
        answer["graphs"] = recorder.graphs
        del kept
    except Unloadable as problem:
        answer["unloadable"] = str(problem)
    except Refused as problem:
        answer["refused"] = str(problem)
    _write(line, answer, recorder.sent)
    # Without the library's destructors: it is not needed any more.
    os._exit(0)


def _write(line: BinaryIO, answer: dict[str, Any], sent: list[bytes]) -> None:
    text = _as_json(answer).encode()
    line.write(len(text).to_bytes(8, "little"))
    line.write(text)
    line.writelines(sent)
    line.flush()


def _as_json(value: Any) -> str:
    """Values as JSON, with Python's NaN and Infinity."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{_as_json(key)}:{_as_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_as_json, value)) + "]"
    return repr(value).replace("inf", "Infinity").replace("nan", "NaN")


def _make_table(recorder: Recorder) -> tuple[Any, list[Any]]:
    """The function table; its ctypes callbacks must live as long as it is used."""
    create = CFUNCTYPE(c_uint64, c_void_p, c_char_p, c_void_p, POINTER(c_void_p))(recorder.create_graph)
    tensor = CFUNCTYPE(c_uint64, c_void_p, POINTER(Tensor))(recorder.create_tensor)
    node = CFUNCTYPE(c_uint64, c_void_p, OpConfig)(recorder.add_node)
    fine = CFUNCTYPE(c_uint64, c_void_p, OpConfig)(lambda _backend, _op: 0)
    other = CFUNCTYPE(c_uint64)(lambda: _NOT_SUPPORTED)
    known = {"graphCreate": create, "tensorCreateGraphTensor": tensor, "graphAddNode": node}
    known["backendValidateOpConfig"] = fine
    pointers = [cast(known.get(name, other), c_void_p) for name in BACKEND_TABLE]
    return (c_void_p * len(pointers))(*pointers), [*known.values(), other]


def _read_only_pages(path: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and file offset of the library's read-only pages."""
    real = os.path.realpath(path)
    with open("/proc/self/maps") as maps:  # noqa: PTH123 - pathlib takes as long to load as a composition
        lines = maps.read().splitlines()
    for line in lines:
        parts = line.split(maxsplit=5)
        if len(parts) == 6 and parts[5] == real and parts[1].startswith("r") and "w" not in parts[1]:
            start, end = (int(word, 16) for word in parts[0].split("-"))
            yield start, end, int(parts[2], 16)


def _read_text(name: bytes | None) -> str:
    return (name or b"").decode(errors="replace")


def _read_scalar(found: Any) -> tuple[int, Any]:
    value = getattr(found.value, _SCALARS[found.data_type]) if found.data_type in _SCALARS else None
    return found.data_type, value.decode(errors="replace") if isinstance(value, bytes) else value


def _read_encoding(params: QuantizeParams, dims: list[int]) -> tuple[Any, ...] | None:
    """Width (0 where the datatype implies it), axis, scales and offsets; what there is of blocks."""
    if params.definition != 1:
        return None
    return _read_axis_encoding(params, dims) if params.encoding in _ALONG_AXIS else _read_whole(params)


def _read_whole(params: QuantizeParams) -> tuple[Any, ...]:
    of = params.of
    if params.encoding == _SCALE_OFFSET:
        return 0, None, [of.scale_offset.scale], [of.scale_offset.offset]
    if params.encoding == _BW:
        return of.bw.bitwidth, None, [of.bw.scale], [of.bw.offset]
    return -1, params.encoding, [], []


def _read_axis_encoding(params: QuantizeParams, dims: list[int]) -> tuple[Any, ...]:
    of = params.of
    if params.encoding == _AXIS:
        pairs = of.axis.pairs[: of.axis.count]
        return 0, of.axis.axis, [pair.scale for pair in pairs], [pair.offset for pair in pairs]
    if params.encoding == _BLOCKWISE:
        return _read_blocks(of.expansion.contents, dims)
    many = of.bw_axis
    offsets = many.offsets[: many.count] if many.offsets else [0] * many.count
    return many.bitwidth, many.axis, many.scales[: many.count], offsets


def _read_blocks(blocks: BlockwiseExpansion, dims: list[int]) -> tuple[Any, ...]:
    if blocks.storage or not 0 <= blocks.axis < len(dims):
        return -1, _BLOCKWISE, [], []
    count = dims[blocks.axis]
    pairs = blocks.pairs[:count]
    factors = blocks.scales[: count * blocks.blocks_per_axis]
    scales, offsets = [pair.scale for pair in pairs], [pair.offset for pair in pairs]
    return 0, blocks.axis, scales, offsets, blocks.blocks_per_axis, blocks.scale_bitwidth, factors

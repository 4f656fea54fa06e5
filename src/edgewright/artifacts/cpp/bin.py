"""model.bin: a tar of raw tensors, written without copying them and read without loading them."""

import os
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from edgewright.artifacts import raw_data
from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.core.files import map_file, measure_file
from edgewright.core.numbers import Array, DType
from edgewright.lower.qnn_graph import QnnTensor

_BLOCK = 512
# tar writes whole records of twenty blocks; some readers expect that.
_RECORD = 20 * _BLOCK
# A generated model.cpp stores the size of a tensor in 32 bits.
_LARGEST_TENSOR = 2**32 - 1


def to_chunks(tensors: Iterable[QnnTensor]) -> Iterator[bytes | memoryview]:
    """The tar of all static tensors, in order; the same tensors always give the same bytes."""
    written = 0
    for tensor in tensors:
        data = raw_data.pack_data(tensor)
        size = _measure_stored(tensor, data)
        yield _write_header(tensor.name, size)
        yield from raw_data.to_chunks(data)
        yield bytes(-size % _BLOCK)
        written += _BLOCK + size + -size % _BLOCK
    written += 2 * _BLOCK
    yield bytes(2 * _BLOCK + -written % _RECORD)


@dataclass(frozen=True)
class _Member:
    offset: int
    size: int


class WeightFile:
    """The members of a model.bin; its arrays are views of the mapped file, which they keep open."""

    def __init__(self, path: Path, content: memoryview, members: dict[str, _Member]) -> None:
        self._path = path
        self._content = content
        self._members = members

    def members(self) -> dict[str, tuple[int, int]]:
        """Where each tensor is in the file: its offset and size in bytes."""
        return {name: (member.offset, member.size) for name, member in self._members.items()}

    def array(self, name: str, dtype: DType, dims: tuple[int, ...]) -> Array:
        """The tensor as a read-only array, its size checked against dtype and dims."""
        member = self._members.get(name)
        where = Where(file=str(self._path), tensor=name)
        if member is None:
            raise BadInput(f"there is no member '{shown(name)}.raw' among {len(self._members)}", where)
        if dtype == DType.STRING:
            raise BadInput("the tensor holds strings, a static tensor of QNN holds numbers", where)
        expected = raw_data.measure_stored(dtype, dims)
        if member.size != expected:
            shape = list(dims)
            raise BadInput(
                f"'{shown(name)}.raw' has {member.size} bytes, {dtype.name} {shape} needs {expected}",
                where,
                do="use the .bin that was written together with this model",
            )
        return raw_data.view_array(self._content, member.offset, dtype, dims)


def open_weights(path: Path | str) -> WeightFile:
    """Maps a model.bin and reads its table of members; anything but plain .raw members is refused."""
    path = Path(path)
    if measure_file(path) < _BLOCK:
        raise _make_damage_error(
            path, f"the file has {measure_file(path)} bytes, a tar has at least {_BLOCK}"
        )
    content = map_file(path)
    return WeightFile(path, content, _read_members(path, content))


def _measure_stored(tensor: QnnTensor, data: Array) -> int:
    if data.nbytes > _LARGEST_TENSOR:
        raise LimitExceeded(
            f"the tensor has {data.nbytes} bytes, a QNN model holds at most {_LARGEST_TENSOR} in one",
            Where(tensor=tensor.name),
            do="split the tensor, or store it in fewer bits",
        )
    return int(data.nbytes)


def _write_header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(f"{name}.raw")
    info.size = size  # the rest, such as time and owner, stays 0 to keep the bytes the same
    return info.tobuf(tarfile.USTAR_FORMAT)


def _read_members(path: Path, content: memoryview) -> dict[str, _Member]:
    members: dict[str, _Member] = {}
    offset = 0
    while offset + _BLOCK <= len(content):
        block = bytes(content[offset : offset + _BLOCK])
        if not any(block):
            return members
        name, size = _read_header(path, block, offset)
        offset += _BLOCK
        if size > len(content) - offset:
            raise _make_damage_error(
                path,
                f"member '{shown(name)}.raw' has {size} bytes, the file only {len(content) - offset} more",
            )
        if name in members:
            raise _make_damage_error(path, f"there are two members '{shown(name)}.raw'")
        members[name] = _Member(offset, size)
        offset += size + -size % _BLOCK
    raise _make_damage_error(path, "the tar has no end mark, it may be truncated")


def _read_header(path: Path, block: bytes, offset: int) -> tuple[str, int]:
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, ValueError) as problem:
        raise _make_damage_error(path, f"there is no tar header at byte {offset} ({problem})") from problem
    if info.type not in {tarfile.REGTYPE, tarfile.AREGTYPE}:
        raise _make_damage_error(path, f"member '{shown(info.name)}' is not a regular file")
    name = info.name.removesuffix(".raw")
    is_plain = name == os.path.basename(name) and "\\" not in name and name not in {"", ".", ".."}  # noqa: PTH119
    if name == info.name or not is_plain:
        raise _make_damage_error(
            path, f"member '{shown(info.name)}' is not named '<tensor>.raw' without a folder"
        )
    if info.size < 0:
        raise _make_damage_error(path, f"member '{shown(info.name)}' has {info.size} bytes")
    return name, info.size


def _make_damage_error(path: Path, what: str) -> BadInput:
    return BadInput(what, Where(file=str(path)), do="use the .bin that was written together with this model")

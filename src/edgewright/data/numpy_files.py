"""Arrays in .npy and .npz files: sizes are held against the bytes there before memory is taken."""

import lzma
import shutil
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array

# A compressed byte stands for so many at most: deflate cannot do better.
LARGEST_RATIO = 1032
_ADVICE = "write it with numpy again"
# What numpy and zipfile raise for a damaged header or archive.
_DAMAGE = (
    *(ValueError, TypeError, EOFError, OSError, SyntaxError, LookupError, RuntimeError, ArithmeticError),
    *(zipfile.BadZipFile, NotImplementedError, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError),
)
LARGEST_DIM, MOST_AXES = 1 << 48, 32
# What is larger stays on disk: it is unpacked into a file that has no name, and mapped.
LARGEST_IN_MEMORY = 1 << 28
# Large arrays that were packed better than this are refused: no samples are, but bombs are.
LARGEST_GROWTH = 100
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    # As 2.0, but for names in UTF-8.
    (3, 0): np.lib.format.read_array_header_2_0,
}
Header = tuple[tuple[int, ...], np.dtype[Any]]


def list_array_names(path: Path) -> list[str]:
    """The arrays of an .npz file; that of an .npy file is called ""."""
    if path.suffix == ".npy":
        return [""]
    with _guard_numpy(path), zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def read_header(path: Path, name: str = "") -> Header:
    """Shape and type of one array."""
    with _guard_numpy(path, name), _open_array(path, name) as (file, size):
        return _read_header(file, size, Where(file=str(path), tensor=name or None))


def read_numpy_array(path: Path, name: str = "") -> Array:
    """The array of an .npy file, or one of an .npz file."""
    shape, dtype = read_header(path, name)
    with _guard_numpy(path, name), _open_array(path, name) as (file, _):
        if path.suffix != ".npy" and prod(shape) * dtype.itemsize > LARGEST_IN_MEMORY:
            return _unpack_to_disk(file)
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
        # Only at its end the checksum of a member is held against its content.
        file.read(1)
    return array


def map_numpy_array(path: Path) -> Array:
    """The array of an .npy file, which stays in it until it is used."""
    read_header(path)
    with _guard_numpy(path):
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


class NumpyArchive(Mapping[str, Array]):
    """The arrays of an .npz file, each read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names = list_array_names(path)

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        return read_numpy_array(self._path, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@contextmanager
def _guard_numpy(path: Path, name: str = "") -> Iterator[None]:
    """What numpy and zipfile stumble over inside is one error that names the file."""
    where = Where(file=str(path), tensor=name or None)
    measure_file(path)
    try:
        yield
    except RecursionError:
        raise BadInput("the header is nested too deeply", where, do=_ADVICE) from None
    except MemoryError:
        raise LimitExceeded("the array needs more memory than there is", where, do="free memory") from None
    except _DAMAGE as problem:
        what = f"the file is no readable {path.suffix} file: {shown(problem)}"
        raise BadInput(what, where, do=_ADVICE) from None


def _unpack_to_disk(file: IO[bytes]) -> Array:
    """The array of a member, in a file that is gone when nobody uses the array any more."""
    with tempfile.TemporaryFile(prefix="edgewright-") as unpacked:
        shutil.copyfileobj(file, unpacked, 1 << 22)
        unpacked.flush()
        unpacked.seek(0)
        version = np.lib.format.read_magic(unpacked)
        shape, is_fortran, dtype = _HEADERS[version](unpacked)
        order: Literal["F", "C"] = "F" if is_fortran else "C"
        return np.memmap(unpacked, dtype, "r", unpacked.tell(), shape, order)


@contextmanager
def _open_array(path: Path, name: str) -> Iterator[tuple[IO[bytes], int]]:
    """The bytes of an array, and how many they are."""
    if path.suffix == ".npy":
        with path.open("rb") as file:
            yield file, measure_file(path)
        return
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        entry = archive.getinfo(f"{name}.npy" if f"{name}.npy" in names else name)
        _check_entry(entry, path)
        with archive.open(entry) as member:
            yield member, entry.file_size


def _check_entry(entry: zipfile.ZipInfo, path: Path) -> None:
    """Refuses a member that claims more than the file can hold."""
    there = measure_file(path)
    ratio = 1 if entry.compress_type == zipfile.ZIP_STORED else LARGEST_RATIO
    most = min(entry.compress_size, there) * ratio
    if entry.compress_size > there or entry.file_size > most:
        raise BadInput(
            f"member '{shown(entry.filename, 60)}' has {entry.file_size} bytes, the file of {there} holds "
            f"{most} of it at most",
            Where(file=str(path)),
            do=_ADVICE,
        )
    if entry.file_size > max(LARGEST_IN_MEMORY, entry.compress_size * LARGEST_GROWTH):
        raise LimitExceeded(
            f"member '{shown(entry.filename, 60)}' is packed in {entry.compress_size} bytes and has "
            f"{entry.file_size}, at most {LARGEST_GROWTH} times as many are unpacked",
            Where(file=str(path)),
            do="save it without compression: numpy.savez",
        )


def _read_header(file: IO[bytes], size: int, where: Where) -> Header:
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise BadInput(f"version {version} is not known, expected 1.0 or 2.0", where, do=_ADVICE)
    shape, _, dtype = _HEADERS[version](file)
    expected, there = prod(shape) * dtype.itemsize, size - file.tell()
    if not dtype.hasobject and expected != there:
        raise BadInput(
            f"{there} bytes follow the header, but {dtype} {shown(list(shape), 60)} takes {expected}",
            where,
            do=_ADVICE,
        )
    is_odd = any(isinstance(dim, bool) or not 0 <= dim <= LARGEST_DIM for dim in shape)
    if is_odd or len(shape) > MOST_AXES or prod(dim for dim in shape if dim) > LARGEST_DIM:
        raise BadInput(
            f"the array has the shape {shown(list(shape), 60)}, expected up to {MOST_AXES} sizes from 0 to "
            f"{LARGEST_DIM}",
            where,
            do=_ADVICE,
        )
    return shape, dtype

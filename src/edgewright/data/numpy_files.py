"""Arrays in .npy and .npz files: sizes are held against the bytes there before memory is taken."""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array

# A compressed byte stands for so many at most: deflate cannot do better.
LARGEST_RATIO = 1032
_ADVICE = "write it with numpy again"
# What numpy and zipfile raise for a damaged header or archive.
_DAMAGE = (
    *(ValueError, TypeError, EOFError, OSError, SyntaxError, KeyError, RuntimeError),
    *(zipfile.BadZipFile, NotImplementedError, zlib.error),
)
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
    read_header(path, name)
    with _guard_numpy(path, name), _open_array(path, name) as (file, _):
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
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
    except MemoryError:
        raise LimitExceeded("the array needs more memory than there is", where, do="free memory") from None
    except _DAMAGE as problem:
        what = f"the file is no readable {path.suffix} file: {shown(problem)}"
        raise BadInput(what, where, do=_ADVICE) from None


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


def _read_header(file: IO[bytes], size: int, where: Where) -> Header:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    expected, there = prod(shape) * dtype.itemsize, size - file.tell()
    if not dtype.hasobject and (expected != there or any(dim < 0 for dim in shape)):
        raise BadInput(
            f"{there} bytes follow the header, but {dtype} {shown(list(shape), 60)} takes {expected}",
            where,
            do=_ADVICE,
        )
    return shape, dtype

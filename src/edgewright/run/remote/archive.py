"""Files on their way to a device and back, as a tar archive; what comes back is untrusted."""

import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

from edgewright.core.errors import BackendCrash, BadInput, LimitExceeded, Where, shown
from edgewright.core.files import measure_file, resolve_inside

MOST_FILES = 1_000_000
# Also files that are there twice, or that are folders of others.
_DAMAGED = (
    *(tarfile.TarError, EOFError, UnicodeError, ValueError),
    *(FileExistsError, NotADirectoryError, IsADirectoryError),
)


def pack_files(files: Mapping[str, Path], archive: Path) -> None:
    """Writes the files under their names on the device."""
    with tarfile.open(archive, "w") as tar:
        for name, path in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = measure_file(path), 0o600
            try:
                with path.open("rb") as stream:
                    tar.addfile(entry, stream)
            except OSError as problem:
                reason = f"'{shown(path)}' cannot be sent: {problem.strerror}"
                raise BadInput(reason, Where(file=str(path))) from problem


def unpack_files(archive: Path, folder: Path, largest: int) -> None:
    """Extracts regular files into a folder; names that lead out of it, links and devices are refused."""
    try:
        with tarfile.open(archive, "r:") as tar:
            _unpack(tar, folder, largest)
    except _DAMAGED as problem:
        raise BackendCrash(
            f"what the device sent is damaged: {shown(problem)}", do="run it again"
        ) from problem


def _unpack(tar: tarfile.TarFile, folder: Path, largest: int) -> None:
    size = 0
    for number, entry in enumerate(tar):
        size += entry.size
        if number >= MOST_FILES or size > largest:
            raise LimitExceeded("the device sent more files than a run can have")
        if entry.isdir() and entry.name.strip("./") == "":
            continue
        path = resolve_inside(folder, entry.name.removeprefix("./"), "the archive of the device")
        if entry.isdir():
            path.mkdir(parents=True, exist_ok=True)
        elif entry.isreg():
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = tar.extractfile(entry)
            assert stream is not None
            with path.open("xb") as target:
                shutil.copyfileobj(stream, target)
        else:
            raise BackendCrash(f"the device sent '{shown(entry.name)}', which is not a regular file")

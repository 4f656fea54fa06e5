"""Files as memory that is read from disk only where it is used."""

import os
import stat
from mmap import ACCESS_READ, mmap
from pathlib import Path

from edgewright.core.errors import BadInput, Where, shown


def map_file(path: Path, where: Where, *, is_stranger: bool = False) -> memoryview:
    """A file's bytes, read from disk as they are used; a stranger names it where a model does, not the user.

    A file that a stranger names must have one name only: a second hard link could be a file of another
    folder. ONNX's own loader refuses these too.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    # The path was resolved before: a link that appears now is not followed.
    flags |= getattr(os, "O_NOFOLLOW", 0) if is_stranger else 0
    try:
        handle = os.open(path, flags)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "not a file name"
        raise BadInput(
            f"cannot open '{shown(path)}': {reason.lower()}", where, do="check the name and the permissions"
        ) from None
    try:
        return _map_checked(handle, path, where, is_stranger=is_stranger)
    finally:
        os.close(handle)


def _map_checked(handle: int, path: Path, where: Where, *, is_stranger: bool) -> memoryview:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or a device"
        raise BadInput(f"'{shown(path)}' is {kind}, expected a file", where, do="name a regular file")
    if is_stranger and status.st_nlink > 1:
        raise BadInput(
            f"'{shown(path)}' has {status.st_nlink} hard links, expected 1: it may belong elsewhere",
            where,
            do="copy the file to a new one of the same name",
        )
    return memoryview(mmap(handle, 0, access=ACCESS_READ)) if status.st_size else memoryview(b"")

"""A folder that one job at a time writes: the lock ends with its process, however that ends."""

import contextlib
import json
import logging
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from edgewright.core.errors import EnvironmentProblem, shown
from edgewright.core.json_text import parse_json

log = logging.getLogger(__name__)

LOCK = ".build.lock"
# Another process may look at the lock, or remove it, at the very moment that it is asked for.
ATTEMPTS, PAUSE = 10, 0.05
# How often one who waits looks whether the work is finished.
WAIT_PAUSE = 0.2


class FolderHeld(EnvironmentProblem):
    """Another process writes the folder."""


@dataclass(frozen=True)
class Holder:
    """Who writes a folder; text of a damaged file is left empty."""

    pid: int = 0
    host: str = ""
    since: str = ""
    command: str = ""
    # Tells the same work from other work in the folder.
    work: str = ""

    def __str__(self) -> str:
        """As in: process 42 since 2026-01-31 10:00:00 (edgewright build model.onnx)."""
        words = f"process {self.pid or 'unknown'}"
        words += f" on {shown(self.host, 60)}" if self.host and self.host != platform.node() else ""
        words += f" since {shown(self.since, 40)}" if self.since else ""
        return words + (f" ({shown(self.command)})" if self.command else "")


@contextlib.contextmanager
def hold_folder(folder: Path, command: str, work: str = "") -> Iterator[None]:
    """Keeps every other process, and thread, from writing the folder; it is made where it is missing.

    The system itself ends the lock of a process that dies, so what is left of one is taken over.
    """
    file = _take_lock(folder)
    try:
        _tell_holder(file, folder, Holder(os.getpid(), platform.node(), _tell_time(), command, work))
        yield
    finally:
        _release_lock(file, folder)


def is_folder_held(folder: Path) -> bool:
    """Whether another process, or thread, writes the folder; nothing is made or changed."""
    try:
        file = os.open(folder / LOCK, os.O_RDWR)
    except OSError:  # no folder, no lock, or no right to look: whoever writes will be told
        return False
    try:
        return not _try_lock(file)
    finally:
        os.close(file)


def wait_for_same_work(folder: Path, work: str) -> None:
    """Waits while another process does the same work in the folder; raises where it does other work there."""
    is_told, attempts = False, 0
    while is_folder_held(folder):
        holder = _read_holder(folder)
        # Without a name it has just begun, or ended.
        attempts += holder == Holder()
        if attempts > ATTEMPTS or (holder != Holder() and holder.work != work):
            raise _make_held_error(folder)
        if holder != Holder() and not is_told:
            log.warning("the same is being built by %s: waiting for its result", holder)
            is_told = True
        time.sleep(WAIT_PAUSE)


def _take_lock(folder: Path) -> int:
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE)
        # The one who held it may remove the file, or the empty folder, at any moment.
        with contextlib.suppress(FileNotFoundError):
            file = _open_lock(folder)
            if _try_lock(file) and _is_current(file, folder):
                return file
            os.close(file)
    raise _make_held_error(folder)


def _open_lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except FileNotFoundError:
        raise
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
        raise EnvironmentProblem(
            f"cannot write '{shown(folder)}': {why[:1].lower()}{why[1:]}", do="name another folder"
        ) from problem


def _is_current(file: int, folder: Path) -> bool:
    """Whether the file that is locked is still the one that others find."""
    return os.path.samestat(os.fstat(file), (folder / LOCK).stat())


def _tell_time() -> str:
    return datetime.now().astimezone().isoformat(" ", "seconds")


def _tell_holder(file: int, folder: Path, holder: Holder) -> None:
    previous = _read_holder(folder)
    if previous != Holder():
        log.warning("'%s' was left behind by %s, which has ended; taken over", shown(folder), previous)
    os.ftruncate(file, 0)
    os.write(file, json.dumps(asdict(holder)).encode())


def _release_lock(file: int, folder: Path) -> None:
    """Removes the lock, and the folder where nothing was written into it."""
    # Where an open file can be removed, it must be while it is locked: another may lock it right after.
    with contextlib.suppress(OSError):
        (folder / LOCK).unlink()
    os.close(file)
    if sys.platform == "win32":
        with contextlib.suppress(OSError):
            (folder / LOCK).unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _read_holder(folder: Path) -> Holder:
    try:
        fields = parse_json((folder / LOCK).read_bytes())
        return Holder(**{name: kind(fields[name]) for name, kind in Holder.__annotations__.items()})
    except (OSError, ValueError, TypeError, KeyError):
        return Holder()


def _make_held_error(folder: Path) -> FolderHeld:
    return FolderHeld(
        f"'{shown(folder)}' is being written by {_read_holder(folder)}",
        do="wait until it ends, or name another folder for this one",
    )


if sys.platform == "win32":
    import msvcrt

    # A locked byte cannot be read by others: one that lies far behind the text is locked.
    _BYTE = 1 << 30

    def _try_lock(file: int) -> bool:
        os.lseek(file, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as problem:
            log.warning("this file system has no locks (%s): keep other builds away", problem.strerror)
        return True

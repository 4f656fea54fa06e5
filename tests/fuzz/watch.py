"""Executes one file after the other, counts how they end, and keeps those that did not end as they must."""

import hashlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from edgewright.core.memory_limit import enable_memory_limit
from tests.fuzz.formats import Format

SECONDS = 20
# Nothing of a file may be run, and reading it changes nothing.
_NEVER = {
    *("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "subprocess.Popen"),
    *("socket.connect", "socket.bind", "pickle.find_class", "os.remove", "os.rename", "os.rmdir", "os.link"),
    *("os.symlink", "os.chmod", "os.truncate", "shutil.rmtree", "ctypes.dlopen"),
}


class Hang(BaseException):
    """An execution took too long."""


class Forbidden(BaseException):
    """Reading a file did what reading never does."""


class Watch:
    """The executions of one format."""

    def __init__(self, chosen: Format, folder: Path, found: Path) -> None:
        self._chosen, self._folder, self.found = chosen, folder, found
        self.counts: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()
        self._start = time.monotonic()
        self._guard = Guard(folder)
        (folder / "file").mkdir()
        found.mkdir(parents=True, exist_ok=True)

    def try_seed(self, content: bytes) -> bool:
        """Whether a seed is read; what it needs is imported by that."""
        from edgewright.core.errors import EdgewrightError

        try:
            self._read(content)
        except EdgewrightError:
            return False
        return True

    def begin(self) -> None:
        """From here on, time is measured and what is done is watched."""
        self._start = time.monotonic()
        signal.signal(signal.SIGPROF, _ring)
        tempfile.tempdir = str(self._folder)
        enable_memory_limit()
        sys.addaudithook(self._guard.look)

    def execute(self, data: bytes) -> None:
        """One file, read."""
        from edgewright.core.errors import EdgewrightError

        # Processor time, not the clock's: a process that was stopped meanwhile did not hang.
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            self._guard.is_on = True
            self._read(data)
            self.counts["read"] += 1
        except EdgewrightError:
            self.counts["refused"] += 1
        except (Exception, Hang, Forbidden) as problem:
            self._guard.is_on = False
            self._keep(data, problem)
        finally:
            self._guard.is_on = False
            signal.setitimer(signal.ITIMER_PROF, 0)
        # libFuzzer ends the process itself, at any time: the record is always up to date.
        self._record()

    def _read(self, data: bytes) -> None:
        path = self._folder / "file" / self._chosen.file
        path.write_bytes(data)
        self._chosen.read(path)

    def _record(self) -> None:
        total = sum(self.counts.values()) + sum(self.problems.values())
        record = {
            "format": self.found.name,
            "executions": total,
            **self.counts,
            "seconds": round(time.monotonic() - self._start),
            "problems": dict(self.problems),
        }
        (self._folder / "record.json").write_text(json.dumps(record))

    def _keep(self, data: bytes, problem: BaseException) -> None:
        frames = [f for f in traceback.extract_tb(problem.__traceback__) if "/edgewright/" in f.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        key = f"{type(problem).__name__} at {place}"
        if key not in self.problems:
            digest = hashlib.sha256(data).hexdigest()[:12]
            name = f"{type(problem).__name__}-{place}-{digest}".replace(":", "_")
            (self.found / name).write_bytes(data)
            text = "".join(traceback.format_exception(problem)[-8:])
            (self.found / f"{name}.txt").write_text(text, "utf-8", "backslashreplace")
        self.problems[key] += 1


class Guard:
    """Sees what Python does, and ends an execution that writes, starts or loads something."""

    def __init__(self, folder: Path) -> None:
        self._inside = str(folder)
        self.is_on = False

    def look(self, event: str, words: tuple[Any, ...]) -> None:
        """Called by the interpreter before it does something."""
        if not self.is_on:
            return
        if event in _NEVER and not self._is_inside(words):
            raise Forbidden(f"{event} {words!r:.200}")
        if (
            event == "open"
            and isinstance(words[2], int)
            and words[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        ):
            place = str(words[0])
            if not self._is_inside(words) and "__pycache__" not in place and place != os.devnull:
                raise Forbidden(f"{place!r:.200} was opened to be written")

    def _is_inside(self, words: tuple[Any, ...]) -> bool:
        return bool(words) and str(words[0]).startswith(self._inside)


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise Hang(f"more than {SECONDS} s of processor time")

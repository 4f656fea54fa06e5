"""Work in child processes with limits: one that dies or hangs is noted, and the next one goes on."""

import json
import os
import resource
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

__all__ = ["Found", "in_children"]

MEMORY = 6 << 30


@dataclass(frozen=True)
class Found:
    """What became of one item: "ok", "refused", or what must not be."""

    index: int
    kind: str
    detail: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether it ended as every item must."""
        return self.kind in {"ok", "refused"}


def in_children(work: Callable[[int], Found], indices: Sequence[int], seconds: float) -> Iterator[Found]:
    """What the work found for each index; a child goes on until it dies or takes more than the seconds."""
    left = list(indices)
    while left:
        done = 0
        for found in _child(work, left, seconds):
            yield found
            done += 1
        left = left[done:]


def _child(work: Callable[[int], Found], indices: Sequence[int], seconds: float) -> Iterator[Found]:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reader)
            _go_through(work, indices, writer)
        finally:
            os._exit(0)  # the child must never go on with what its parent does
    os.close(writer)
    try:
        yield from _read(reader, indices, seconds)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _go_through(work: Callable[[int], Found], indices: Sequence[int], writer: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    for index in indices:
        os.write(writer, (json.dumps(asdict(work(index))) + "\n").encode())


def _read(reader: int, indices: Sequence[int], seconds: float) -> Iterator[Found]:
    text = b""
    for index in indices:
        while b"\n" not in text:
            ready, _, _ = select.select([reader], [], [], seconds)
            chunk = os.read(reader, 1 << 16) if ready else b""
            if not chunk:
                what = "the process ended" if ready else f"more than {seconds} s"
                yield Found(index, "crash" if ready else "hang", what)
                return
            text += chunk
        line, _, text = text.partition(b"\n")
        yield Found(**json.loads(line))

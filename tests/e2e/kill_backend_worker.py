"""A client that kills the process which computes for it, starts another one and prints its number.

A process of its own: python -m tests.e2e.kill_backend_worker LIBRARY.
"""

import os
import signal
import sys
from pathlib import Path

import pytest

from edgewright.core.errors import BackendCrash
from tests.e2e.test_backend_library import digits, open_library, run_library

# The worker inherits the variables of its client: this one tells whose it is.
MARK = "BACKEND_LIBRARY_CLIENT"


def find_worker() -> int:
    """The process that computes for this one."""
    mark = f"{MARK}={os.getpid()}".encode()
    for folder in Path("/proc").iterdir():
        try:
            is_worker = b"run.backend_library.worker" in (folder / "cmdline").read_bytes()
            if is_worker and mark in (folder / "environ").read_bytes().split(b"\0"):
                return int(folder.name)
        except (OSError, ValueError):
            continue
    sys.exit("there is no worker")


def main(path: str) -> None:
    """Fails unless the loss of the worker is an error, and another one can be started."""
    os.environ[MARK] = str(os.getpid())
    library = open_library(Path(path))
    records, feed = digits()
    context, _ = run_library(library, records, feed)
    os.kill(find_worker(), signal.SIGKILL)
    with pytest.raises(BackendCrash, match=" 1007 "):
        context.execute(records.name, feed)
    context.free()
    assert library.interface.call("backendFree", library.backend) == 0
    again = open_library(Path(path))
    run_library(again, records, feed)
    sys.stdout.write(f"{find_worker()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Bounds the memory that a model's description may make a tool take, whatever takes it."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from edgewright.core.errors import LimitExceeded, Where

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

# What a model of any size may take on top of what the process has, and for each byte of its files: weights of
# half precision or of a few bits become wider, and some steps need a copy.
BASE = 3 << 29
PER_BYTE = 8
_MOST_FILES = 10_000
_STATUS = Path("/proc/self/statm")
_enabled = threading.Event()


def enable_memory_limit() -> None:
    """For tools, whose process is their own: from now on ``limit_memory`` does what it says.

    A library must not: the limit holds for all threads of the process that uses it.
    """
    _enabled.set()


@contextmanager
def limit_memory(file: str) -> Iterator[None]:
    """Inside, memory beyond what the files of a model account for is an error, not a full machine.

    A few bytes of a file can announce any size. Most are refused by rules about shapes; this holds for what
    is computed from them too.
    """
    taken = _measure_data()
    if not _enabled.is_set() or resource is None or not taken:
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    allowance = taken + BASE + PER_BYTE * _measure_files(Path(file))
    limits = [limit for limit in (before, hard, allowance) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    except MemoryError:
        raise LimitExceeded(
            "the model needs far more memory than its size accounts for",
            Where(file=file),
            do="check the shapes of its tensors; in Python, ew.convert has no such limit",
        ) from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def _measure_data() -> int:
    """Bytes of this process that may be written, as RLIMIT_DATA counts them; 0 where that is not known."""
    try:
        return int(_STATUS.read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def _measure_files(path: Path) -> int:
    """Bytes of a model and of what lies beside it: weights may be in files of their own."""
    try:
        folder = path if path.is_dir() else path.parent
        entries = folder.rglob("*") if path.is_dir() else folder.iterdir()
        return sum(item.lstat().st_size for item in islice(entries, _MOST_FILES) if item.is_file())
    except OSError:
        return 0

"""What this process uses of its machine: memory and CPU time."""

import os
import time
from pathlib import Path

_STATUS = Path("/proc/self/statm")


def measure_memory() -> int:
    """Bytes of memory that this process uses now; its peak where the system reports only that."""
    try:
        return int(_STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return _measure_peak_memory()


def measure_processor_time() -> float:
    """CPU seconds of all threads of this process."""
    return time.process_time_ns() / 1e9


def _measure_peak_memory() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    # macOS counts bytes, Linux kilobytes.
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

"""What this process uses of its machine, and may use: memory, CPU time, cores."""

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


def count_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_thread_limit() -> int:
    """Threads that OMP_NUM_THREADS allows; 0 where it says nothing."""
    text = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(text) if text.isdecimal() else 0


def _measure_peak_memory() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    # macOS counts bytes, Linux kilobytes.
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

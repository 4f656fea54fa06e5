"""Conversion: wall time, and peak memory against the size of the file, each in a process of its own."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.models import generated_model

__all__ = ["Conversion", "measure"]

BASE_MB = 300
LIMITS = {"inline": 2.2, "external": 1.5}


@dataclass(frozen=True)
class Conversion:
    """What one conversion to model.cpp, .bin and net.json took."""

    size_mb: float
    weights: str
    seconds: float
    peak_mb: float

    @property
    def factor(self) -> float:
        """Peak memory above the base allowance, in file sizes."""
        return max(0.0, self.peak_mb - BASE_MB) / self.size_mb

    @property
    def is_met(self) -> bool:
        """Whether the factor is within its limit."""
        return self.factor <= LIMITS[self.weights]


def measure(megabytes: int, *, is_external: bool) -> Conversion:
    """Generates a model, converts it in a child process and removes both."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.onnx"
        generated_model(path, megabytes, is_external=is_external)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.conversion", str(path)],
            capture_output=True,
            text=True,
            check=True,
        )
        seconds, peak = json.loads(run.stdout)
    return Conversion(size / 2**20, "external" if is_external else "inline", seconds, peak)


def _child(path: str) -> None:
    start = time.perf_counter()
    import edgewright as ew

    ew.convert(path).save(Path(path).with_name("out.cpp"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([time.perf_counter() - start, peak]))


if __name__ == "__main__":
    _child(sys.argv[1])

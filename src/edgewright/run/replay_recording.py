"""Replays what the Saver recorded and writes the outputs of every execution."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.backends.saver.replay import replay
from edgewright.core.files import Chunks, write_all
from edgewright.lower.names import sanitize_name


@dataclass(frozen=True)
class ReplayReport:
    """What was replayed, and the files that were written."""

    folder: str
    backend: str
    executions: int
    files: tuple[str, ...]


def replay_recording(folder: str, backend: str, output_dir: str) -> ReplayReport:
    """All executions of a recording on a backend; files are written all or none."""
    results = replay(folder, backend)
    files: dict[Path, Chunks] = {
        Path(output_dir) / f"Result_{number}" / f"{sanitize_name(name)}.raw": [
            np.ascontiguousarray(array).tobytes()
        ]
        for number, outputs in enumerate(results)
        for name, array in outputs.items()
    }
    write_all(files)
    return ReplayReport(folder, backend, len(results), tuple(map(str, files)))

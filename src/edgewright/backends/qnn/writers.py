"""DLCs by the IR library, and recorded runs by the Saver library."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from edgewright.abi.libraries import spell_library
from edgewright.backends.qnn.checks import check_graph
from edgewright.backends.qnn.client import Worker
from edgewright.backends.qnn.options import HtpOptions
from edgewright.backends.qnn.runtime import required_libraries
from edgewright.core.errors import BackendCrash
from edgewright.core.numbers import Array
from edgewright.lower.qnn_graph import QnnGraph

# Neither library has a device.
_NO_CHIP = HtpOptions(soc_model=0)


def genuine_dlc(record: QnnGraph) -> bytes:
    """A DLC written by Qualcomm's own library."""
    check_graph(record)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.dlc")
        worker = Worker(required_libraries().folder, spell_library("QnnIr"), _NO_CHIP)
        try:
            worker.ask("write_dlc", record=record, path=str(path))
        finally:
            worker.stop()
        if not path.is_file():
            raise BackendCrash("libQnnIr.so wrote no file, expected a DLC", do="use our own writer")
        return path.read_bytes()


def record_calls(record: QnnGraph, runs: Sequence[Mapping[str, Array]], folder: Path | str) -> list[Path]:
    """The files that the genuine Saver writes for building a graph and running it on stored inputs."""
    check_graph(record)
    target = Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    worker = Worker(required_libraries().folder, spell_library("QnnSaver"), _NO_CHIP, str(target))
    try:
        worker.ask("save_calls", record=record, runs=[dict(values) for values in runs])
    finally:
        worker.stop()
    return sorted(path for path in target.iterdir() if path.is_file())

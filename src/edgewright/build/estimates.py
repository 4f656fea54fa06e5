"""What a build will need, estimated before any work: sizes by precision, memory, time and disk."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from edgewright.abi.libraries import find_libraries
from edgewright.config.build import AUTO
from edgewright.config.quantize import PRECISIONS
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ops.cost import node_macs

# A graph of the HTP, weights included.
GRAPH_LIMIT = 2 << 30
# Rough rates of one machine with few cores (measured on MobileNetV2 and larger models).
MACS_PER_SECOND = 4e9
# The speed of the genuine emulator, and the time it may take: once to evaluate, once to compare layers.
EMULATED_MACS, EMULATOR_SECONDS = 5e8, 45.0
STARTING_SECONDS, STARTING_MB = 5.0, 350.0
# The report with what draws its plots, and small files.
REPORT_MB = 3.5
# How often samples are run for each precision: calibration with its search, and evaluation.
CALIBRATION_RUNS, EVALUATION_RUNS = 10, 4
AUTO_CANDIDATES = 5


@dataclass(frozen=True)
class Estimate:
    """What the whole build will need."""

    seconds: float = 0.0
    memory_mb: float = 0.0
    disk_mb: float = 0.0


def estimate_weight_sizes(graph: Graph) -> dict[str, int]:
    """The bytes of all weights in each precision, and as they are ("source")."""
    real = [array for array in _list_weights(graph) if array.dtype.kind == "f"]
    elements = sum(array.size for array in real)
    plain = sum(array.nbytes for array in _list_weights(graph)) - sum(array.nbytes for array in real)
    sizes = {"source": plain + sum(array.nbytes for array in real)}
    for precision, bits in PRECISIONS.items():
        sizes[precision] = plain + elements * (16 if bits is None else bits[0]) // 8
    return sizes


def estimate_build(graph: Graph, calibration: int, evaluation: int, precision: str) -> Estimate:
    """Rough figures, mostly right within a factor of three."""
    candidates = AUTO_CANDIDATES if precision == AUTO else 1
    runs = candidates * (CALIBRATION_RUNS * calibration + EVALUATION_RUNS * evaluation)
    macs = sum(node_macs(graph, node) for node in graph.nodes)
    sizes = estimate_weight_sizes(graph)
    weights = sizes["source"] / 1e6
    # The float model, a changed copy of it, the engine's copy, and the quantized one.
    memory = STARTING_MB + 3.5 * weights
    # While it works: the float graph and one graph for each precision; at the end the files in three forms.
    disk = REPORT_MB + weights + (candidates + 4) * sizes["w8a8"] / 1e6
    seconds = STARTING_SECONDS + macs * runs / MACS_PER_SECOND
    if find_libraries() is not None:
        seconds += 2 * min(EMULATOR_SECONDS, STARTING_SECONDS + macs * evaluation / EMULATED_MACS)
    return Estimate(seconds, memory, disk)


def read_available_memory() -> float | None:
    """Megabytes that can be had without swapping; None where the system does not say."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as file:
            sizes = [line.split()[1] for line in file if line.startswith("MemAvailable:")]
        return int(sizes[0]) / 1000 if sizes else None
    except (OSError, ValueError, IndexError):
        return None


def read_free_disk(folder: Path) -> float:
    """Megabytes that are free where a folder is, or will be."""
    return shutil.disk_usage(find_nearest_folder(folder)).free / 1e6


def find_nearest_folder(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    for each in (folder, *folder.absolute().parents):
        if each.is_dir():
            return each
    return Path(os.sep)


def _list_weights(graph: Graph) -> list[Array]:
    return [array for name, array in graph.constants.items() if graph.consumers(name)]

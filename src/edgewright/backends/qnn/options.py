"""Options of the genuine HTP library: the chip, the context, each graph, the worker process."""

from dataclasses import dataclass, field
from enum import IntEnum

# Snapdragon 8 Gen 3 (SM8650, Hexagon v75).
DEFAULT_SOC = 57


class Priority(IntEnum):
    """Which of several contexts runs first on the device."""

    LOW = 0
    NORMAL = 100
    NORMAL_HIGH = 150
    HIGH = 200


class ProfilingLevel(IntEnum):
    """How much the library measures. All of it is host emulation, never device latency."""

    OFF = 0
    BASIC = 1
    DETAILED = 2
    LINTING = 7001


@dataclass(frozen=True)
class GraphOptions:
    """How one graph is compiled; None leaves the choice to the library."""

    optimization_level: int | None = None
    # 0 is all that the chip has.
    vtcm_mb: int | None = None
    is_fp16_relaxed: bool | None = None
    hvx_threads: int | None = None
    is_dlbc: bool | None = None


@dataclass(frozen=True)
class WorkerOptions:
    """Limits of the process that the libraries run in: seconds for one answer, bytes of memory (0: none)."""

    timeout: float = 600.0
    memory_limit: int = 0
    # Which of several processes for one chip.
    number: int = 0


@dataclass(frozen=True)
class HtpOptions:
    """The chip that graphs are compiled for, and how their context is made.

    The library keeps the chip for a whole process, so every value of `soc_model` gets its own worker.
    """

    soc_model: int = DEFAULT_SOC
    # Hexagon version (68, 69, 73, 75, 79, 81); None for the chip's own.
    dsp_arch: int | None = None
    graph: GraphOptions = field(default_factory=GraphOptions)
    # By graph name; a graph that is not named here has `graph`.
    graphs: dict[str, GraphOptions] = field(default_factory=dict)
    is_weight_sharing: bool = False
    priority: Priority = Priority.NORMAL
    profiling: ProfilingLevel = ProfilingLevel.OFF
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    # Platform options as key:value;key:value, which the library itself parses.
    platform: str = ""
    # Whether inputs and outputs of graphs are in memory shared with the worker.
    is_shared: bool = False
    # The folder that schematics of compiled graphs go to; "" for none.
    schematics: str = ""

    def options_of(self, graph: str) -> GraphOptions:
        """How the graph of that name is compiled."""
        return self.graphs.get(graph, self.graph)

"""What a throughput test found: counts, times, throughput and errors of each thread and of all."""

from dataclasses import dataclass

from edgewright.sdk.throughput.latencies import Latency

__all__ = ["GraphResult", "Memory", "OutputError", "ThreadResult", "ThroughputResult"]


@dataclass(frozen=True)
class OutputError:
    """The mean squared error of an output against the ground truth, over all executions and in the worst."""

    name: str
    mean: float
    worst: float
    executions: int


@dataclass(frozen=True)
class GraphResult:
    """The executions of one graph by one thread."""

    graph: str
    executions: int
    latency: Latency
    errors: tuple[OutputError, ...] = ()
    # The folder of the outputs that were saved, and how many executions they are of.
    folder: str = ""
    saved: int = 0
    profile: str = ""


@dataclass(frozen=True)
class ThreadResult:
    """One thread; ``seconds`` is the time that it worked, ``throughput`` executions in a second of it."""

    name: str
    backend: str
    context: str
    model: str
    executions: int
    seconds: float
    throughput: float
    # Microseconds of the last set-up of its model; threads of a context share it.
    init: int
    graphs: tuple[GraphResult, ...]


@dataclass(frozen=True)
class Memory:
    """Megabytes of this process after the models were made, and in the end."""

    ready: float
    end: float


@dataclass(frozen=True)
class ThroughputResult:
    """The whole test; ``seconds`` is the time of all iterations without the first set-up of models."""

    config: str
    iterations: int
    is_complete: bool
    # The signal that ended it; 0 where none did.
    stopped_by: int
    seconds: float
    executions: int
    # Executions in a second, by all threads together.
    throughput: float
    # Seconds of processor time, of all threads of this process.
    processor: float
    memory: Memory
    threads: tuple[ThreadResult, ...]
    notes: tuple[str, ...] = ()

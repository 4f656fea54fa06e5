"""The results of a throughput test: counts, times, throughput and errors of each thread and of all."""

from dataclasses import dataclass

from edgewright.sdk.throughput.latencies import Latency


@dataclass(frozen=True)
class OutputError:
    """The mean squared error of an output against the ground truth: mean and worst of all executions."""

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
    # The folder of the saved outputs, and how many executions they come from.
    folder: str = ""
    saved: int = 0
    profile: str = ""


@dataclass(frozen=True)
class ThreadResult:
    """One thread; ``seconds`` is its working time, ``throughput`` its executions per second of that."""

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
    """Megabytes of this process after the models were prepared, and at the end."""

    ready: float
    end: float


@dataclass(frozen=True)
class ThroughputResult:
    """The whole test; ``seconds`` is the time of all iterations without the first set-up of models."""

    config: str
    iterations: int
    is_complete: bool
    # The signal that stopped it; 0 if none did.
    stopped_by: int
    seconds: float
    executions: int
    # Executions per second of all threads together.
    throughput: float
    # Seconds of processor time, of all threads of this process.
    processor: float
    memory: Memory
    threads: tuple[ThreadResult, ...]
    notes: tuple[str, ...] = ()

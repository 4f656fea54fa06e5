"""What every backend offers: prepare a graph once, then run it on arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from edgewright.core.errors import UsageError, shown
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph

MOST_THREADS = 1024


@dataclass(frozen=True)
class RunOptions:
    """How a session runs; 0 threads leaves the choice to the engine."""

    threads: int = 0
    # Values to return besides the graph's outputs (layer dumps).
    extra_outputs: tuple[str, ...] = ()
    # Times of single nodes are kept, where the backend can measure them (`TimesNodes`).
    is_profiled: bool = False

    def __post_init__(self) -> None:
        # An engine starts as many threads as requested, until the system kills the process.
        if not (isinstance(self.threads, int) and 0 <= self.threads <= MOST_THREADS):
            raise UsageError(
                f"threads is '{shown(self.threads)}', expected a whole number from 0 to {MOST_THREADS}",
                do="use 0, which leaves the number to the engine",
            )


class Session(Protocol):
    """A graph that is ready to run."""

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Values of the outputs, by name."""
        ...

    def placement(self) -> Mapping[str, str]:
        """Node name -> how it runs ("engine", "reference")."""
        ...


class Backend(Protocol):
    """Turns graphs into sessions."""

    @property
    def name(self) -> str:
        """A short name for messages and records."""
        ...

    @property
    def library_names(self) -> Sequence[str]:
        """Names of the genuine libraries that it replaces."""
        ...

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """A session for the graph."""
        ...


@dataclass(frozen=True)
class NodeTime:
    """How long a node took in one run, in microseconds; ``start`` counts from the start of that run.

    ``node`` is "" for what a backend added itself; ``covers`` are nodes computed by the same kernel.
    """

    node: str
    kernel: str
    covers: tuple[str, ...]
    run: int
    start: int
    time: int


@runtime_checkable
class TimesNodes(Protocol):
    """A session that measures its nodes if `RunOptions.is_profiled` is set."""

    def node_times(self) -> list[NodeTime]:
        """Times of all runs so far; stops measuring."""
        ...


@runtime_checkable
class KeepsTraces(Protocol):
    """A session that can return its engine's own traces."""

    def traces(self) -> list[bytes]:
        """Files in the engine's own format, after measuring has stopped."""
        ...


@runtime_checkable
class SeenRuns(Protocol):
    """A session that knows inputs like those of earlier runs at a glance."""

    def run_seen(self, inputs: object) -> dict[str, Array] | None:
        """The outputs for arrays of types and shapes that were seen; None for anything else."""
        ...


@runtime_checkable
class RealEnds(Protocol):
    """A backend that may be given graphs whose fixed-point network is encoded and decoded at its ends."""

    # It rounds there as encodings do, so that only the speed differs.
    has_exact_ends: bool


@runtime_checkable
class TakesFloat(Protocol):
    """A backend for float models, that has no fixed point."""

    is_float_only: bool


@runtime_checkable
class TakesCpu(Protocol):
    """A backend whose engine itself can run on the CPU what it lacks."""

    def with_cpu(self) -> Backend:
        """The backend that may do so."""
        ...

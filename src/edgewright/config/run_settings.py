"""What a backend configuration file says about executions: queues, and what of them is measured."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Guide 4491: the depth of the queue where only other limits are given.
QUEUE_DEPTH = 10


@dataclass(frozen=True)
class GraphProfiling:
    """Which executions of a graph are measured: from when on, in seconds, and how many at most."""

    start_delay: float = 0.0
    executions: int | None = None


@dataclass(frozen=True)
class QueueLimits:
    """How much goes on at a time: executions in the queue, tasks that read inputs, tasks that execute."""

    depth: int = QUEUE_DEPTH
    creation_tasks: int = QUEUE_DEPTH
    enqueue_tasks: int = QUEUE_DEPTH


@dataclass(frozen=True)
class RunSettings:
    """What the file says; None where it says nothing."""

    queue_depth: int | None = None
    creation_tasks: int | None = None
    enqueue_tasks: int | None = None
    most_events: int | None = None
    # By graph name.
    profiling: tuple[tuple[str, GraphProfiling], ...] = ()
    # The keys that were given: a tool that executes nothing says that they have no effect.
    given: tuple[str, ...] = ()

    @property
    def limits(self) -> QueueLimits | None:
        """The limits of the queue; None where the file asks for none."""
        if self.queue_depth is None and self.creation_tasks is None and self.enqueue_tasks is None:
            return None
        depth = self.queue_depth or QUEUE_DEPTH
        return QueueLimits(depth, self.creation_tasks or depth, self.enqueue_tasks or depth)

    def idle_notes(self) -> list[str]:
        """What is said where nothing is executed."""
        return [f"key '{key}' has no effect: nothing is executed" for key in self.given]


def read_run_settings(document: Mapping[str, Any]) -> RunSettings:
    """The settings of a document whose keys were checked."""
    context = document.get("context_configs", {})
    tasks = document.get("async_graph_execution_config", {})
    graphs = document.get("graph_configs", [])
    graphs = graphs if isinstance(graphs, list) else [graphs]
    return RunSettings(
        context.get("async_execute_queue_depth"),
        tasks.get("input_tensors_creation_tasks_limit"),
        tasks.get("execute_enqueue_tasks_limit"),
        document.get("profile_configs", {}).get("num_max_events"),
        tuple(_read_profiling(graphs)),
        tuple(_list_given(document, graphs)),
    )


def _read_profiling(graphs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, GraphProfiling]]:
    for item in graphs:
        delay, count = item.get("graph_profiling_start_delay"), item.get("graph_profiling_num_executions")
        if delay is not None or count is not None:
            yield item.get("graph_name", ""), GraphProfiling(float(delay or 0), count)


def _list_given(document: Mapping[str, Any], graphs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    sections = {
        "context_configs": ("async_execute_queue_depth",),
        "async_graph_execution_config": (
            "input_tensors_creation_tasks_limit",
            "execute_enqueue_tasks_limit",
        ),
        "profile_configs": ("num_max_events",),
    }
    for section, keys in sections.items():
        yield from (f"{section}.{key}" for key in keys if key in document.get(section, {}))
    for key in ("graph_profiling_start_delay", "graph_profiling_num_executions"):
        if any(key in item for item in graphs):
            yield f"graph_configs.{key}"

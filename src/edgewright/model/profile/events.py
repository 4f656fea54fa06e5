"""A backend's own measurements, as events of a profile log."""

from base64 import b64encode
from collections.abc import Sequence

from edgewright.artifacts.profile_log.writer import ProfileEvent
from edgewright.backends.base import KeepsTraces, NodeTime, Session, TimesNodes
from edgewright.backends.qnn.profile import ProfileEvent as NativeEvent
from edgewright.core.errors import UnsupportedFeature
from edgewright.ir.graph import Graph
from edgewright.ops.cost import node_macs

# Levels for which a backend must report its inner steps.
INNER_LEVELS = frozenset({"detailed", "backend"})

# The words of QNN's own CSV.
_UNITS = {"microseconds": "US"}


def read_backend_events(session: Session, message: str, start: int) -> list[ProfileEvent]:
    """What the backend measured since the last call; empty where it measures nothing."""
    profile = getattr(session, "profile", None)
    return [] if profile is None else log_events(profile(), message, start)


def log_events(events: Sequence[NativeEvent], message: str, start: int = 0) -> list[ProfileEvent]:
    """Events of the library, each labelled with what it was measured on."""
    return [
        ProfileEvent(
            message,
            start,
            event.value,
            f"{event.name} ({event.measured_on})",
            "BACKEND",
            _UNITS.get(event.unit, event.unit.upper()),
            "SUB-EVENT" if event.depth else "ROOT",
        )
        for event in events
    ]


def read_node_events(session: Session, graph: Graph, starts: Sequence[int]) -> list[ProfileEvent]:
    """Times of single nodes in all runs, which started at ``starts``; the session stops measuring."""
    if not isinstance(session, TimesNodes):
        return []
    nodes = {node.name: (number, node) for number, node in enumerate(graph.nodes)}
    macs = {name: node_macs(graph, node) for name, (_, node) in nodes.items()}
    events = []
    for time in session.node_times():
        if time.run >= len(starts):
            continue
        number, node = nodes.get(time.node, (-1, None))
        events.append(
            ProfileEvent(
                "NODE",
                starts[time.run] + time.start,
                time.time,
                f"{_name_kernel(time)}:OpId_{number}"
                if node
                else f"{_name_kernel(time)} (added by the backend)",
                "BACKEND",
                level="SUB-EVENT",
                op=type(node.op).__name__ if node else "",
                kernel=time.kernel,
                macs=macs.get(time.node, 0),
                run=time.run,
            )
        )
    return events


def trace_events(session: Session) -> list[ProfileEvent]:
    """The engine's own traces, as opaque objects; to be read after its node times."""
    traces = session.traces() if isinstance(session, KeepsTraces) else []
    return [
        ProfileEvent(
            "EXECUTE",
            0,
            len(trace),
            f"engine trace {number}",
            "BACKEND",
            "OBJECT",
            data=b64encode(trace).decode(),
        )
        for number, trace in enumerate(traces)
    ]


def check_run_level(level: str | None, backend: str) -> None:
    """Refuses a level that needs op times on a backend that does not measure them."""
    if level in INNER_LEVELS and "saver" in backend.lower():
        raise UnsupportedFeature(
            f"backend {backend} runs nothing, --profiling_level {level} asks for times of ops",
            do="use --profiling_level basic or client, or another backend",
        )


def check_level(level: str | None, backend: str) -> None:
    """Refuses a level that needs the steps of a compiler that does not report them."""
    if level in INNER_LEVELS and "native" not in backend:
        raise UnsupportedFeature(
            f"backend {backend} measures whole compilations, --profiling_level {level} asks for their steps",
            do="use --profiling_level basic or client, or --backend htp-native",
        )


def _name_kernel(time: NodeTime) -> str:
    return time.node or time.kernel

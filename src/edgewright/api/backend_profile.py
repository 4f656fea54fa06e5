"""What a backend measures of itself, as events of a profile log."""

from collections.abc import Sequence

from edgewright.artifacts.profile_log.writer import ProfileEvent
from edgewright.backends.base import Session
from edgewright.backends.qnn.profile import ProfileEvent as NativeEvent
from edgewright.core.errors import UnsupportedFeature

__all__ = ["backend_events", "check_level", "log_events"]

# Levels for which a backend must tell what it does inside.
_INNER = frozenset({"detailed", "backend"})

# The words of QNN's own CSV.
_UNITS = {"microseconds": "US"}


def backend_events(session: Session, message: str, start: int) -> list[ProfileEvent]:
    """What the backend measured since the last call; nothing where it measures nothing."""
    profile = getattr(session, "profile", None)
    return [] if profile is None else log_events(profile(), message, start)


def log_events(found: Sequence[NativeEvent], message: str, start: int = 0) -> list[ProfileEvent]:
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
        for event in found
    ]


def check_level(level: str | None, backend: str) -> None:
    """Refuses a level that asks a backend for what it does not measure."""
    if level in _INNER and "native" not in backend:
        raise UnsupportedFeature(
            f"backend {backend} measures whole runs, --profiling_level {level} asks for its inside",
            do="use --profiling_level basic or client, or --backend htp-native",
        )

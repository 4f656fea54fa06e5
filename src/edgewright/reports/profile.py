"""Backends side by side."""

from edgewright.model.profile.measure import BackendProfile, ModelProfile
from edgewright.model.profile.summary import Measure
from edgewright.reports.numbers import amount, byte_size
from edgewright.reports.page import Block, Table

__all__ = ["page"]

_HEADERS = ("backend", "runs", "init", "average", "p50", "p95", "p99", "inf/s", "CPU", "memory")
_SLOWEST = 5


def page(found: ModelProfile) -> list[Block]:
    """The report of `edgewright profile`."""
    ran = [item for item in found.backends if item.runs]
    rows = tuple(_row(item) for item in ran)
    blocks: list[Block] = []
    if rows:
        blocks.append(
            Table(f"{found.model}, times in ms", _HEADERS, rows, frozenset(range(1, len(_HEADERS))))
        )
    for item in ran:
        blocks += _slowest(item)
    blocks += [f"{item.backend}: {item.problem}" for item in found.backends if item.problem]
    blocks += [f"note: {item.backend}: {note}" for item in ran for note in item.notes]
    if any(item.backend != "cpu" for item in ran):
        blocks.append("note: times of htp are those of a simulation or emulation here, not of a device")
    if any("native" in item.name for item in ran):
        blocks.append(
            "note: the emulator works in a process of its own, whose CPU and memory are not counted"
        )
    return blocks


def _row(item: BackendProfile) -> tuple[str, ...]:
    times = (item.init_ms, item.average_ms, item.p50_ms, item.p95_ms, item.p99_ms)
    return (
        item.name,
        str(item.runs),
        *(f"{time:.3f}" if time < 10 else f"{time:.1f}" for time in times),
        f"{item.per_second:.1f}",
        f"{item.cpu_percent:.0f} %",
        byte_size(item.memory),
    )


def _slowest(item: BackendProfile) -> list[Block]:
    if not item.slowest:
        return []
    rows = tuple(_op(measure) for measure in item.slowest[:_SLOWEST])
    unit = {"US": "us", "CYCLES": "cycles"}.get(item.slowest[0].unit, item.slowest[0].unit)
    return [Table(f"Slowest ops on {item.name}", ("op", "kind", unit, "MACs"), rows, frozenset({2, 3}))]


def _op(measure: Measure) -> tuple[str, ...]:
    macs = amount(measure.macs) if measure.macs else "-"
    return measure.name.partition(":OpId_")[0], measure.op or "-", f"{measure.average:.0f}", macs

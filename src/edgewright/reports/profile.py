"""Backends side by side."""

from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_amount
from edgewright.model.profile.measure import BackendProfile, ModelProfile, make_times_table
from edgewright.model.profile.summary import Measure

_SLOWEST = 5


def make_page(profile: ModelProfile) -> list[Block]:
    """The report of `edgewright profile`."""
    ran = [item for item in profile.backends if item.runs]
    blocks: list[Block] = [make_times_table(profile)] if ran else []
    for item in ran:
        blocks += _list_slowest(item)
    blocks += [f"{item.backend}: {item.problem}" for item in profile.backends if item.problem]
    blocks += [f"note: {item.backend}: {note}" for item in ran for note in item.notes]
    if any(not item.name.startswith(("cpu", "gpu")) for item in ran):
        blocks.append("note: htp times are from a simulation or emulation here, not from a device")
    if any("native" in item.name for item in ran):
        blocks.append("note: the emulator runs in a separate process, whose CPU and memory are not counted")
    return blocks


def _list_slowest(item: BackendProfile) -> list[Block]:
    if not item.slowest:
        return []
    rows = tuple(_make_op_row(measure) for measure in item.slowest[:_SLOWEST])
    unit = {"US": "us", "CYCLES": "cycles"}.get(item.slowest[0].unit, item.slowest[0].unit)
    return [Table(f"Slowest ops on {item.name}", ("op", "kind", unit, "MACs"), rows, frozenset({2, 3}))]


def _make_op_row(measure: Measure) -> tuple[str, ...]:
    macs = format_amount(measure.macs) if measure.macs else "-"
    return measure.name.partition(":OpId_")[0], measure.op or "-", f"{measure.average:.0f}", macs

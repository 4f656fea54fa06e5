"""One execution of a profile as spans on a timeline, and its ops by kind."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgewright.artifacts.profile_log.writer import ProfileEvent, ProfileLog
from edgewright.model.profile.summary import Measure, ProfileSummary


@dataclass(frozen=True)
class Span:
    """An op with its start and duration, in the unit of the log."""

    name: str
    op: str
    start: int
    time: int


@dataclass(frozen=True)
class KindOfOp:
    """All ops of one kind in an execution."""

    op: str
    count: int
    time: float
    share: float
    macs: int


def find_typical_run(log: ProfileLog) -> tuple[list[Span], str]:
    """The ops of the run of median length, and the unit; placed end to end if no start times are recorded."""
    ops = [event for event in log.events if event.level != "ROOT" and event.message in {"NODE", "EXECUTE"}]
    if not ops:
        return [], "US"
    unit = ops[0].unit
    runs: dict[int, list[ProfileEvent]] = {}
    runs_by_op: dict[str, int] = {}
    for event in (event for event in ops if event.unit == unit):
        # A backend that does not number its runs reports each op once per run.
        number = event.run if event.run >= 0 else runs_by_op.get(event.identifier, 0)
        runs_by_op[event.identifier] = number + 1
        runs.setdefault(number, []).append(event)
    by_length = sorted(runs.values(), key=lambda run: sum(event.time for event in run))
    return _place_spans(by_length[len(by_length) // 2]), unit


def sum_by_kind(summary: ProfileSummary) -> tuple[KindOfOp, ...]:
    """Kinds of ops, the slowest first."""
    kinds: dict[str, list[Measure]] = {}
    for item in summary.ops:
        kinds.setdefault(item.op or "(unknown)", []).append(item)
    total = sum(item.average for item in summary.ops) or 1.0
    rows = [
        KindOfOp(op, len(items), time, time / total, sum(item.macs for item in items))
        for op, items in kinds.items()
        for time in (sum(item.average for item in items),)
    ]
    return tuple(sorted(rows, key=lambda row: -row.time))


def _place_spans(run: Sequence[ProfileEvent]) -> list[Span]:
    first = min(event.start for event in run)
    if all(event.start == first for event in run):
        offsets = [0]
        for event in run:
            offsets.append(offsets[-1] + event.time)
        starts = offsets[:-1]
    else:
        starts = [event.start - first for event in run]
    return [Span(e.identifier, e.op, start, e.time) for e, start in zip(run, starts, strict=True)]

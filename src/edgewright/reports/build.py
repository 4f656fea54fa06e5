"""What a build gave: the ladder, the verdict, what to do, and where the report is."""

import math

from edgewright.api.building.records import Accuracy, BuildRecord, Finding, Preflight, Rung
from edgewright.reports.conversion import contract_table
from edgewright.reports.numbers import byte_size
from edgewright.reports.page import Block, Table

__all__ = ["page", "preflight_page", "verdict"]

FINDINGS_SHOWN = 5


def page(record: BuildRecord) -> list[Block]:
    """The page of `edgewright build`."""
    blocks: list[Block] = [contract_table(record.contract)]
    blocks += [
        f"warning: {finding.what}" for finding in record.preflight.findings if finding.grade == "warning"
    ]
    blocks += [f"data: {line}" for line in record.data]
    blocks += [f"note: {note}" for note in record.notes]
    blocks += [_ladder(record), _accuracy(record)]
    blocks += [line for finding in record.findings[:FINDINGS_SHOWN] for line in _finding(finding)]
    if len(record.findings) > FINDINGS_SHOWN:
        blocks.append(f"and {len(record.findings) - FINDINGS_SHOWN} findings more in the report")
    blocks += ["", verdict(record)]
    return blocks


def preflight_page(found: Preflight) -> list[Block]:
    """The page of `edgewright build --dry-run`, where nothing stands in the way."""
    blocks: list[Block] = [line for finding in found.findings for line in _finding(finding)]
    blocks.append(
        f"pre-flight: nothing stands in the way ({found.seconds:.1f} s); the build will take about "
        f"{_time(found.expected_seconds)}, {found.expected_memory_mb:.0f} MB of memory and "
        f"{found.expected_disk_mb:.0f} MB of disk"
    )
    return blocks


def verdict(record: BuildRecord) -> str:
    """One sentence: what was built, for which chip, how accurate it is, and whether that is enough."""
    chosen = next(rung for rung in record.ladder if rung.is_chosen)
    lost = f"{chosen.drop:.2f} points lost against the float model"
    told = f"{record.metric.name} {chosen.score:.2f} % on {chosen.samples} samples, {lost}"
    text = f"{record.source.file} is built for {record.target} in {record.chosen}: {told}"
    if record.is_met is None:
        return text
    return f"{text}; the limit of {record.max_drop:g} points is {'met' if record.is_met else 'MISSED'}"


def _ladder(record: BuildRecord) -> Table:
    headers = ("", "precision", record.metric.name, "lost", "SQNR", "weights", "cost", "time")
    rows = tuple(_rung(rung) for rung in record.ladder)
    title = f"Precisions that were tried, on {record.ladder[0].backend} (cost: bits x MACs, w8a8 is 1)"
    return Table(title, headers, rows, frozenset(range(2, 8)))


def _rung(rung: Rung) -> tuple[str, ...]:
    mark = "->" if rung.is_chosen else ""
    met = "" if rung.is_met is None or rung.is_met else " !"
    return (
        mark,
        rung.name,
        f"{rung.score:.2f} %",
        f"{rung.drop:.2f}{met}",
        _decibels(rung.sqnr_db),
        byte_size(rung.weight_bytes),
        f"{rung.cost:.2f}",
        _time(rung.seconds),
    )


def _accuracy(record: BuildRecord) -> Table:
    headers = ("output", "on", "samples", record.metric.name, "95 % interval", "SQNR", "largest difference")
    rows = tuple(_figures(item) for item in record.accuracy)
    return Table("Accuracy on samples held apart", headers, rows, frozenset(range(2, 7)))


def _figures(item: Accuracy) -> tuple[str, ...]:
    score = "-" if item.score is None else f"{item.score:.2f} %"
    interval = "-" if item.low is None else f"{item.low:.1f} to {item.high:.1f} %"
    sqnr = "-" if item.sqnr_db is None else _decibels(item.sqnr_db)
    largest = "-" if item.max_abs is None else f"{item.max_abs:.3g}"
    return item.output, item.backend, str(item.samples), score, interval, sqnr, largest


def _finding(finding: Finding) -> list[str]:
    place = f" ({finding.where})" if finding.where else ""
    lines = [f"{finding.grade}: {finding.what}{place}"]
    return [*lines, *([f"  do: {finding.do}"] if finding.do else [])]


def _decibels(value: float) -> str:
    return "exact" if math.isinf(value) and value > 0 else f"{value:.1f} dB"


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.0f} min"

"""What a build gave: its candidates, the verdict, what to do, and where the report is."""

from edgewright.analyse.records import Finding
from edgewright.build.records import BuildRecord, Candidate, Preflight
from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_bytes
from edgewright.evaluate.records import Accuracy
from edgewright.reports.conversion import make_io_table
from edgewright.reports.html.verdict import make_verdict
from edgewright.reports.html.words import format_db, format_duration


def make_page(record: BuildRecord) -> list[Block]:
    """The page of `edgewright build`; the report says more."""
    verdict = make_verdict(record)
    warnings = [finding.what for finding in record.preflight.findings if finding.grade == "warning"]
    return [
        make_io_table(record.contract),
        *(f"warning: {text}" for text in warnings),
        *(f"data: {line}" for line in record.data),
        *(f"note: {note}" for note in record.notes),
        _make_candidates_table(record),
        *_list_left_out(record),
        _make_accuracy_table(record),
        f"{verdict.word}: {verdict.title}",
        # What is below the verdict there is not on this page.
        *(f"  {sentence.replace(' below ', ' in the report ')}" for sentence in verdict.sentences),
        "",
    ]


def make_preflight_page(preflight: Preflight) -> list[Block]:
    """The page of `edgewright build --dry-run`, where nothing stands in the way."""
    blocks: list[Block] = [line for finding in preflight.findings for line in _describe_finding(finding)]
    warnings = sum(finding.grade == "warning" for finding in preflight.findings)
    way = "nothing stands in the way"
    if warnings:
        said = "1 warning above says" if warnings == 1 else f"{warnings} warnings above say"
        way = f"the build can start; {said} what may fail"
    blocks.append(
        f"pre-flight: {way} ({preflight.seconds:.1f} s); the build will take about "
        f"{format_duration(preflight.expected_seconds)}, {preflight.expected_memory_mb:.0f} MB of memory and "
        f"{preflight.expected_disk_mb:.0f} MB of disk"
    )
    return blocks


def _make_candidates_table(record: BuildRecord) -> Table:
    headers = (
        "",
        "precision",
        record.metric.title,
        "lost",
        "SQNR",
        "weights",
        "cost",
        "on the chip",
        "built in",
    )
    rows = tuple(_make_candidate_row(candidate) for candidate in record.candidates)
    title = f"Precisions that were tried, on {record.candidates[0].backend} (cost: bits x MACs, w8a8 is 1)"
    return Table(title, headers, rows, frozenset(range(2, 9)))


def _list_left_out(record: BuildRecord) -> list[str]:
    """Candidates that were not built, by the reason; what the time was too short for is among the notes."""
    reasons = dict.fromkeys(each.reason for each in record.left_out if not each.is_for_time)
    names = {reason: [each.name for each in record.left_out if each.reason == reason] for reason in reasons}
    return [f"left out: {', '.join(names[reason])} ({reason})" for reason in reasons]


def _make_candidate_row(candidate: Candidate) -> tuple[str, ...]:
    mark = "->" if candidate.is_chosen else ""
    met = "" if candidate.is_met is None or candidate.is_met else " !"
    return (
        mark,
        candidate.name,
        f"{candidate.score:.2f} %",
        f"{candidate.drop:.2f}{met}",
        format_db(candidate.sqnr_db),
        format_bytes(candidate.weight_bytes),
        f"{candidate.cost:.2f}",
        "" if candidate.time is None else str(candidate.time),
        format_duration(candidate.seconds),
    )


def _make_accuracy_table(record: BuildRecord) -> Table:
    headers = ("output", "on", "samples", record.metric.title, "95 % interval", "SQNR", "largest difference")
    rows = tuple(_make_accuracy_row(item) for item in record.accuracy)
    return Table("Accuracy on held-out samples", headers, rows, frozenset(range(2, 7)))


def _make_accuracy_row(item: Accuracy) -> tuple[str, ...]:
    score = "-" if item.score is None else f"{item.score:.2f} %"
    interval = "-" if item.low is None else f"{item.low:.2f} to {item.high:.2f} %"
    sqnr = "-" if item.sqnr_db is None else format_db(item.sqnr_db)
    largest = "-" if item.max_abs is None else f"{item.max_abs:.3g}"
    return item.output, item.backend, str(item.samples), score, interval, sqnr, largest


def _describe_finding(finding: Finding) -> list[str]:
    place = f" ({finding.where})" if finding.where else ""
    lines = [f"{finding.grade}: {finding.what}{place}"]
    return [*lines, *([f"  do: {finding.do}"] if finding.do else [])]

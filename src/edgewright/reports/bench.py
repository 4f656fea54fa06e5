"""The results of a benchmark as text."""

from edgewright.core.page import Block, Table
from edgewright.sdk.bench import BenchReport

MOST_SHOWN = 12


def make_page(report: BenchReport) -> list[Block]:
    """The report of qnn_bench.py; the files have every line."""
    blocks: list[Block] = []
    headers = ("", "unit", "avg", "max", "min", "stddev")
    for result in report.results:
        rows = tuple(
            (m.name, m.unit, f"{m.average:.1f}", f"{m.most:.1f}", f"{m.least:.1f}", f"{m.deviation:.1f}")
            for m in result.measures[:MOST_SHOWN]
        )
        title = f"{result.backend}: {result.runs_on}, {result.runs} runs, {result.executions} executions"
        blocks.append(Table(title, headers, rows, frozenset({2, 3, 4, 5})))
    blocks += [f"note: {note}" for note in report.notes]
    return [*blocks, *(f"wrote {file}" for file in report.files)]

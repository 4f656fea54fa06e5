"""All builds of a sweep: as text, and as one HTML file that needs nothing else."""

from collections.abc import Iterable
from dataclasses import asdict

from edgewright.build.sweep_records import BUILT, SweepRecord, SweepRow
from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_bytes
from edgewright.reports.html.page import make_environment
from edgewright.reports.html.words import format_duration


def make_page(record: SweepRecord) -> list[Block]:
    """The page of `edgewright sweep` in a terminal."""
    headers = ("", "model", "chip", "precision", "became", "verdict", "lost", "weights", "cost", "time")
    rows = tuple(_make_cells(row) for row in record.rows if row.status == BUILT)
    blocks: list[Block] = []
    if rows:
        title = "Builds (* where none of the same model and chip is as small, as close and as cheap)"
        blocks.append(Table(title, headers, rows, frozenset({6, 7, 8, 9})))
    blocks += [line for lines in _describe_failures(record) for line in lines]
    reused = sum(row.is_reused for row in record.rows)
    known = f", {reused} of them known before" if reused else ""
    blocks.append(
        f"{len(record.rows) - len(record.failed)} of {len(record.rows)} built{known}, "
        f"in {format_duration(record.seconds)}"
    )
    return blocks


def render_sweep(record: SweepRecord) -> Iterable[bytes]:
    """The HTML file: all rows, a plot of any two figures with the best ones, and filters."""
    template = make_environment().get_template("sweep.html.jinja")
    yield template.render(record=record, rows=[asdict(row) for row in record.rows]).encode("utf-8", "replace")


def _describe_failures(record: SweepRecord) -> list[list[str]]:
    """Each error of a model once, however many of its builds have it."""
    rows: dict[tuple[str, str], list[SweepRow]] = {}
    for row in record.failed:
        rows.setdefault((row.model, row.error), []).append(row)
    lines = []
    for (model, error), same in rows.items():
        which = same[0].name if len(same) == 1 else f"{model}, {len(same)} builds"
        advice = [f"  do: {same[0].do}"] if same[0].do else []
        lines.append([f"failed: {which}: {same[0].error_code}: {error}", *advice])
    return lines


def _make_cells(row: SweepRow) -> tuple[str, ...]:
    lost = "-" if row.lost is None else f"{row.lost:.2f}"
    weights = "-" if row.weight_bytes is None else format_bytes(row.weight_bytes)
    cost = "-" if row.cost is None else f"{row.cost:.2f}"
    became = row.chosen + (" (cut short)" if row.is_cut_short else "")
    mark = "*" if row.is_best else ""
    took = "known" if row.is_reused else format_duration(row.seconds or 0.0)
    return mark, row.model, row.target, row.precision, became, row.verdict, lost, weights, cost, took

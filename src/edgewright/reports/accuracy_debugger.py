"""What the accuracy debugger shows: tables in the terminal, and pages beside its CSV files."""

import html
from collections.abc import Sequence
from pathlib import Path

from edgewright.core.files import write_whole
from edgewright.core.page import Block, Table, format_html
from edgewright.lower.names import NameTable
from edgewright.sdk.debugger.compare_encodings import ComparedEncoding, EncodingsComparison
from edgewright.sdk.debugger.layer_scores import Snooping, list_rows
from edgewright.sdk.debugger.summary import Verification, list_tensor_figures
from edgewright.sdk.debugger.tensor_inspection import Inspection
from edgewright.sdk.debugger.wrapper import Debugging

ROWS_SHOWN = 40
_STYLE = (
    "body{font:14px system-ui,sans-serif;margin:2rem;color-scheme:light dark}"
    "table{border-collapse:collapse}caption{text-align:left;font-weight:600;padding:.4rem 0}"
    "td,th{padding:.2rem .6rem;border-bottom:1px solid #8884}"
)


def make_verification_page(result: Verification) -> list[Block]:
    """The first rows of the summary, and where the rest is."""
    rows = result.rows()
    more = [f"and {len(rows) - ROWS_SHOWN} more in summary.csv"] if len(rows) > ROWS_SHOWN else []
    return [
        _make_table("Verification", result.headers(), rows[:ROWS_SHOWN]),
        *more,
        result.first_divergence,
        f"wrote {result.folder}",
    ]


def write_verification_pages(result: Verification) -> None:
    """summary.html, and a page for each tensor in the folder of each verifier."""
    folder = Path(result.folder)
    summary: list[Block] = [
        result.first_divergence,
        _make_table("Verification", result.headers(), result.rows()),
    ]
    write_whole(folder / "summary.html", [make_document("Verification", summary)])
    name_file = NameTable()
    for verdict in result.tensors:
        file = name_file(verdict.name)
        for verifier in result.verifiers:
            if verifier.column in verdict.scores:
                figures = list_tensor_figures(verdict, verifier)
                table = Table(verdict.name, ("", ""), tuple(figures.items()))
                write_whole(folder / verifier.column / f"{file}.html", [make_document(verdict.name, [table])])


def make_encodings_page(result: EncodingsComparison) -> list[Block]:
    """The tensors that differ, and counts."""
    rows = tuple(
        (row.name, "-" if row.channel is None else str(row.channel), ", ".join(_spell_mismatches(row)))
        for row in result.rows
        if row.wrong
    )
    tensors = len({row.name for row in result.rows})
    blocks: list[Block] = []
    if rows:
        blocks.append(
            Table("Encodings that differ", ("tensor", "channel", "QNN against AIMET"), rows[:ROWS_SHOWN])
        )
    single = f"{len(result.only_own)} are in QNN only, {len(result.only_other)} in AIMET only"
    counted = f"{len(result.mismatches)} of {tensors} tensors differ; {single}"
    return [*blocks, counted, f"wrote {result.folder}"]


def _spell_mismatches(row: ComparedEncoding) -> list[str]:
    return [f"{name} {row.own[name]} against {row.other[name]}" for name in row.wrong]


def make_inspection_page(result: Inspection) -> list[Block]:
    """The summary."""
    headers, *rows = result.rows
    table = Table("Tensors", headers, tuple(rows[:ROWS_SHOWN]), frozenset(range(1, len(headers))))
    return [table, f"wrote {result.folder}"]


def make_debugging_page(result: Debugging) -> list[Block]:
    """What the wrapper found."""
    blocks: list[Block] = [result.first_divergence] if result.odd else []
    if result.verification is not None:
        blocks += make_verification_page(result.verification)
    if result.snooping is not None:
        blocks += _make_snooping_page(result.snooping)
    return [*blocks, f"golden tensors: {result.golden}", f"log: {result.folder}"]


def _make_snooping_page(result: Snooping) -> list[Block]:
    headers, *rows = list_rows(result)
    more = [f"and {len(rows) - ROWS_SHOWN} more in {result.algorithm}.csv"] if len(rows) > ROWS_SHOWN else []
    return [
        Table("Layers with golden inputs", tuple(headers), tuple(map(tuple, rows[:ROWS_SHOWN]))),
        *more,
        *filter(None, [result.note]),
        f"{result.partitions} of {len(result.layers)} layers differ; {_spell_cost(result)}",
        result.first_divergence,
        f"wrote {result.folder}",
    ]


def _spell_cost(result: Snooping) -> str:
    if not result.passes:
        return "a model was made for each layer"
    if result.algorithm == "layerwise":
        return "all of them were run in one pass"
    return f"one pass, and {result.suffixes} runs from a layer on, {result.passes:.1f} passes in all"


def make_document(title: str, blocks: Sequence[Block], drawn: str = "") -> bytes:
    """A page that needs nothing else; ``drawn`` is HTML that stands below the blocks."""
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    body = f"<head>{head}</head>\n<body>{format_html(blocks)}{drawn}</body>"
    return f'<!doctype html>\n<html lang="en">{body}</html>\n'.encode()


def _make_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table(title, tuple(headers), tuple(map(tuple, rows)), frozenset({2, *range(4, len(headers))}))

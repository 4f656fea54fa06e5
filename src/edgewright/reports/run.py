"""The results of a run: a line for each output, and how far it is from the reference."""

import math

from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_shape
from edgewright.run.run_files import RunReport


def make_page(report: RunReport) -> list[Block]:
    """The report of `edgewright run`."""
    rows = tuple(
        (o.name, o.dtype, format_shape(o.shape), f"{o.least:.6g}", f"{o.most:.6g}", f"{o.mean:.6g}")
        for o in report.outputs
    )
    headers = ("name", "type", "shape", "least", "most", "mean")
    times = f"{report.runs} run{'s' * (report.runs != 1)} in {report.seconds:.3f} s on {report.backend}"
    blocks: list[Block] = [Table("Outputs", headers, rows, frozenset({3, 4, 5})), times]
    blocks += [f"note: {note}" for note in report.notes]
    if report.folder:
        blocks.append(f"wrote {report.folder}")
    if report.reference:
        blocks += _describe_comparison(report)
    return blocks


def _describe_comparison(report: RunReport) -> list[Block]:
    rows = tuple(
        (
            e.tensor,
            f"{e.max_abs:.3g}",
            f"{e.share:.3g}",
            "exact" if math.isinf(e.sqnr_db) and e.is_close else f"{e.sqnr_db:.1f} dB",
            "yes" if e.is_close else "NO",
        )
        for e in report.errors
    )
    headers = ("name", "largest difference", "share of range", "SQNR", f"within {report.tolerance:g}")
    return [Table(f"Compared with {report.reference}", headers, rows, frozenset({1, 2, 3}))]

"""What quantizing a file gave: contract, rules, sizes, and how far it is from the float model."""

import math

from edgewright.analyse.compare_models import OutputDifference
from edgewright.reports.conversion import make_io_table, make_rules_table
from edgewright.reports.numbers import format_bytes
from edgewright.reports.page import Block, Table
from edgewright.sdk.quantize_files import QuantizedFiles


def make_page(result: QuantizedFiles) -> list[Block]:
    """The report of `edgewright quantize`."""
    blocks: list[Block] = [make_io_table(result.contract), result.coverage]
    if result.rules:
        blocks.append(make_rules_table(result.rules))
    blocks += [f"note: {note}" for note in result.notes]
    if result.differences:
        blocks.append(_make_differences_table(result))
    smaller = result.weights_before / max(result.weights_after, 1)
    blocks.append(
        f"weights: {format_bytes(result.weights_before)} before, {format_bytes(result.weights_after)} now, "
        f"{smaller:.1f} times smaller"
    )
    blocks += [f"wrote {path}" for path in result.files.paths]
    blocks.append(f"{format_bytes(result.bytes_written)} written, {result.seconds:.1f} s")
    return blocks


def _make_differences_table(result: QuantizedFiles) -> Table:
    samples = result.differences[0].samples
    where = "htp (simulation)" if result.backend == "htp-sim" else result.backend
    title = f"{result.precision} on {where} against the float model, {samples} samples"
    headers = ("output", "SQNR", "cosine", "KL", "largest difference", "same top-1", "95 % interval")
    rows = tuple(_make_row(item) for item in result.differences)
    return Table(title, headers, rows, frozenset(range(1, 7)))


def _make_row(item: OutputDifference) -> tuple[str, ...]:
    sqnr = "exact" if math.isinf(item.sqnr_db) else f"{item.sqnr_db:.1f} dB"
    kl = "-" if item.kl is None else f"{item.kl:.3g}"
    top1, interval = "-", "-"
    if item.top1 is not None:
        top1 = f"{100 * item.top1.share:.1f} %"
        interval = f"{100 * item.top1.low:.1f} to {100 * item.top1.high:.1f} %"
    return item.output, sqnr, f"{item.cosine:.6f}", kl, f"{item.max_abs:.3g}", top1, interval

"""What quantizing a file gave: contract, rules, sizes, and how far it is from the float model."""

import math

from edgewright.analyse.compare_models import OutputDifference
from edgewright.reports.conversion import make_io_table, make_rules_table
from edgewright.reports.numbers import format_bytes
from edgewright.reports.page import Block, Table
from edgewright.sdk.quantize_files import QuantizedFiles

__all__ = ["page"]


def page(done: QuantizedFiles) -> list[Block]:
    """The report of `edgewright quantize`."""
    blocks: list[Block] = [make_io_table(done.contract), done.coverage]
    if done.rules:
        blocks.append(make_rules_table(done.rules))
    blocks += [f"note: {note}" for note in done.notes]
    if done.differences:
        blocks.append(_differences(done))
    smaller = done.weights_before / max(done.weights_after, 1)
    blocks.append(
        f"weights: {format_bytes(done.weights_before)} before, {format_bytes(done.weights_after)} now, "
        f"{smaller:.1f} times smaller"
    )
    blocks += [f"wrote {path}" for path in done.files.paths]
    blocks.append(f"{format_bytes(done.bytes_written)} written, {done.seconds:.1f} s")
    return blocks


def _differences(done: QuantizedFiles) -> Table:
    samples = done.differences[0].samples
    where = "htp (simulation)" if done.backend == "htp-sim" else done.backend
    title = f"{done.precision} on {where} against the float model, {samples} samples"
    headers = ("output", "SQNR", "cosine", "KL", "largest difference", "same top-1", "95 % interval")
    rows = tuple(_row(item) for item in done.differences)
    return Table(title, headers, rows, frozenset(range(1, 7)))


def _row(item: OutputDifference) -> tuple[str, ...]:
    sqnr = "exact" if math.isinf(item.sqnr_db) else f"{item.sqnr_db:.1f} dB"
    kl = "-" if item.kl is None else f"{item.kl:.3g}"
    top1, interval = "-", "-"
    if item.top1 is not None:
        top1 = f"{100 * item.top1.share:.1f} %"
        interval = f"{100 * item.top1.low:.1f} to {100 * item.top1.high:.1f} %"
    return item.output, sqnr, f"{item.cosine:.6f}", kl, f"{item.max_abs:.3g}", top1, interval

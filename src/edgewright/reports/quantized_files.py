"""What quantizing a file gave: contract, rules, sizes, and how far it is from the float model."""

from edgewright.analyse.compare_models import make_differences_table
from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_bytes
from edgewright.reports.conversion import make_io_table, make_rules_table
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
    return make_differences_table(title, result.differences)

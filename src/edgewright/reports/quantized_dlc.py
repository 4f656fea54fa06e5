"""What a quantizer wrote: the I/O contract, where encodings came from, which rules were applied."""

from edgewright.reports.conversion import make_io_table, make_rules_table
from edgewright.reports.numbers import format_bytes
from edgewright.reports.page import Block
from edgewright.sdk.qairt_quantizer import QuantizedDlc

__all__ = ["page"]


def page(found: QuantizedDlc) -> list[Block]:
    """The report of qairt-quantizer."""
    blocks: list[Block] = [make_io_table(found.contract), found.coverage]
    if found.rules:
        blocks.append(make_rules_table(found.rules))
    if found.converts:
        blocks.append(f"{found.converts} conversions between precisions were put in")
    blocks += [f"note: {note}" for note in found.notes]
    blocks += [f"wrote {path}" for path in found.files.paths]
    blocks.append(f"{format_bytes(found.bytes_before)} before, {format_bytes(found.bytes_after)} now")
    return blocks

"""What a quantizer wrote: the I/O contract, where encodings came from, which rules were applied."""

from edgewright.core.page import Block
from edgewright.core.quantities import format_bytes
from edgewright.quantize.report import QuantizationSummary
from edgewright.reports.conversion import describe_quantization, make_io_table
from edgewright.sdk.qairt_quantizer import QuantizedDlc


def make_page(result: QuantizedDlc) -> list[Block]:
    """The report of qairt-quantizer."""
    return [
        make_io_table(result.contract),
        *describe_quantization(
            QuantizationSummary(result.coverage, result.rules, result.converts, result.notes)
        ),
        *(f"wrote {path}" for path in result.files.paths),
        f"{format_bytes(result.bytes_before)} before, {format_bytes(result.bytes_after)} now",
    ]

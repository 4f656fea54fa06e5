"""What a conversion wrote: the I/O contract, the files, what changed."""

from collections.abc import Sequence

from edgewright.api.contract import IoTensor
from edgewright.api.converter import Conversion
from edgewright.reports.numbers import amount, dims
from edgewright.reports.page import Block, Table

__all__ = ["contract_table", "page"]


def page(conversion: Conversion) -> list[Block]:
    """The report of a converter."""
    files = conversion.files
    return [
        contract_table(conversion.contract),
        f"{conversion.ops} ops, {amount(conversion.parameters)} parameters, {amount(conversion.macs)} MACs",
        *(f"note: {note}" for note in conversion.notes),
        *(f"wrote {path}" for path in files.paths),
    ]


def contract_table(tensors: Sequence[IoTensor]) -> Table:
    """Inputs and outputs, beside the source's shape and type where there is a source."""
    has_source = any(tensor.source_dtype for tensor in tensors)
    headers = ("", "name", "type", "shape", "layout", *(("in the source",) if has_source else ()))
    rows = [
        (
            tensor.role,
            tensor.name,
            tensor.dtype,
            dims(tensor.shape),
            tensor.layout or "-",
            *((f"{tensor.source_dtype} {dims(tensor.source_shape)}",) if has_source else ()),
        )
        for tensor in tensors
    ]
    return Table("Inputs and outputs", headers, tuple(rows))

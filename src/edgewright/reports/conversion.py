"""What a conversion wrote: the I/O contract, the files, what changed."""

from collections.abc import Sequence

from edgewright.ir.contract import IoTensor
from edgewright.model.quantizing import AppliedRule
from edgewright.reports.numbers import amount, dims
from edgewright.reports.page import Block, Table
from edgewright.sdk.conversion import Conversion
from edgewright.sdk.converter_quantizer import Quantization

__all__ = ["contract_table", "page", "rules_table"]


def page(conversion: Conversion) -> list[Block]:
    """The report of a converter."""
    files = conversion.files
    return [
        contract_table(conversion.contract),
        f"{conversion.ops} ops, {amount(conversion.parameters)} parameters, {amount(conversion.macs)} MACs",
        *([] if conversion.quantization is None else _quantization(conversion.quantization)),
        *(f"note: {note}" for note in conversion.notes),
        *(f"wrote {path}" for path in files.paths),
    ]


def rules_table(rules: Sequence[AppliedRule]) -> Table:
    """The rules that a quantizer followed."""
    rows = tuple((rule.name, str(rule.count), rule.text) for rule in rules)
    return Table("Rules applied", ("rule", "times", "what it asks for"), rows, frozenset({1}))


def _quantization(done: Quantization) -> list[Block]:
    return [
        done.coverage,
        *([rules_table(done.rules)] if done.rules else []),
        *([f"{done.converts} conversions between precisions were put in"] if done.converts else []),
        *(f"note: {note}" for note in done.notes),
    ]


def contract_table(tensors: Sequence[IoTensor]) -> Table:
    """Inputs and outputs, beside the source's shape and type where there is a source."""
    has_source = any(tensor.source_dtype for tensor in tensors)
    has_scales = any(tensor.scale is not None for tensor in tensors)
    headers = ("", "name", "type", "shape", "layout", *(("in the source",) if has_source else ()))
    headers += ("scale", "offset") if has_scales else ()
    rows = [
        (
            tensor.role,
            tensor.name,
            tensor.dtype,
            dims(tensor.shape),
            tensor.layout or "-",
            *((f"{tensor.source_dtype} {dims(tensor.source_shape)}",) if has_source else ()),
            *((_number(tensor.scale), _number(tensor.offset)) if has_scales else ()),
        )
        for tensor in tensors
    ]
    return Table("Inputs and outputs", headers, tuple(rows))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"

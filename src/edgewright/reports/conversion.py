"""What a conversion wrote: the I/O contract, the files, what changed."""

from collections.abc import Sequence

from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_amount, format_shape
from edgewright.ir.contract import IoTensor
from edgewright.quantize.report import AppliedRule, QuantizationSummary
from edgewright.sdk.conversion import Conversion


def make_page(conversion: Conversion) -> list[Block]:
    """The report of a converter."""
    files = conversion.files
    return [
        make_io_table(conversion.contract),
        (
            f"{conversion.ops} ops, {format_amount(conversion.parameters)} parameters, "
            f"{format_amount(conversion.macs)} MACs"
        ),
        *([] if conversion.quantization is None else describe_quantization(conversion.quantization)),
        *(f"note: {note}" for note in conversion.notes),
        *(f"wrote {path}" for path in files.paths),
    ]


def make_rules_table(rules: Sequence[AppliedRule]) -> Table:
    """The rules that a quantizer followed."""
    rows = tuple((rule.name, str(rule.count), rule.text) for rule in rules)
    return Table("Rules applied", ("rule", "times", "what it requires"), rows, frozenset({1}))


def describe_quantization(quantization: QuantizationSummary) -> list[Block]:
    return [
        quantization.coverage,
        *([make_rules_table(quantization.rules)] if quantization.rules else []),
        *(
            [f"{quantization.converts} conversions between precisions were inserted"]
            if quantization.converts
            else []
        ),
        *(f"note: {note}" for note in quantization.notes),
    ]


def make_io_table(tensors: Sequence[IoTensor]) -> Table:
    """Inputs and outputs, with the source's shape and type if there is a source."""
    has_source = any(tensor.source_dtype for tensor in tensors)
    has_scales = any(tensor.scale is not None for tensor in tensors)
    headers = ("", "name", "type", "shape", "layout", *(("in the source",) if has_source else ()))
    headers += ("scale", "offset") if has_scales else ()
    rows = [
        (
            tensor.role,
            tensor.name,
            tensor.dtype,
            format_shape(tensor.shape),
            tensor.layout or "-",
            *((_describe_source(tensor),) if has_source else ()),
            *((_number(tensor.scale), _number(tensor.offset)) if has_scales else ()),
        )
        for tensor in tensors
    ]
    return Table("Inputs and outputs", headers, tuple(rows))


def _describe_source(tensor: IoTensor) -> str:
    words = (tensor.source_name, tensor.source_dtype, format_shape(tensor.source_shape))
    return " ".join(word for word in words if word)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"

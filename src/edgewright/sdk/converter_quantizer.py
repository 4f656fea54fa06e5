"""The quantizer inside the legacy converters: their options, and the ends of the graph it leaves behind."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from edgewright.backends.executor import CpuExecutor
from edgewright.config.converter import Output
from edgewright.config.quantizer import Quantizer
from edgewright.data.open_samples import open_samples
from edgewright.ir.graph import Graph
from edgewright.model.quantizing import AppliedRule, Wishes, applied_rules, quantized
from edgewright.passes.target.float_io import float_input, float_output
from edgewright.quantize.tensor_encodings import TensorEncoding

__all__ = ["Known", "Quantization", "quantize_converted"]


@dataclass(frozen=True)
class Quantization:
    """What the quantizer did: where encodings came from, which rules it followed, what else is to know."""

    coverage: str
    rules: tuple[AppliedRule, ...]
    converts: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """What is known before: the source's own encodings, its names, and ends that stay real numbers."""

    encodings: Sequence[TensorEncoding]
    tensors: Collection[str]
    float_ends: Collection[str]


def quantize_converted(
    graph: Graph, quantizer: Quantizer, output: Output, known: Known, *, is_native: bool
) -> tuple[Graph, Quantization]:
    """The graph in fixed point; raw files hold its own datatypes where they are native, else float32."""
    wishes, samples = _wishes(quantizer, output), None
    if quantizer.input_list is not None:
        samples = open_samples(graph, quantizer.input_list, passes=wishes.passes, is_native=is_native)
    result = quantized(graph, wishes, samples, CpuExecutor(), brought=known.encodings, known=known.tensors)
    for name in known.float_ends:
        (float_input if name in result.graph.inputs else float_output)(result.graph, name)
    report = result.report
    is_float = not any(record.placed.encoding for record in report.tensors)
    notes = (*_notes(quantizer, is_float=is_float), *report.notes)
    return result.graph, Quantization(report.coverage(), applied_rules(report), report.converts, notes)


def _wishes(quantizer: Quantizer, output: Output) -> Wishes:
    return Wishes(
        act_bw=quantizer.act_bw,
        weight_bw=quantizer.weight_bw,
        bias_bw=quantizer.bias_bw,
        float_bw=output.float_bw,
        float_bias_bw=output.float_bias_bw or 0,
        act_quantizer=quantizer.act_quantizer,
        param_quantizer=quantizer.param_quantizer,
        per_channel=quantizer.use_per_channel_quantization,
        per_row=quantizer.use_per_row_quantization,
        steps=quantizer.restrict_quantization_steps,
        algorithms=quantizer.algorithms,
        overrides=quantizer.quantization_overrides,
    )


def _notes(quantizer: Quantizer, *, is_float: bool) -> list[str]:
    found = []
    if quantizer.input_list is None and not quantizer.float_fallback:
        found.append(
            "--quantization_overrides without --input_list counts as --float_fallback: "
            "what the file does not cover stays in floating point"
        )
    if is_float:
        found.append("there are no encodings: everything stays in floating point")
    return found

"""The quantizer inside the legacy converters."""

from collections.abc import Collection, Iterator

from edgewright.artifacts.encodings import load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.config.converter import Output
from edgewright.config.quantizer import Quantizer
from edgewright.data.open_samples import open_samples
from edgewright.ir.graph import Graph
from edgewright.passes.target.float_io import make_io_float
from edgewright.quantize.overrides import KnownEncodings
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.report import QuantizationSummary
from edgewright.quantize.request import QuantizationRequest


def quantize_converted(
    graph: Graph,
    quantizer: Quantizer,
    output: Output,
    known: KnownEncodings,
    float_io: Collection[str],
    *,
    is_native: bool,
) -> tuple[Graph, QuantizationSummary]:
    """The graph in fixed point.

    Args:
        graph: the converted graph.
        quantizer: what is asked for.
        output: the width of what stays in floating point.
        known: encodings of the source and of its inputs and outputs.
        float_io: inputs and outputs that stay real numbers.
        is_native: raw files hold the data types of the graph, else float32.
    """
    overrides = load_encodings(quantizer.quantization_overrides)
    request = QuantizationRequest.from_options(quantizer, output, overrides=overrides)
    data = quantizer.input_list
    samples = None if data is None else open_samples(graph, data, is_native=is_native)
    result = quantize_graph(graph, request, samples, CpuExecutor(), known)
    make_io_float(result.graph, float_io)
    report = result.report
    return result.graph, report.summarize(*_list_notes(quantizer, is_float=report.is_all_float))


def _list_notes(quantizer: Quantizer, *, is_float: bool) -> Iterator[str]:
    if quantizer.input_list is None and not quantizer.float_fallback:
        yield (
            "--quantization_overrides without --input_list counts as --float_fallback: "
            "what the file does not cover stays in floating point"
        )
    if is_float:
        yield "there are no encodings: everything stays in floating point"

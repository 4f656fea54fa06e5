"""Context binaries as text: what was made, what one contains, whether it suits a chip."""

from edgewright.backends.qnn.info import GraphInfo
from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_bytes, format_shape
from edgewright.lower.qnn_graph import QnnTensor
from edgewright.run.context.check import ContextVerdict
from edgewright.run.context.document import find_chip
from edgewright.run.context.ep_context import EpContextFile
from edgewright.run.context.info import ContextInfo
from edgewright.sdk.context_generate import GeneratedContext


def make_generated_page(made: GeneratedContext) -> list[Block]:
    """The report of qnn-context-binary-generator."""
    target = f", target {made.target}" if made.target else ""
    blocks: list[Block] = [f"backend {made.backend}{target}", f"graphs: {', '.join(made.graphs)}"]
    blocks += [f"note: {note}" for note in made.notes]
    blocks += [f"wrote {file}" for file in made.files]
    return [*blocks, f"{format_bytes(made.bytes)}, {made.seconds:.2f} s"]


def make_info_page(info: ContextInfo) -> list[Block]:
    """The report of qnn-context-binary-utility."""
    binary = info.binary
    chip = find_chip(binary.soc_model)
    blocks: list[Block] = [
        f"{info.file}: a valid context binary, {format_bytes(info.bytes)}",
        f"backend {info.backend}, made by {binary.build_id or 'an unnamed version'}",
        f"target {chip if chip is not None else binary.soc_model or 'none'}"
        + (f", architecture v{binary.dsp_arch}" if binary.dsp_arch else ""),
    ]
    for graph in binary.graphs:
        blocks += [_make_tensor_table(graph), *_describe_compilation(graph)]
    return blocks


def make_verdict_page(verdict: ContextVerdict) -> list[Block]:
    """The report of `edgewright check`: yes or no, then why."""
    blocks: list[Block] = [f"{'yes' if verdict.is_fit else 'no'}: {verdict.file} on {verdict.target}"]
    blocks.append(f"  made for {verdict.made_for} by {verdict.made_by}")
    blocks += [f"  because {reason}" for reason in verdict.reasons]
    blocks += [f"  note: {note}" for note in verdict.notes]
    return blocks + ([f"  do: {verdict.do}"] if verdict.do else [])


def make_ep_context_page(file: EpContextFile) -> list[Block]:
    """The report of `edgewright export-ep-context`."""
    place = "inside it" if file.is_embedded else f"beside it as {file.binary}"
    return [
        f"wrote {file.file}: graph {file.graph}, the binary of QNN {file.made_by} {place}",
        f"inputs: {', '.join(file.inputs)}",
        f"outputs: {', '.join(file.outputs)}",
    ]


def _make_tensor_table(graph: GraphInfo) -> Table:
    rows = [("in", *_make_row(tensor)) for tensor in graph.inputs]
    rows += [("out", *_make_row(tensor)) for tensor in graph.outputs]
    return Table(f"Graph {graph.name}", ("", "name", "type", "shape", "encoding"), tuple(rows))


def _make_row(tensor: QnnTensor) -> tuple[str, str, str, str]:
    encoding = tensor.encoding
    text = "-"
    if encoding is not None:
        text = f"scale {encoding.scales[0]:.6g}, offset {encoding.offsets[0]}"
        text = text if encoding.axis is None else f"{len(encoding.scales)} along axis {encoding.axis}"
    return tensor.name, tensor.dtype.name.lower(), format_shape(tensor.dims), text


def _describe_compilation(graph: GraphInfo) -> list[str]:
    parts = []
    if graph.vtcm_bytes is not None:
        parts.append(f"VTCM {graph.vtcm_bytes >> 20} MB")
    if graph.spill_fill_bytes is not None:
        parts.append(f"spill-fill {format_bytes(graph.spill_fill_bytes)}")
    if graph.optimization_level is not None:
        parts.append(f"optimization level {graph.optimization_level}")
    if graph.hvx_threads is not None:
        parts.append(f"{graph.hvx_threads} HVX threads")
    return [", ".join(parts)] if parts else []

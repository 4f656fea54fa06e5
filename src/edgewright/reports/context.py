"""Context binaries for readers: what was made, what one holds, whether it is for a chip."""

from edgewright.backends.qnn.info import GraphInfo
from edgewright.lower.qnn_graph import QnnTensor
from edgewright.reports.numbers import byte_size, dims
from edgewright.reports.page import Block, Table
from edgewright.run.context.check import ContextVerdict
from edgewright.run.context.document import find_chip
from edgewright.run.context.ep_context import EpContextFile
from edgewright.run.context.info import ContextInfo
from edgewright.sdk.context_generate import GeneratedContext

__all__ = ["ep_context_page", "generated_page", "info_page", "verdict_page"]


def generated_page(made: GeneratedContext) -> list[Block]:
    """The report of qnn-context-binary-generator."""
    target = f", target {made.target}" if made.target else ""
    blocks: list[Block] = [f"backend {made.backend}{target}", f"graphs: {', '.join(made.graphs)}"]
    blocks += [f"note: {note}" for note in made.notes]
    blocks += [f"wrote {file}" for file in made.files]
    return [*blocks, f"{byte_size(made.bytes)}, {made.seconds:.2f} s"]


def info_page(info: ContextInfo) -> list[Block]:
    """The report of qnn-context-binary-utility."""
    binary = info.binary
    chip = find_chip(binary.soc_model)
    blocks: list[Block] = [
        f"{info.file}: a valid context binary, {byte_size(info.bytes)}",
        f"backend {info.backend}, made by {binary.build_id or 'an unnamed version'}",
        f"target {chip if chip is not None else binary.soc_model or 'none'}"
        + (f", architecture v{binary.dsp_arch}" if binary.dsp_arch else ""),
    ]
    for graph in binary.graphs:
        blocks += [_tensors(graph), *_compiled(graph)]
    return blocks


def verdict_page(found: ContextVerdict) -> list[Block]:
    """The report of `edgewright check`: yes or no, then why."""
    blocks: list[Block] = [f"{'yes' if found.is_fit else 'no'}: {found.file} on {found.target}"]
    blocks.append(f"  made for {found.made_for} by {found.made_by}")
    blocks += [f"  because {reason}" for reason in found.reasons]
    blocks += [f"  note: {note}" for note in found.notes]
    return blocks + ([f"  do: {found.do}"] if found.do else [])


def ep_context_page(done: EpContextFile) -> list[Block]:
    """The report of `edgewright export-ep-context`."""
    place = "inside it" if done.is_embedded else f"beside it as {done.binary}"
    return [
        f"wrote {done.file}: graph {done.graph}, the binary of QNN {done.made_by} {place}",
        f"inputs: {', '.join(done.inputs)}",
        f"outputs: {', '.join(done.outputs)}",
    ]


def _tensors(graph: GraphInfo) -> Table:
    rows = [("in", *_row(tensor)) for tensor in graph.inputs]
    rows += [("out", *_row(tensor)) for tensor in graph.outputs]
    return Table(f"Graph {graph.name}", ("", "name", "type", "shape", "encoding"), tuple(rows))


def _row(tensor: QnnTensor) -> tuple[str, str, str, str]:
    encoding = tensor.encoding
    text = "-"
    if encoding is not None:
        text = f"scale {encoding.scales[0]:.6g}, offset {encoding.offsets[0]}"
        text = text if encoding.axis is None else f"{len(encoding.scales)} along axis {encoding.axis}"
    return tensor.name, tensor.dtype.name.lower(), dims(tensor.dims), text


def _compiled(graph: GraphInfo) -> list[str]:
    parts = []
    if graph.vtcm_bytes is not None:
        parts.append(f"VTCM {graph.vtcm_bytes >> 20} MB")
    if graph.spill_fill_bytes is not None:
        parts.append(f"spill-fill {byte_size(graph.spill_fill_bytes)}")
    if graph.optimization_level is not None:
        parts.append(f"optimization level {graph.optimization_level}")
    if graph.hvx_threads is not None:
        parts.append(f"{graph.hvx_threads} HVX threads")
    return [", ".join(parts)] if parts else []

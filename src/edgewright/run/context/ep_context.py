"""Wraps a context binary in an ONNX file with an EPContext node, which ONNX Runtime's QNN provider runs."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import helper

from edgewright.backends.qnn.info import GraphInfo
from edgewright.config.context import EpContext
from edgewright.core.errors import LimitExceeded, UnsupportedFeature, UsageError, Where, shown
from edgewright.core.files import Chunks, keep_sources, map_file, write_all
from edgewright.core.words import did_you_mean
from edgewright.ir.types import TensorType
from edgewright.lower.qnn_graph import QnnTensor
from edgewright.run.context.ep_context_io import IoConversions
from edgewright.run.context.info import ContextInfo, read_binary, read_context_info

# The first opset whose QuantizeLinear supports 16 bits.
_OPSET = 21
_IR_VERSION = 10
_DOMAIN = "com.microsoft"
_HTP = "htp-native"
# Protocol buffers hold no more; the rest of the file is small.
_LARGEST_EMBEDDED = 2**31 - 2**20


@dataclass(frozen=True)
class EpContextFile:
    """The ONNX file that was written, and what is around the node."""

    file: str
    binary: str
    graph: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    made_by: str
    is_embedded: bool = False


def export_ep_context(options: EpContext, types: Mapping[str, TensorType] | None = None) -> EpContextFile:
    """Writes the ONNX file; its inputs and outputs have the names of the binary's graph.

    ``types``: those of the source model by these names, where its inputs and outputs keep them.
    """
    source = Path(options.context_binary)
    info = read_context_info(source)
    graph = _find_graph(info, options.graph)
    target = Path(options.output_path) if options.output_path else _free_name(source)
    keep_sources([source], [target])
    beside, files = _plan_binary_files(source, target, options)
    model = _make_model(info, graph, options, beside, types or {})
    files[target] = [model.SerializeToString()]
    write_all(files)
    names = (tuple(t.name for t in graph.inputs), tuple(t.name for t in graph.outputs))
    return EpContextFile(str(target), beside, graph.name, *names, info.binary.build_id, options.embed)


def _free_name(source: Path) -> Path:
    """An ONNX file named after the binary, unless that is another model (usually the binary's source)."""
    target = source.with_suffix(".onnx")
    if target.is_file() and target.stat().st_size and b"EPContext" not in bytes(map_file(target)):
        raise UsageError(
            f"'{shown(target)}' already exists and holds another model",
            do=f"name the file to write: -o {shown(source.with_name(f'{source.stem}_ctx.onnx'))}",
        )
    return target


def _find_graph(info: ContextInfo, name: str | None) -> GraphInfo:
    if info.backend != _HTP:
        raise UnsupportedFeature(
            f"it is a context of backend {info.backend}, ONNX Runtime loads those of the genuine HTP library",
            Where(file=info.file),
            do="make it with qnn-context-binary-generator --backend htp-native",
        )
    graphs = {graph.name: graph for graph in info.binary.graphs}
    if name is None and len(graphs) == 1:
        return next(iter(graphs.values()))
    if name not in graphs:
        names = ", ".join(map(shown, graphs))
        what = "no graph was named" if name is None else f"graph '{shown(name)}' is not in the binary"
        raise UsageError(f"{what}, it has: {names}", do=did_you_mean(name or "", graphs, "add --graph NAME"))
    return graphs[name]


def _plan_binary_files(source: Path, target: Path, options: EpContext) -> tuple[str, dict[Path, Chunks]]:
    """The binary's path as the ONNX file spells it, and the copy to write beside it."""
    if options.embed:
        return "", {}
    is_beside = os.path.realpath(source.parent) == os.path.realpath(target.parent)
    if not is_beside and not options.copy:
        raise UsageError(
            f"'{shown(target)}' is in another folder than '{shown(source)}', expected them side by side",
            do="write it beside the binary, or add --copy or --embed",
        )
    if is_beside:
        return source.name, {}
    return source.name, {target.parent / source.name: _read_content(source)}


def _read_content(source: Path) -> Iterator[memoryview]:
    yield read_binary(source).data


def _make_model(
    info: ContextInfo, graph: GraphInfo, options: EpContext, beside: str, source: Mapping[str, TensorType]
) -> onnx.ModelProto:
    around = IoConversions((*graph.inputs, *graph.outputs), source, options.float_io)
    inputs = [around.add_input(tensor) for tensor in _sort_as_in_source(graph.inputs, source)]
    outputs = [around.add_output(tensor) for tensor in _sort_as_in_source(graph.outputs, source)]
    node = helper.make_node(
        "EPContext",
        inputs,
        outputs,
        name=graph.name,
        domain=_DOMAIN,
        embed_mode=int(options.embed),
        ep_cache_context=_read_embedded(info) if options.embed else beside,
        main_context=1,
        source="QNN",
        partition_name=graph.name,
        ep_sdk_version=info.binary.build_id,
        **_describe_names(around.overrides),
    )
    body = helper.make_graph(
        [*around.before, node, *around.after],
        graph.name,
        around.inputs,
        around.outputs,
        around.constants,
        value_info=around.between,
    )
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_DOMAIN, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="edgewright")


def _sort_as_in_source(tensors: Sequence[QnnTensor], source: Mapping[str, TensorType]) -> list[QnnTensor]:
    """A binary may have them in another order."""
    places = {name: place for place, name in enumerate(source)}
    return sorted(tensors, key=lambda tensor: places.get(tensor.name, len(places)))


def _describe_names(overrides: Mapping[str, str]) -> dict[str, str]:
    """The node's names and the binary's: without them the provider goes by position, which may be wrong."""
    return (
        {"io_name_overrides": ";".join(f"{name}={stored}" for name, stored in overrides.items())}
        if overrides
        else {}
    )


def _read_embedded(info: ContextInfo) -> bytes:
    if info.bytes > _LARGEST_EMBEDDED:
        raise LimitExceeded(
            f"the binary has {info.bytes} bytes, an ONNX file holds at most {_LARGEST_EMBEDDED}",
            Where(file=info.file),
            do="leave --embed out: then the binary stays beside the ONNX file",
        )
    return read_binary(Path(info.file)).tobytes()

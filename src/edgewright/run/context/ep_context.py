"""Wraps a context binary in an ONNX file with an EPContext node, which ONNX Runtime's QNN provider runs."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from edgewright.backends.qnn.info import GraphInfo
from edgewright.config.context import EpContext
from edgewright.core.errors import LimitExceeded, UnsupportedFeature, UsageError, Where, shown
from edgewright.core.files import Chunks, keep_sources, map_file, write_all
from edgewright.core.words import did_you_mean
from edgewright.lower.qnn_graph import QnnTensor
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


def export_ep_context(options: EpContext) -> EpContextFile:
    """Writes the ONNX file; its inputs and outputs are those of the binary's graph."""
    source = Path(options.context_binary)
    info = read_context_info(source)
    graph = _find_graph(info, options.graph)
    target = Path(options.output_path) if options.output_path else _free_name(source)
    keep_sources([source], [target])
    beside, files = _plan_binary_files(source, target, options)
    model = _make_model(info, graph, options, beside)
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


def _make_model(info: ContextInfo, graph: GraphInfo, options: EpContext, beside: str) -> onnx.ModelProto:
    around = _Around(is_float=options.float_io)
    inputs = [around.add_input(tensor) for tensor in graph.inputs]
    outputs = [around.add_output(tensor) for tensor in graph.outputs]
    node = helper.make_node(
        "EPContext",
        inputs,
        outputs,
        name=f"{graph.name}_context",
        domain=_DOMAIN,
        embed_mode=int(options.embed),
        ep_cache_context=_read_embedded(info) if options.embed else beside,
        main_context=1,
        source="QNN",
        partition_name=graph.name,
        ep_sdk_version=info.binary.build_id,
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


def _read_embedded(info: ContextInfo) -> bytes:
    if info.bytes > _LARGEST_EMBEDDED:
        raise LimitExceeded(
            f"the binary has {info.bytes} bytes, an ONNX file holds at most {_LARGEST_EMBEDDED}",
            Where(file=info.file),
            do="leave --embed out: then the binary stays beside the ONNX file",
        )
    return read_binary(Path(info.file)).tobytes()


class _Around:
    """What comes before and after the node: nothing, or conversions from and to real numbers."""

    def __init__(self, *, is_float: bool) -> None:
        self._is_float = is_float
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.before: list[onnx.NodeProto] = []
        self.after: list[onnx.NodeProto] = []
        self.between: list[onnx.ValueInfoProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add_input(self, tensor: QnnTensor) -> str:
        """The name that the node reads for an input of the graph."""
        return self._convert_value(tensor, "QuantizeLinear", self.inputs, self.before)

    def add_output(self, tensor: QnnTensor) -> str:
        """The name that the node writes for an output of the graph."""
        return self._convert_value(tensor, "DequantizeLinear", self.outputs, self.after)

    def _convert_value(
        self,
        tensor: QnnTensor,
        op: str,
        graph_values: list[onnx.ValueInfoProto],
        nodes: list[onnx.NodeProto],
    ) -> str:
        encoding = tensor.encoding
        if not self._is_float or encoding is None or encoding.axis is not None:
            graph_values.append(_make_value_info(tensor, tensor.dtype.numpy))
            return tensor.name
        graph_values.append(_make_value_info(tensor, np.dtype(np.float32)))
        stored = f"{tensor.name}_stored"
        # The node's own outputs have only the types that are declared.
        self.between.append(_make_value_info(replace(tensor, name=stored), tensor.dtype.numpy))
        pair = self._scale(tensor, encoding.scales[0], encoding.offsets[0])
        is_input = op == "QuantizeLinear"
        read, written = (tensor.name, stored) if is_input else (stored, tensor.name)
        nodes.append(helper.make_node(op, [read, *pair], [written], name=f"{tensor.name}_{op}"))
        return stored

    def _scale(self, tensor: QnnTensor, scale: float, offset: int) -> Sequence[str]:
        names = (f"{tensor.name}_scale", f"{tensor.name}_zero_point")
        # QNN: real = scale * (stored + offset), so the zero point of ONNX is the negated offset.
        values = (np.float32(scale), np.asarray(-offset, tensor.dtype.numpy))
        self.constants += [
            numpy_helper.from_array(np.asarray(value), name)
            for name, value in zip(names, values, strict=True)
        ]
        return names


def _make_value_info(tensor: QnnTensor, dtype: "np.dtype[np.generic]") -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    return helper.make_tensor_value_info(tensor.name, kind, list(tensor.dims))

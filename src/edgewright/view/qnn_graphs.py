"""QNN's records as a viewer shows them: what DLCs, net.json files, libraries and contexts of ours hold."""

import math
from collections.abc import Mapping

import numpy as np

from edgewright.backends.qnn.info import GraphInfo
from edgewright.core.errors import shown
from edgewright.core.numbers import Array
from edgewright.ir.contract import dtype_word
from edgewright.lower.lower import QNN_PACKAGE
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind
from edgewright.view.records import ViewGraph, ViewNode, ViewTensor

LONGEST_PARAMETER = 400
_MOST_ELEMENTS = 64


def view_qnn_graph(graph: QnnGraph) -> ViewGraph:
    """A graph of records; names of the source model stand beside those of QNN."""
    tensors = {name: _view_tensor(graph, tensor) for name, tensor in graph.tensors.items()}
    absent = {name for name, tensor in graph.tensors.items() if tensor.kind == TensorKind.NULL}
    return ViewGraph(
        graph.name,
        {name: tensor for name, tensor in tensors.items() if name not in absent},
        tuple(_view_node(graph, node, absent) for node in graph.nodes),
        tuple(tensor.name for tensor in graph.of_kind(TensorKind.APP_WRITE)),
        tuple(tensor.name for tensor in graph.of_kind(TensorKind.APP_READ)),
    )


def view_graph_info(info: GraphInfo) -> ViewGraph:
    """A compiled graph: one box between its inputs and outputs, with what its compilation reports."""
    tensors = {tensor.name: view_qnn_tensor(tensor) for tensor in (*info.inputs, *info.outputs)}
    inputs, outputs = (
        tuple(tensor.name for tensor in tensors_of) for tensors_of in (info.inputs, info.outputs)
    )
    params = (
        ("VTCM bytes", info.vtcm_bytes),
        ("spill and fill bytes", info.spill_fill_bytes),
        ("optimization level", info.optimization_level),
        ("HVX threads", info.hvx_threads),
        ("DLBC", info.is_dlbc),
    )
    known = tuple((name, spell_value(value)) for name, value in params if value is not None)
    node = ViewNode(info.name, "Compiled graph", inputs, outputs, known)
    return ViewGraph(info.name, tensors, (node,), inputs, outputs)


def view_qnn_tensor(tensor: QnnTensor, source: str = "") -> ViewTensor:
    """A tensor with its data, where it has some."""
    return ViewTensor(
        tensor.name,
        dtype_word(tensor.dtype),
        tensor.dims,
        tensor.encoding,
        source=source,
        load=None if tensor.data is None else _Stored(tensor.data),
    )


def spell_value(value: object) -> str:
    """A parameter in a line."""
    if isinstance(value, float):
        return f"{value:.7g}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(spell_value(item) for item in value[:_MOST_ELEMENTS])}{_end(len(value))}]"
    return shown(value, LONGEST_PARAMETER)


def spell_array(array: Array) -> str:
    """A small array as nested lists, the shape of a large one."""
    if array.size > _MOST_ELEMENTS:
        return f"{array.dtype} {list(array.shape)}"
    return spell_value(np.asarray(array).tolist())


class _Stored:
    """The data of a tensor; a class, so that two tensors of equal data stay apart."""

    def __init__(self, data: Array) -> None:
        self._data = data

    def __call__(self) -> Array:
        return self._data


def _view_tensor(graph: QnnGraph, tensor: QnnTensor) -> ViewTensor:
    source = graph.source_names.get(tensor.name) or graph.forms.get(tensor.name, "")
    return view_qnn_tensor(tensor, source)


def _view_node(graph: QnnGraph, node: QnnNode, absent: set[str]) -> ViewNode:
    return ViewNode(
        node.name,
        node.type,
        tuple("" if name in absent else name for name in node.inputs),
        node.outputs,
        _list_params(node.scalar_params, node.tensor_params),
        _find_source(graph, node),
        "" if node.package == QNN_PACKAGE else node.package,
        node.macs or None,
    )


def _find_source(graph: QnnGraph, node: QnnNode) -> str:
    """The source's name for what the node makes: its own name is derived from it."""
    for output in node.outputs:
        source = graph.source_names.get(output) or graph.forms.get(output)
        if source:
            return source
    return node.outputs[0] if node.outputs else node.name


def _list_params(
    scalars: Mapping[str, QnnScalar], tensors: Mapping[str, QnnTensor]
) -> tuple[tuple[str, str], ...]:
    stored = {name: tensor.data for name, tensor in tensors.items()}
    return (
        *((name, spell_value(scalar.value)) for name, scalar in scalars.items()),
        *((name, "" if data is None else spell_array(data)) for name, data in stored.items()),
    )


def _end(count: int) -> str:
    return f", ... {count - _MOST_ELEMENTS} more" if count > _MOST_ELEMENTS else ""


def count_bytes(tensor: ViewTensor) -> int | None:
    """The bytes of a tensor's elements as a chip stores them; None where the size is open."""
    if tensor.shape is None or not all(isinstance(dim, int) for dim in tensor.shape):
        return None
    bits = find_bits(tensor)
    return None if bits is None else -(-math.prod(int(dim) for dim in tensor.shape) * bits // 8)


def find_bits(tensor: ViewTensor) -> int | None:
    """The width of an element."""
    if tensor.encoding is not None:
        return tensor.encoding.bitwidth
    digits = "".join(letter for letter in tensor.dtype if letter.isdigit())
    if tensor.dtype == "bool":
        return 8
    return int(digits) if digits and "e" not in tensor.dtype.partition("float")[2] else None

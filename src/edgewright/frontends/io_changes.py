"""Gives the inputs and outputs of a graph the layouts, colours, data types and encodings asked for."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from edgewright.config.io_config import IoConfig, TensorConfig
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.lower.lower import SOURCE_ORDERS
from edgewright.ops.quant import Dequantize, Quantize
from edgewright.ops.rearrange import Transpose
from edgewright.passes.layout.orders import order_channel_first, order_channel_last
from edgewright.passes.layout.spatial_io import drop_io_transposes
from edgewright.passes.target.colour_io import Colours, recolour_input
from edgewright.passes.target.retype_io import (
    insert_after_input,
    insert_before_output,
    retype_input,
    retype_output,
)

CHANNEL_FIRST = {3: "NCF", 4: "NCHW", 5: "NCDHW"}
FIXED_POINT = {"uint8": DType.UFIXED_POINT_8, "int8": DType.SFIXED_POINT_8}
PLAIN = {
    "float32": DType.FLOAT_32,
    "float16": DType.FLOAT_16,
    "uint8": DType.UINT_8,
    "int8": DType.INT_8,
}


def transpose_io(graph: Graph, io: IoConfig) -> None:
    """Puts a transpose where a layout changes; later passes remove those that turn out to be needless."""
    for name in graph.inputs:
        tensor = io.tensor(name)
        if order := _find_order(tensor, tensor.layout, tensor.source_layout):
            outer = graph.types[name].permuted(tuple(order.index(axis) for axis in range(len(order))))
            insert_after_input(graph, name, outer, Transpose(perm=order))
    for name in _list_computed_outputs(graph):
        tensor = io.tensor(name)
        if order := _find_order(tensor, tensor.source_layout, tensor.layout):
            insert_before_output(graph, name, Transpose(perm=order))


def label_layouts(graph: Graph, io: IoConfig, names: Iterable[str] | None = None) -> None:
    """Writes the layout of each input and output, or of those named, into its type where it is known."""
    for name in (*graph.inputs, *graph.outputs) if names is None else names:
        tensor, tensor_type = io.tensor(name), graph.types[name]
        layout = tensor.layout or tensor.source_layout
        if layout is None and tensor_type.rank in CHANNEL_FIRST and is_channel_first(graph, name):
            layout = CHANNEL_FIRST[tensor_type.rank]
        # A spatial-first label says that the source has channels first.
        is_label = layout not in {None, "NONTRIVIAL"} and (layout not in SOURCE_ORDERS or _is_turned(tensor))
        graph.types[name] = replace(tensor_type, layout=layout if is_label else None)


def move_channels_last(graph: Graph, io: IoConfig, kept: Collection[str]) -> None:
    """Inputs and outputs whose channels come first in the source have them last, except those kept."""
    custom = io.layouts()
    kept = [name for name in kept if name not in custom]
    turned = set(CHANNEL_FIRST.values())
    given = {name: tensor.source_layout for name, tensor in io.tensors.items() if name in graph.inputs}
    others = [name for name, layout in given.items() if layout is not None and layout not in turned]
    drop_io_transposes(graph, {*kept, *custom, *others})
    for name in kept:
        tensor_type = graph.types[name]
        if tensor_type.rank in CHANNEL_FIRST and is_channel_first(graph, name):
            graph.types[name] = replace(tensor_type, layout=CHANNEL_FIRST[tensor_type.rank])


def recolour_inputs(graph: Graph, io: IoConfig) -> None:
    """Lets images come in the colours that are given, and makes those that the network wants."""
    for name in graph.inputs:
        tensor = io.tensor(name)
        if tensor.colour is not None:
            layout = graph.types[name].layout or tensor.layout or tensor.source_layout
            recolour_input(graph, name, Colours(tensor.colour.lower(), tensor.source_colour), layout)


def retype_io(graph: Graph, io: IoConfig, source_types: Mapping[str, TensorType]) -> None:
    """Gives inputs and outputs the types that are asked for, or the source's where those are no floats."""
    for name in graph.inputs:
        tensor = io.tensor(name)
        if tensor.params is not None:
            dtype, encoding = find_stored_type(tensor)
            outer = replace(graph.types[name], dtype=dtype, encoding=encoding)
            insert_after_input(
                graph, name, outer, Dequantize(encoding=encoding, dtype=graph.types[name].dtype)
            )
        else:
            retype_input(graph, name, _choose_dtype(tensor, graph.types[name], source_types[name]))
    for name in _list_computed_outputs(graph):
        tensor = io.tensor(name)
        if tensor.params is not None:
            dtype, encoding = find_stored_type(tensor)
            insert_before_output(graph, name, Quantize(encoding=encoding, dtype=dtype))
        else:
            retype_output(graph, name, _choose_dtype(tensor, graph.types[name], source_types[name]))


def find_stored_type(tensor: TensorConfig) -> tuple[DType, Encoding]:
    """The fixed-point type that a data type, a scale and an offset stand for."""
    assert tensor.dtype is not None
    assert tensor.params is not None
    params = tensor.params
    # Zero points are accepted for offsets of unsigned values: these are never above 0.
    offset = -abs(params.offset) if tensor.dtype == "uint8" else params.offset
    return FIXED_POINT[tensor.dtype], Encoding((params.scale,), (offset,))


def is_channel_first(graph: Graph, name: str) -> bool:
    """Whether the network itself turns the tensor: then its axes have the meaning that ONNX gives them."""
    rank = graph.types[name].rank
    producer = graph.producer(name)
    if producer is not None:
        return isinstance(producer.op, Transpose) and producer.op.perm == order_channel_first(rank)
    readers, order = graph.consumers(name), order_channel_last(rank)
    return bool(readers) and all(isinstance(r.op, Transpose) and r.op.perm == order for r in readers)


def reorder_dims(dims: tuple[int, ...], tensor: TensorConfig, *, to_source: bool) -> tuple[int, ...]:
    """A shape in the layout of the converted model as one in the layout of the source, or the reverse."""
    layouts = (tensor.layout, tensor.source_layout)
    order = _find_order(tensor, *(layouts if to_source else layouts[::-1]))
    return tuple(dims[axis] for axis in order) if len(dims) == len(order) else dims


def _list_computed_outputs(graph: Graph) -> list[str]:
    return [name for name in dict.fromkeys(graph.outputs) if name not in graph.inputs]


def _is_turned(tensor: TensorConfig) -> bool:
    return None not in (tensor.layout, tensor.source_layout) and tensor.layout != tensor.source_layout


def _find_order(tensor: TensorConfig, before: str | None, after: str | None) -> tuple[int, ...]:
    """The order of axes that leads from one layout to the other; none where the tensor is not turned."""
    if before is None or after is None or not _is_turned(tensor) or sorted(before) != sorted(after):
        return ()
    return tuple(before.index(letter) for letter in after)


def _choose_dtype(tensor: TensorConfig, inner: TensorType, source: TensorType) -> DType:
    if tensor.dtype is not None:
        return PLAIN[tensor.dtype]
    return inner.dtype if source.dtype.is_float else source.dtype

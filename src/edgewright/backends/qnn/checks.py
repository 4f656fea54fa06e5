"""Checks that the libraries lack, without which they read out of bounds: sizes, scales, order."""

import math
from collections.abc import Iterable

from edgewright.core.errors import BadInput, EdgewrightError, Problems, UnsupportedFeature, Where
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.shape_advice import advise_shape
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnTensor, TensorKind

LARGEST = (1 << 32) - 1
DO = "check that the file was not edited, or convert the model again"


def check_graph(graph: QnnGraph) -> None:
    """Everything wrong with the records of a graph, in one error."""
    problems = [*_tensor_problems(graph), *_order_problems(graph)]
    if problems:
        raise Problems(problems)


def check_values(tensor: QnnTensor, given: Array) -> Array:
    """An array that has exactly the bytes of the tensor, dense in memory."""
    if given.dtype != tensor.dtype.numpy or tuple(given.shape) != tensor.dims:
        raise BadInput(
            f"the values are {given.dtype}{list(given.shape)},"
            f" expected {tensor.dtype.numpy}{list(tensor.dims)}",
            Where(tensor=tensor.name),
            do=f"give an array of the declared type: .astype('{tensor.dtype.numpy}')"
            if tuple(given.shape) == tensor.dims
            else advise_shape(given.shape, tensor.dims),
        )
    return given


def _tensor_problems(graph: QnnGraph) -> Iterable[EdgewrightError]:
    params = [tensor for node in graph.nodes for tensor in node.tensor_params.values()]
    for tensor in (*graph.tensors.values(), *params):
        for what in _tensor_faults(tensor):
            yield BadInput(what, Where(tensor=tensor.name), do=DO)
        if tensor.encoding is not None and _is_plain_block(tensor.encoding):
            yield UnsupportedFeature(
                "a scale for every block of the weights is not passed to HTP, expected integer factors of a"
                " channel's scale (LPBQ)",
                Where(tensor=tensor.name),
                do="quantize with low-power blockwise encodings, or per channel",
            )


def _is_plain_block(encoding: Encoding) -> bool:
    return encoding.block_axis is not None and not encoding.block_scales


def _tensor_faults(tensor: QnnTensor) -> Iterable[str]:
    if not tensor.dims or any(not 0 < dim <= LARGEST for dim in tensor.dims):
        yield f"dimensions are {list(tensor.dims)}, expected at least one, each from 1 to {LARGEST}"
        return
    if tensor.kind == TensorKind.STATIC:
        yield from _data_faults(tensor)
    if tensor.dtype.is_fixed_point and tensor.kind != TensorKind.NULL:
        yield from _encoding_faults(tensor)


def _data_faults(tensor: QnnTensor) -> Iterable[str]:
    if tensor.data is None:
        yield "static tensor has no data"
    elif tuple(tensor.data.shape) != tensor.dims or tensor.data.dtype != tensor.dtype.numpy:
        yield (
            f"data is {tensor.data.dtype}{list(tensor.data.shape)},"
            f" expected {tensor.dtype.numpy}{list(tensor.dims)}"
        )


def _encoding_faults(tensor: QnnTensor) -> Iterable[str]:
    encoding = tensor.encoding
    if encoding is None:
        # A bias without its own encoding is 32-bit fixed point.
        if tensor.dtype not in {DType.SFIXED_POINT_32, DType.UFIXED_POINT_32}:
            yield f"datatype {tensor.dtype.name} has no encoding, expected scale and offset"
        return
    unfit = [scale for scale in encoding.scales if not (math.isfinite(scale) and scale > 0)]
    if unfit:
        yield f"scale is {unfit[0]}, expected a positive number"
    if not 2 <= encoding.bitwidth <= tensor.dtype.numpy.itemsize * 8:
        yield f"bit width is {encoding.bitwidth}, expected 2 to {tensor.dtype.numpy.itemsize * 8}"
    yield from _axis_faults(tensor, encoding)


def _axis_faults(tensor: QnnTensor, encoding: Encoding) -> Iterable[str]:
    if len(encoding.scales) != len(encoding.offsets):
        yield f"{len(encoding.scales)} scales and {len(encoding.offsets)} offsets, expected as many"
    if encoding.axis is None:
        if len(encoding.scales) != 1:
            yield f"{len(encoding.scales)} scales without an axis, expected 1"
        return
    if not 0 <= encoding.axis < len(tensor.dims):
        yield f"axis is {encoding.axis}, expected 0 to {len(tensor.dims) - 1}"
        return
    wanted = tensor.dims[encoding.axis]
    if encoding.block_axis is None and len(encoding.scales) != wanted:
        yield f"{len(encoding.scales)} scales along axis {encoding.axis}, expected {wanted}"
    if encoding.block_axis is not None:
        yield from _block_faults(tensor, encoding, wanted)


def _block_faults(tensor: QnnTensor, encoding: Encoding, slices: int) -> Iterable[str]:
    assert encoding.block_axis is not None
    if not 0 <= encoding.block_axis < len(tensor.dims) or encoding.block_size < 1:
        yield f"block axis is {encoding.block_axis} with blocks of {encoding.block_size}"
        return
    blocks = -(-tensor.dims[encoding.block_axis] // encoding.block_size)
    if encoding.block_scales and len(encoding.block_scales) != slices * blocks:
        yield f"{len(encoding.block_scales)} block scales, expected {slices} x {blocks}"
    if tensor.dims[encoding.block_axis] % encoding.block_size:
        size = tensor.dims[encoding.block_axis]
        yield f"blocks of {encoding.block_size} do not divide {size}, expected blocks of one size"


def _order_problems(graph: QnnGraph) -> Iterable[EdgewrightError]:
    made = {
        tensor.name
        for tensor in graph.tensors.values()
        if tensor.kind in {TensorKind.APP_WRITE, TensorKind.APP_READWRITE, TensorKind.STATIC, TensorKind.NULL}
    }
    names: set[str] = set()
    for node in graph.nodes:
        for what in _node_faults(graph, node, made, names):
            yield BadInput(what, Where(op=node.type, node=node.name), do=DO)
        made.update(node.outputs)
        names.add(node.name)


def _node_faults(graph: QnnGraph, node: QnnNode, made: set[str], names: set[str]) -> Iterable[str]:
    if node.name in names:
        yield f"two nodes are named '{node.name}', expected unique names"
    unknown = [name for name in (*node.inputs, *node.outputs) if name not in graph.tensors]
    if unknown:
        yield f"tensor '{unknown[0]}' is not declared"
    late = [name for name in node.inputs if name in graph.tensors and name not in made]
    if late:
        yield f"tensor '{late[0]}' is read before a node computes it"
    twice = [name for name in node.outputs if name in made]
    if twice:
        yield f"tensor '{twice[0]}' is computed twice"

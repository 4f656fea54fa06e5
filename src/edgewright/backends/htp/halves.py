"""Floats as HTP computes them: results have 11 bits, whatever their tensors are declared as."""

from collections.abc import Callable, Collection
from dataclasses import replace
from math import prod
from typing import cast

import numpy as np

from edgewright.backends.cpu.halves import HalfArithmetic
from edgewright.backends.cpu.patterns import cast_op, find_origin
from edgewright.backends.htp.half_conversions import read_as_halves
from edgewright.backends.htp.half_functions import find_half_table
from edgewright.backends.htp.half_pools import write_filter
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op, given
from edgewright.ir.traits import HtpWork
from edgewright.ops.activation import HardSigmoid
from edgewright.ops.cast import Cast
from edgewright.ops.conv import DepthWiseConv2d
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseDivide, ElementWiseMultiply
from edgewright.ops.elementwise_unary import Reciprocal
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.target.datatypes import replace_dtypes
from edgewright.passes.target.narrow_float import narrow_float
from edgewright.passes.target.retype_io import insert_after_input, insert_before_output

FLOATS = frozenset({DType.FLOAT_16, DType.FLOAT_32})
# A step that is so much smaller lets what lies in the middle between two be stored away from zero; all else
# that a float of 11 bits can be is stored as with a whole step.
STEP = 8192 / 8193
# With a slope that is so much larger, what is in the middle between two goes where the slope leads.
STEEPER = 1 + 2.0**-23
# The least number whose reciprocal is a float of 11 bits.
LEAST_INVERTED = 2.0**-15
# Below this a bias of a product is read as if it had a leading one: half of it more than half the least.
LEAST_NORMAL = 2.0**-14
# Sums of values with fewer channels are computed by another kernel.
FEWEST_CHANNELS = 16


def has_even_ties(graph: Graph, node: Node) -> bool:
    """Whether middles go to the even neighbour: in sums of equal shapes and of products, not elsewhere.

    A factor for each channel is no sum; a constant that stands first has a number for each element.
    """
    if _is_sum_of_equals(graph, node) or _has_row_before(graph, node):
        return True
    maker = graph.producer(node.inputs[0])
    if maker is not None and is_read_whole(graph, maker):
        return not _has_row_behind(graph, node, ElementWiseAdd)
    return node.op.has_even_ties_on_htp and not _is_factor(graph, node)


def _is_factor(graph: Graph, node: Node) -> bool:
    """Whether channels are only multiplied; with a stride the library is given larger filters."""
    if not node.op.is_depthwise or graph.types[node.inputs[1]].shape[:2] != (1, 1):
        return False
    return cast("DepthWiseConv2d", node.op).stride == (1, 1)


def is_read_whole(graph: Graph, node: Node) -> bool:
    """Whether all bits of a product's sums, or of a sum of equal shapes, are read by the one op behind it."""
    if not graph.is_used_once(node.outputs[0]) or not graph.consumers(node.outputs[0]):
        return False
    (reader,) = graph.consumers(node.outputs[0])
    if _has_row_behind(graph, node, ElementWiseMultiply):
        return _has_row_behind(graph, reader, ElementWiseAdd)
    is_sum = node.op.is_product or _is_sum_of_equals(graph, node)
    return is_sum and reader.op.specific().reads_whole_sums_on_htp


def _has_row_behind(graph: Graph, node: Node, kind: type[Op]) -> bool:
    """Whether the second operand is a constant that has a number for each channel."""
    if type(node.op.specific()) is not kind or node.inputs[0] in graph.constants:
        return False
    return _is_row_for(graph, node.inputs[1], node.inputs[0])


def _has_row_before(graph: Graph, node: Node) -> bool:
    """Whether the first operand of an addition is a constant with a number for each of many channels."""
    if type(node.op.specific()) is not ElementWiseAdd:
        return False
    is_row = _is_row_for(graph, node.inputs[0], node.inputs[1])
    return is_row and graph.constants[node.inputs[0]].size >= FEWEST_CHANNELS


def _is_row_for(graph: Graph, name: str, value: str) -> bool:
    """Whether a constant has a number for each channel of a value, the last axis."""
    numbers, channels = graph.constants.get(name), graph.types[value].shape[-1:]
    return numbers is not None and numbers.ndim > 0 and (numbers.size,) == numbers.shape[-1:] == channels


def _is_sum_of_equals(graph: Graph, node: Node) -> bool:
    """Whether an addition has the kernel for many channels."""
    if type(node.op) is not ElementWiseAdd:
        return False
    shapes = {_drop_ones(graph.types[value].shape) for value in node.inputs}
    before = {_find_turned(graph, value) for value in node.inputs}
    # Values that were turned alike are added before that.
    added = before if len(before) == 1 and () not in before else shapes
    is_filled = all(shape and _is_at_least(shape[-1], FEWEST_CHANNELS) for shape in added)
    return len(shapes) == 1 and is_filled


def _find_turned(graph: Graph, value: str) -> tuple[Dim, ...]:
    """The axes, but those of length one, of what was turned to become a value; none where nothing was."""
    origin, moves = find_origin(graph, value, (Transpose, Reshape))
    made, first = ([dim for dim in graph.types[name].shape if dim != 1] for name in (value, origin))
    is_turned = any(move.htp_work == HtpWork.TRANSPOSE for move in moves) and set(made) == set(first)
    return tuple(first) if is_turned else ()


def _drop_ones(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Without the axes of length one that come first."""
    first = next((axis for axis, dim in enumerate(shape) if dim != 1), len(shape))
    return shape[first:]


def _is_at_least(dim: Dim, number: int) -> bool:
    return isinstance(dim, int) and dim >= number


def _is_left_as_it_is(graph: Graph, node: Node) -> bool:
    """Whether results are not rounded: they are read whole, or the library's own arithmetic rounded them."""
    return isinstance(node.op, LibraryOp) or is_read_whole(graph, node)


HALVES = HalfArithmetic(find_half_table, has_even_ties, _is_left_as_it_is)
EXACT_HALVES = replace(HALVES, has_exact_sums=True)


def with_halves(graph: Graph, outputs: Collection[str]) -> Graph:
    """A copy for an engine that rounds the float32 results of ops; graph inputs and outputs keep their types.

    They are float32 and not float16 because HTP goes on to twice the largest float16.
    """
    declared = {name: t.dtype for name, t in graph.types.items() if t.dtype in FLOATS}
    if not declared:
        return graph
    wide = graph.copy()
    narrow_float(wide)
    replace_dtypes(wide, {DType.FLOAT_16: DType.FLOAT_32}, _widened)
    for node in wide.nodes:
        if _is_read_inside(node, outputs):
            read_as_halves(wide, node)
        rewrite = REWRITES.get(type(node.op.specific()))
        if node.op.is_product and not _is_factor(wide, node):
            _replace_small_bias(wide, node)
        if _is_storing(wide, node):
            _stored_in_steps(wide, node)
        elif rewrite is not None and wide.types[node.outputs[0]].dtype == DType.FLOAT_32:
            rewrite(wide, node)
    for name in [name for name in wide.inputs if name in declared]:
        insert_after_input(
            wide, name, wide.types[name].with_dtype(declared[name]), Cast(dtype=DType.FLOAT_32)
        )
    for name in dict.fromkeys(outputs):
        if declared.get(name) == DType.FLOAT_16 and wide.producer(name) is not None:
            insert_before_output(wide, name, Cast(dtype=DType.FLOAT_16))
    wide.sort()
    return wide


def _widened(_name: str, array: Array, dtype: DType) -> Array:
    return array.astype(dtype.numpy)


def _replace_small_bias(graph: Graph, node: Node) -> None:
    """Numbers of a constant bias that have no leading one in half precision get one; 0 stays, -0 does not."""
    name = given(node.inputs, 2)
    if not name or name not in graph.constants or graph.types[name].dtype != DType.FLOAT_32:
        return
    numbers = graph.constants[name]
    is_small = (np.abs(numbers) < LEAST_NORMAL) & ((numbers != 0) | np.signbit(numbers))
    if is_small.any():
        larger = np.copysign((np.abs(numbers) + LEAST_NORMAL) / 2, numbers)
        read = np.where(is_small, larger, numbers).astype(np.float32)
        graph.set_input(node, 2, graph.add_constant(graph.fresh_name(name), read, graph.types[name]))


def _halve_line(graph: Graph, node: Node) -> None:
    """Slope and height have 11 bits."""
    op, maker = cast("HardSigmoid", node.op.specific()), graph.producer(node.inputs[0])
    factor = STEEPER if maker is None or not is_read_whole(graph, maker) else 1.0
    node.op = HardSigmoid(alpha=float(np.float16(op.alpha)) * factor, beta=float(np.float16(op.beta)))


def _invert_divisor(graph: Graph, node: Node) -> None:
    """A quotient is a product with the reciprocal, of 11 bits: of a single number the nearest one."""
    dividend, divisor = node.inputs
    inverse, numbers = graph.fresh_name(divisor), graph.constants.get(divisor)
    kind = graph.types[divisor]
    is_single = kind.is_static and prod(kind.static_shape()) == 1
    if is_single and dividend in graph.constants and np.all(graph.constants[dividend] == 1):
        return
    if is_single and numbers is not None and np.all(np.abs(numbers) >= LEAST_INVERTED):
        nearest = (1 / numbers.astype(np.float16).astype(np.float32)).astype(np.float16)
        graph.add_constant(inverse, nearest.astype(np.float32), kind)
    elif is_single and numbers is None:
        one = graph.add_constant(graph.fresh_name(divisor), np.ones(1, np.float32))
        graph.add(Node(inverse, ElementWiseDivide(), [one, divisor], [inverse]), [kind])
    else:
        graph.add(Node(inverse, Reciprocal(), [divisor], [inverse]), [kind])
    graph.set_input(node, 1, inverse)
    node.op = ElementWiseMultiply()


REWRITES: dict[type[Op], Callable[[Graph, Node], None]] = {
    ElementWiseDivide: _invert_divisor,
    HardSigmoid: _halve_line,
    PoolAvg2d: write_filter,
}


def _is_read_inside(node: Node, outputs: Collection[str]) -> bool:
    """Whether a conversion makes floats that are no result: those become real numbers outside."""
    convert = cast_op(node, Convert)
    return convert is not None and convert.dtype == DType.FLOAT_32 and node.outputs[0] not in outputs


def _is_storing(graph: Graph, node: Node) -> bool:
    """Whether a float becomes an integer of 8 bits."""
    convert = cast_op(node, Convert)
    if convert is None or graph.types[node.inputs[0]].dtype != DType.FLOAT_32:
        return False
    encoding = convert.encoding
    return convert.dtype == DType.UFIXED_POINT_8 and encoding is not None and encoding.axis is None


def _stored_in_steps(graph: Graph, node: Node) -> None:
    """The float in steps is rounded as every result, and then to a whole step."""
    assert isinstance(node.op, Convert)
    assert node.op.encoding is not None
    (scale,), offsets = node.op.encoding.scales, node.op.encoding.offsets
    value = node.inputs[0]
    inverse = np.float32(1) / np.full((1,), scale, np.float32)
    steps, factor = graph.fresh_name(value), graph.add_constant(graph.fresh_name(value), inverse)
    graph.add(Node(steps, ElementWiseMultiply(), [value, factor], [steps]), [graph.types[value]])
    graph.set_input(node, 0, steps)
    # The type of the result keeps its own encoding: only the way to its integers is another.
    node.op = replace(node.op, encoding=Encoding((STEP,), offsets))

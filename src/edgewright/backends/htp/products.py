"""Sums of products with symmetric weights of 4 or 8 bits, as HTP rounds them."""

from dataclasses import dataclass

import numpy as np

from edgewright.backends.cpu.fused_products import has_product_kernels
from edgewright.backends.cpu.sums import IntegerProduct, Step, SumForm, WideSums
from edgewright.backends.htp.bent_sums import find_bend, round_bent_sums, round_bent_wide
from edgewright.backends.htp.channel_kernels import Kernel, find_kernel, is_bending
from edgewright.backends.htp.folded_rows import is_reading_folded_sum
from edgewright.backends.htp.gated_sums import (
    cut_gated,
    find_gate,
    gate_sums,
    is_cut_at_zero,
    is_gated,
    pass_sums,
)
from edgewright.backends.htp.requantize import (
    COARSE_BITS,
    FINE_BITS,
    Multiplier,
    added_bias,
    cut_sums,
    is_byte,
    is_wide,
    multiplier,
    shift_down,
)
from edgewright.backends.htp.wide_products import (
    WIDE_BITS,
    add_zero,
    cut_wide,
    find_steps,
    gate_wide,
    round_real,
    split_input,
)
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op, given
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.windows import Geometry
from edgewright.passes.htp.fit_biases import SAME
from edgewright.passes.htp.raise_small_scales import find_whole_sums, has_own_filters

WEIGHTS = frozenset({DType.SFIXED_POINT_4, DType.SFIXED_POINT_8})
FEWEST_CHANNELS, MOST_PLACES = 16, 25
# Places of a kernel along an axis from which on sums are rounded in the ordinary way.
LONG = 64
# The largest integer of 8 bits, and the least step that a whole sum's unit may be.
LAST, TINY = 255, 2.0**-16
DENSE = (1, 1)
POINT = Geometry((1, 1), ((0, 0), (0, 0)), (1, 1))
# The axis of weights along which the channels of the output lie.
CHANNELS: dict[type[Op], int] = {Conv2d: -1, DepthWiseConv2d: -1, TransposeConv2d: -1, FullyConnected: 0}


@dataclass(frozen=True)
class Product:
    """A node whose weights are symmetric; their channels lie along an axis."""

    graph: Graph
    node: Node
    x: Encoding
    y: Encoding
    axis: int
    # Of each channel's weights.
    scales: Array
    # In units of the sums; no elements where there is none.
    bias: Array

    @property
    def weights(self) -> Array:
        """As they are stored."""
        return self.graph.constants[self.node.inputs[1]]

    @property
    def other_axes(self) -> tuple[int, ...]:
        """Those of the weights that are no channels."""
        return tuple(axis for axis in range(self.weights.ndim) if axis != self.axis % self.weights.ndim)

    @property
    def channelwise(self) -> DepthWiseConv2d | None:
        """The op, where each of several channels has filters of its own."""
        channels = self.graph.types[self.node.inputs[0]].shape[-1]
        return self.node.op if isinstance(self.node.op, DepthWiseConv2d) and channels != 1 else None

    @property
    def kernel(self) -> Kernel:
        """How its sums are rounded."""
        if _is_beyond_unit(self.node, self.graph.types[self.node.inputs[1]]):
            return Kernel.ORDINARY
        if (op := self.channelwise) is None:
            return Kernel.CUT
        given, made = (self.graph.types[value] for value in (self.node.inputs[0], self.node.outputs[0]))
        if not has_own_filters(given.shape[-1], self.weights.shape[-1]):
            return Kernel.ORDINARY
        kernel = find_kernel(self.weights.shape[:2], op.stride, is_wide=is_wide(made))
        return Kernel.CUT if kernel == Kernel.WHOLE and self._is_cut_all_the_same() else kernel

    @property
    def is_fine(self) -> bool:
        """Whether sums are multiplied whole."""
        return self.kernel == Kernel.WHOLE

    @property
    def is_bending(self) -> bool:
        """Whether its kernel gates and bends sums as the activation behind it says."""
        op, depthwise = self.node.op, self.channelwise
        if (
            self.kernel != Kernel.CUT
            or type(op) is TransposeConv2d
            or getattr(op, "dilation", DENSE) != DENSE
            or is_reading_folded_sum(self.graph, self.node)
        ):
            return False
        return depthwise is None or is_bending(self.weights.shape[:2], depthwise.stride)

    @property
    def channel_window(self) -> Geometry | None:
        """Of a depthwise convolution that we have a kernel for: as many filters as channels."""
        op, given = self.channelwise, self.graph.types[self.node.inputs[0]]
        if op is None or not given.is_static or not has_product_kernels():
            return None
        return op.geometry(given.shape[-1]) if self.weights.shape[-1] == given.shape[-1] else None

    @property
    def window(self) -> Geometry | None:
        """Of a convolution of integers: any one by our kernel, else one that is fastest as a product.

        That is in no groups, not of a few channels, nor of many places.
        """
        given = self.graph.types[self.node.inputs[0]]
        if not isinstance(self.node.op, Conv2d) or not given.is_static:
            return None
        window, (height, width, channels, _) = self.node.op.geometry(given.shape[-1]), self.weights.shape
        has_many = channels >= FEWEST_CHANNELS and height * width <= MOST_PLACES
        is_product = window.group == 1 and (has_many or (height, width) == (1, 1))
        return window if has_product_kernels() or is_product else None

    def _is_cut_all_the_same(self) -> bool:
        """Whether channels are too small, or too uneven, for the kernel that multiplies whole sums."""
        if is_wide(self.graph.types[self.node.outputs[0]]):
            sums = find_whole_sums(self.graph, self.node)
            return sums is None or sums.is_uneven
        factor = self.find_multiplier(FINE_BITS)
        return factor is not None and bool(factor.exact.min() < TINY)

    def find_largest_sums(self) -> Array:
        """How large sums can be, whatever the input is."""
        reach = max(-self.x.offsets[0], LAST + self.x.offsets[0])
        weights = np.abs(self.weights.astype(np.float64)).sum(axis=self.other_axes)
        return np.asarray(weights * reach + np.abs(self.add_bias()))

    def find_multiplier(self, bits: int) -> Multiplier | None:
        """From sums to steps of the output."""
        return multiplier(self.x.scales[0], self.scales, self.y.scales[0], bits)

    def add_bias(self, unit: float = 1.0) -> Array:
        """The bias as the sums get it, in so many of their units: scales are taken for the widest one's."""
        if not self.bias.size:
            return np.zeros(self.scales.shape)
        weights, stored = (self.graph.types[value].encoding for value in self.node.inputs[1:3])
        assert weights is not None
        assert stored is not None
        sums = np.float32(self.x.scales[0]) * np.float32(max(weights.scales))
        if weights.axis is not None:
            real = self.bias.astype(np.float32) * sums
        else:
            real = self.graph.constants[self.node.inputs[2]].astype(np.float32) * np.float32(stored.scales[0])
        is_per_channel = weights.axis is not None
        return added_bias(real, float(sums) * unit, is_per_channel=is_per_channel, is_whole=self.is_fine)


def is_byte_product(graph: Graph, node: Node) -> bool:
    """Whether a node is a sum of products of 8 bits with symmetric weights."""
    return find_product(graph, node) is not None and is_byte(graph.types[node.outputs[0]])


def can_bend(graph: Graph, node: Node) -> bool:
    """Whether a node is a sum of products, of 8 or 16 bits, that HTP gates or bends before it rounds it."""
    product = find_product(graph, node)
    return product is not None and product.is_bending


def find_product(graph: Graph, node: Node) -> Product | None:
    """A product whose arithmetic is known; activations have one width, 8 or 16 bits."""
    axis = CHANNELS.get(type(node.op))
    if axis is None:
        return None
    types = [graph.types[value] for value in (node.inputs[0], node.outputs[0], node.inputs[1])]
    x, y, weights = (kind.encoding for kind in types)
    is_known = all(map(is_byte, types[:2])) or all(map(is_wide, types[:2]))
    bias = _find_bias(graph, node)
    if x is None or y is None or weights is None or bias is None or not is_known:
        return None
    if node.inputs[1] not in graph.constants or types[2].dtype not in WEIGHTS:
        return None
    if weights.block_axis is not None or any(weights.offsets):
        return None
    channels = graph.constants[node.inputs[1]].shape[axis]
    # Weights of a transposed convolution in groups have the channels of one group only.
    if types[1].shape[-1] != channels:
        return None
    scales = np.broadcast_to(np.asarray(weights.scales), channels)
    return Product(graph, node, x, y, axis, scales, bias)


def round_product(graph: Graph, node: Node) -> SumForm | None:
    """The form of a product; None where it is not known, or rounded in the ordinary way."""
    product = find_product(graph, node)
    if product is None:
        return None
    if is_wide(graph.types[node.outputs[0]]):
        return _round_wide(product)
    if product.kernel == Kernel.ORDINARY:
        return None
    factor = product.find_multiplier(FINE_BITS if product.is_fine else COARSE_BITS)
    if factor is None:
        return None
    x, y = product.x, product.y
    slopes = find_bend(graph, node) if product.is_bending else None
    if slopes is not None:
        unit, steps = np.ones_like(factor.cut), round_bent_sums(factor, y.offsets[0], slopes)
    elif product.is_fine:
        unit, steps = np.ones_like(factor.cut), _round_whole(factor, y.offsets[0])
    elif product.is_bending and is_gated(graph, node):
        gate = find_gate(factor, x, y, product.scales)
        unit = gate.units * gate.fineness
        steps = gate_sums(gate, product.find_largest_sums() * unit)
    elif product.is_bending and product.channelwise is None and is_cut_at_zero(graph, node):
        unit = cut_gated(factor, y.offsets[0])
        steps = pass_sums(factor, unit)
    else:
        unit, steps = factor.cut, cut_sums(factor.value / factor.cut)
    return _write_form(product, unit, product.add_bias(), steps)


def _round_wide(product: Product) -> SumForm | None:
    """Of 16 bits: bytes are multiplied one by one."""
    factor = product.find_multiplier(FINE_BITS if product.is_fine else WIDE_BITS)
    if factor is None:
        return None
    total = product.weights.astype(np.float64).sum(axis=product.other_axes)
    is_ordinary = product.kernel == Kernel.ORDINARY
    wide = split_input(product.x, total, is_cut=not (product.is_fine or is_ordinary))
    slopes = find_bend(product.graph, product.node) if product.is_bending else None
    if is_ordinary:
        bias = product.bias if product.bias.size else np.zeros(total.shape)
        steps = round_real(product.x, product.y, product.scales, bias)
    elif product.is_fine:
        steps = _round_wide_whole(product, factor, product.add_bias())
    elif slopes is not None:
        added = add_zero(product.x, total) + product.add_bias(256.0)
        steps = round_bent_wide(find_steps(product.x, product.y, product.scales), added, slopes)
    elif product.is_bending and is_gated(product.graph, product.node):
        steps = gate_wide(product.x, product.y, product.scales, total, product.add_bias(256.0))
    else:
        steps = cut_wide(factor, product.x, total, product.add_bias(256.0))
    return _write_form(product, np.ones_like(factor.cut), np.zeros(total.shape), steps, wide)


def _write_form(
    product: Product, unit: Array, bias: Array, steps: tuple[Step, ...], wide: WideSums | None = None
) -> SumForm:
    """A product of integers where the engine has one, else an op on whole numbers."""
    node, stored = product.node, product.weights
    added = (bias * unit).astype(np.float32) if bias.size else np.zeros(unit.shape, np.float32)
    is_ordinary = product.kernel == Kernel.ORDINARY
    if not is_ordinary and (channels := product.channel_window) is not None:
        matrix = stored.reshape(*stored.shape[:2], stored.shape[-1]).astype(np.int8)
        integers = IntegerProduct(
            matrix, unit.astype(np.float32), added, channels, is_depthwise=True, is_fused=True
        )
        return SumForm({}, {}, steps, integers, wide=wide)
    if not is_ordinary and (window := product.window) is not None:
        matrix, places = stored.reshape(-1, stored.shape[-1]).astype(np.int8), stored.shape[:2]
        is_fused = has_product_kernels()
        is_plain = places == (1, 1) and window == POINT and not is_fused
        integers = IntegerProduct(
            matrix, unit.astype(np.float32), added, None if is_plain else window, places, is_fused=is_fused
        )
        return SumForm({}, {}, steps, integers, wide=wide)
    if product.axis == 0:
        matrix = np.ascontiguousarray(stored.T).astype(np.int8)
        return SumForm({}, {}, steps, IntegerProduct(matrix, unit.astype(np.float32), added), wide=wide)
    shape = [1] * stored.ndim
    shape[product.axis] = -1
    constants = {node.inputs[1]: stored.astype(np.float32) * unit.reshape(shape).astype(np.float32)}
    if given(node.inputs, 2):
        constants[node.inputs[2]] = added
    return SumForm({node.inputs[0]: Encoding((1.0,), product.x.offsets)}, constants, steps, wide=wide)


def _is_beyond_unit(node: Node, weights: TensorType) -> bool:
    """Whether a kernel is none for HTP's product unit: long, strides taken out, or with gaps and strides."""
    if not isinstance(node.op, Conv2d):
        return False
    if DENSE not in (node.op.dilation, node.op.stride):
        return True
    sizes = zip(weights.shape[:2], node.op.stride, strict=True)
    return any(isinstance(size, int) and -(-size // stride) >= LONG for size, stride in sizes)


def _round_whole(factor: Multiplier, offset: int, bias: Array | float = 0.0) -> tuple[Step, ...]:
    """The whole sum: its products with the factor need more bits than float32 has.

    The offset of the output is added to the sums, as a whole number that comes from float32.
    """
    whole = _find_whole_offset(factor, offset) + bias
    return shift_down(factor.value, whole * factor.value + offset + 0.5)


def _find_whole_offset(factor: Multiplier, offset: int) -> Array:
    """What is added to sums for the offset of the output."""
    offsets = np.float32(-offset) / factor.exact.astype(np.float32)
    return np.asarray(np.floor(offsets + np.float32(0.5)), np.float64)


def _round_wide_whole(product: Product, factor: Multiplier, bias: Array) -> tuple[Step, ...]:
    """The same of 16 bits: in the unit of the smallest channel, sums may need more than 32 bits."""
    steps = _round_whole(factor, product.y.offsets[0], bias)
    sums, least = find_whole_sums(product.graph, product.node), factor.exponent.min()
    if sums is None or not sums.can_wrap(least):
        return steps
    offset = product.y.offsets[0]
    added = _find_whole_offset(factor, offset) + bias
    units = np.exp2(factor.exponent - least)
    turns = (
        Step("Mul", units * 2.0**-32),
        Step("Add", np.asarray(0.5)),
        Step("Floor"),
        Step("Mul", -(2.0**32) / units),
    )
    wrapped = (Step("Cast", to=DType.FLOAT_64), Step("Add", added), Step("Add", branch=turns))
    return (*wrapped, *shift_down(factor.value, np.asarray(offset + 0.5)))


def _find_bias(graph: Graph, node: Node) -> Array | None:
    """The bias in units of the sums; no elements where there is none, None where it is not known."""
    name = given(node.inputs, 2)
    if not name:
        return np.zeros(0)
    x, weights = (graph.types[value].encoding for value in node.inputs[:2])
    encoding = graph.types[name].encoding
    is_known = name in graph.constants and graph.types[name].dtype == DType.SFIXED_POINT_32
    if not is_known or x is None or weights is None or encoding is None or any(encoding.offsets):
        return None
    # A transposed convolution in groups has scales for the channels of one group only.
    if len(weights.scales) not in (1, graph.constants[name].size):
        return None
    stored, sums = graph.constants[name].astype(np.float64), x.scales[0] * np.asarray(weights.scales)
    if weights.axis is not None and np.allclose(encoding.scales, sums, rtol=SAME):
        return stored
    return np.asarray(np.rint(stored * np.asarray(encoding.scales) / sums))

"""Which nodes of a fixed-point graph HTP rounds in its own way, and how they are written for the engine."""

from collections.abc import Callable

import numpy as np

from edgewright.backends.cpu.sums import IntegerProduct, Step, SumForm
from edgewright.backends.htp.element_sums import multiply_elements, shift_down, whole_form
from edgewright.backends.htp.requantize import (
    BENT_PARTS,
    Multiplier,
    added_bias,
    away_from_zero,
    multiplier,
    rescaling,
    sum_weights,
)
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op, given
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Prelu, Sigmoid
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.reduce import ReduceMean
from edgewright.ops.reduce_softmax import Softmax
from edgewright.ops.windows import Geometry

WEIGHTS = frozenset({DType.SFIXED_POINT_4, DType.SFIXED_POINT_8})
COARSE_BITS, FINE_BITS = 12, 15
# Offsets of a sum's operands are added in these units.
OFFSET_UNIT = 256
PAIR = 2
FEWEST_CHANNELS, MOST_PLACES = 16, 25
# Places of a kernel along an axis from which on sums are rounded in the ordinary way.
LONG = 64
# Average pools with a kernel of their own: size and stride.
HALVING, SMOOTHING = ((2, 2), (2, 2)), ((3, 3), (1, 1))
POINT = Geometry((1, 1), ((0, 0), (0, 0)), (1, 1))


def htp_sums(graph: Graph, node: Node) -> SumForm | None:
    """The form of a node of 8 bits; None where it is not known, or ordinary rounding does the same."""
    rule = RULES.get(type(node.op), _moved if node.op.keeps_encoding else None)
    if rule is None or not _is_plain(graph, node):
        return None
    return rule(graph, node)


def has_coarse_sums(graph: Graph, node: Node) -> bool:
    """Whether a node is a sum of products that HTP cuts before it rounds it."""
    is_product = RULES.get(type(node.op)) in (_convolution, _fully_connected)
    return is_product and not _is_fine(node.op) and htp_sums(graph, node) is not None


def _is_fine(op: Op) -> bool:
    return isinstance(op, DepthWiseConv2d) and max(op.stride) > 1


def _is_plain(graph: Graph, node: Node) -> bool:
    """Whether activations have 8 bits and one encoding with a zero point that is one of their integers."""
    values = [value for value in (*node.inputs, *node.outputs) if value and value not in graph.constants]
    return all(_is_byte(graph.types[value]) for value in values)


def _is_byte(kind: TensorType) -> bool:
    encoding = kind.encoding
    if kind.dtype != DType.UFIXED_POINT_8 or encoding is None or encoding.axis is not None:
        return False
    return encoding.bitwidth == 8 and -255 <= encoding.offsets[0] <= 0


def _convolution(graph: Graph, node: Node) -> SumForm | None:
    if isinstance(node.op, Conv2d) and _is_long(node.op, graph.types[node.inputs[1]]):
        return None
    return _product(graph, node, -1, is_fine=_is_fine(node.op))


def _is_long(op: Conv2d, weights: TensorType) -> bool:
    """Whether a kernel has more places, strides taken out of it, than HTP's product unit takes."""
    sizes = zip(weights.shape[:2], op.stride, strict=True)
    return any(isinstance(size, int) and -(-size // stride) >= LONG for size, stride in sizes)


def _fully_connected(graph: Graph, node: Node) -> SumForm | None:
    return _product(graph, node, 0, is_fine=False)


def _product(graph: Graph, node: Node, axis: int, *, is_fine: bool) -> SumForm | None:
    """A sum of products with symmetric weights; their channels lie along an axis."""
    weights = graph.types[node.inputs[1]]
    bias = _stored_bias(graph, node)
    if (
        node.inputs[1] not in graph.constants
        or weights.dtype not in WEIGHTS
        or weights.encoding is None
        or weights.encoding.block_axis is not None
        or any(weights.encoding.offsets)
        or bias is None
    ):
        return None
    encodings = [graph.types[value].encoding for value in (node.inputs[0], node.outputs[0])]
    (x, y), stored = encodings, graph.constants[node.inputs[1]]
    assert x is not None
    assert y is not None
    scales = np.broadcast_to(np.asarray(weights.encoding.scales), stored.shape[axis])
    found = multiplier(x.scales[0], scales, y.scales[0], FINE_BITS if is_fine else COARSE_BITS)
    if found is None:
        return None
    unit = np.ones_like(found.cut) if is_fine else found.cut
    steps = _fine(found, y.offsets[0]) if is_fine else _coarse(found.value / found.cut)
    if _is_matrix(graph, node):
        added = _added(graph, node, bias) if bias.size else np.zeros(unit.shape)
        matrix = stored.reshape(-1, stored.shape[-1]).astype(np.int8)
        units, added = unit.astype(np.float32), (added * unit).astype(np.float32)
        window = _window(graph, node)
        is_plain = stored.shape[:2] == (1, 1) and window == POINT
        return SumForm({}, {}, steps, IntegerProduct(matrix, units, added, None if is_plain else window))
    shape = [1] * stored.ndim
    shape[axis] = -1
    constants = {node.inputs[1]: stored.astype(np.float32) * unit.reshape(shape).astype(np.float32)}
    if given(node.inputs, 2):
        added = bias if is_fine else _added(graph, node, bias)
        constants[node.inputs[2]] = (added * unit).astype(np.float32)
    return SumForm({node.inputs[0]: Encoding((1.0,), x.offsets)}, constants, steps)


def _matmul(graph: Graph, node: Node) -> SumForm | None:
    """A product of two activations."""
    operands = node.inputs[:2]
    if any(node.inputs[2:]) or any(value in graph.constants for value in operands):
        return None
    a, b, y = (graph.types[value].encoding for value in (*operands, *node.outputs))
    if a is None or b is None or y is None or operands[0] == operands[1]:
        return None
    found = multiplier(a.scales[0], np.asarray(b.scales), y.scales[0], COARSE_BITS)
    if found is None:
        return None
    inputs = {value: Encoding((1.0,), e.offsets) for value, e in zip(operands, (a, b), strict=True)}
    cut = Step("Mul", found.cut[0].astype(np.float32))
    return SumForm(inputs, {}, (cut, *_coarse((found.value / found.cut)[0])))


def _is_matrix(graph: Graph, node: Node) -> bool:
    """Whether a convolution is fastest as a product: not of a few channels, nor of many places."""
    if not isinstance(node.op, Conv2d) or not graph.types[node.inputs[0]].is_static:
        return False
    window, (height, width, channels, _) = _window(graph, node), graph.constants[node.inputs[1]].shape
    if window.group > 1:
        return False
    is_wide = channels >= FEWEST_CHANNELS and height * width <= MOST_PLACES
    return bool(is_wide or (height, width) == (1, 1))


def _window(graph: Graph, node: Node) -> Geometry:
    assert isinstance(node.op, Conv2d)
    return node.op.geometry(graph.types[node.inputs[0]].shape[-1])


def _coarse(factor: Array) -> tuple[Step, ...]:
    """The middle of the part that a cut sum lies in, times its factor: exact in float32."""
    half = np.asarray(0.5, np.float32)
    return Step("Floor"), Step("Add", half), Step("Mul", factor.astype(np.float32))


def _fine(found: Multiplier, offset: int) -> tuple[Step, ...]:
    """The whole sum: its products with the factor need more bits than float32 has.

    The offset of the output is added to the sums, as a whole number.
    """
    whole = np.rint(-offset / found.exact)
    return (
        Step("Cast", to=DType.FLOAT_64),
        Step("Mul", found.value),
        Step("Add", whole * found.value + offset + 0.5),
        Step("Floor"),
        Step("Cast", to=DType.FLOAT_32),
    )


def _stored_bias(graph: Graph, node: Node) -> Array | None:
    """The bias in units of the sums; no elements where there is none, None where it is not known."""
    name = given(node.inputs, 2)
    if not name:
        return np.zeros(0)
    x, weights = (graph.types[value].encoding for value in node.inputs[:2])
    encoding = graph.types[name].encoding
    is_known = name in graph.constants and graph.types[name].dtype == DType.SFIXED_POINT_32
    if not is_known or x is None or weights is None or encoding is None or any(encoding.offsets):
        return None
    real = graph.constants[name].astype(np.float64) * np.asarray(encoding.scales)
    return np.asarray(np.rint(real / (x.scales[0] * np.asarray(weights.scales))))


def _added(graph: Graph, node: Node, bias: Array) -> Array:
    """The bias as the sums get it: HTP takes every channel's scale for the widest one's."""
    x, weights, encoding = (graph.types[value].encoding for value in node.inputs[:3])
    assert x is not None
    assert weights is not None
    assert encoding is not None
    sums = float(np.float32(x.scales[0]) * np.float32(max(weights.scales)))
    if weights.axis is not None:
        return added_bias(bias.astype(np.float32) * np.float32(sums), sums, is_per_channel=True)
    stored = graph.constants[node.inputs[2]].astype(np.float32)
    return added_bias(stored * np.float32(encoding.scales[0]), sums, is_per_channel=False)


def _softmax(graph: Graph, node: Node) -> SumForm | None:
    """Of two classes: the larger has at most 255 parts of 255, not of 256."""
    assert isinstance(node.op, Softmax)
    x, y = (graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    shares = x.shape[node.op.axis_of(x.rank)]
    if x.encoding is None or y.encoding != Encoding((1 / 256,), (0,)) or shares != PAIR:
        return None
    return SumForm({node.inputs[0]: x.encoding}, {}, (Step("Mul", np.asarray(255, np.float32)),))


def _sum(graph: Graph, node: Node) -> SumForm | None:
    """Operands times whole factors, plus their offsets in coarse units."""
    types = [graph.types[value] for value in (*node.inputs, *node.outputs)]
    # One number is added by a table of all results.
    is_table = any(value in graph.constants and graph.constants[value].size == 1 for value in node.inputs)
    if not all(map(_is_byte, types)) or node.inputs[0] == node.inputs[1] or is_table:
        return None
    a, b, y = (kind.encoding for kind in types if kind.encoding is not None)
    is_difference = isinstance(node.op, ElementWiseSubtract)
    ratios = np.array([a.scales[0], b.scales[0]]) / y.scales[0]
    (first, second), bits = sum_weights(ratios, ratios.max() if is_difference else ratios.sum())
    if bits < 0:
        return None
    second = -second if is_difference else second
    offset = a.offsets[0] * first + b.offsets[0] * second - y.offsets[0] * (1 << bits)
    offset = away_from_zero(offset / OFFSET_UNIT) * OFFSET_UNIT
    # Half a unit more: a half of a step is rounded up, and nothing lies between.
    added = np.asarray((offset + 0.5) / 2.0**bits + y.offsets[0], np.float32)
    inputs = {
        node.inputs[0]: Encoding((first / 2.0**bits,), (0,)),
        node.inputs[1]: Encoding((abs(second) / 2.0**bits,), (0,)),
    }
    return SumForm(inputs, {}, (Step("Add", added),))


def _element_product(graph: Graph, node: Node) -> SumForm | None:
    """Operands may be constants, of 8 bits as well."""
    types = [graph.types[value] for value in (*node.inputs, *node.outputs)]
    if not all(map(_is_byte, types)):
        return None
    a, b, y = (kind.encoding for kind in types if kind.encoding is not None)
    gated = _find_gated(graph, node)
    if gated:
        return _tabulated(graph, gated, y, lambda x: x / (1 + np.exp(-x)))
    known = [value for value in node.inputs if value in graph.constants and graph.constants[value].size == 1]
    if known and len(set(node.inputs)) == PAIR and _real_number(graph, known[0]) > 0:
        return _multiplied(graph, node, known[0])
    steps = multiply_elements(a, b, y)
    return steps and whole_form(dict(zip(node.inputs, (a, b), strict=True)), steps)


def _find_gated(graph: Graph, node: Node) -> str:
    """The value that is multiplied with its own sigmoid; "" where none is."""
    for value, gate in (node.inputs, node.inputs[::-1]):
        maker = graph.producer(gate)
        if maker is not None and isinstance(maker.op, Sigmoid) and maker.inputs == [value]:
            return value if graph.is_used_once(gate) else ""
    return ""


def _tabulated(graph: Graph, value: str, y: Encoding, function: Callable[[Array], Array]) -> SumForm:
    """All results of an input of 8 bits, each rounded once."""
    x = graph.types[value].encoding
    assert x is not None
    with np.errstate(over="ignore"):
        real = function((np.arange(256) + float(x.offsets[0])) * x.scales[0])
    stored = np.clip(np.floor(real / y.scales[0] + 0.5) - y.offsets[0], 0, 255)
    return SumForm({value: x}, table=stored.astype(np.uint8))


def _real_number(graph: Graph, name: str) -> float:
    encoding = graph.types[name].encoding
    assert encoding is not None
    return float(encoding.decode(graph.constants[name]).reshape(()))


def _multiplied(graph: Graph, node: Node, number: str) -> SumForm | None:
    """Values times one number only get another scale."""
    value = next(name for name in node.inputs if name != number)
    x, y = (graph.types[name].encoding for name in (value, node.outputs[0]))
    assert x is not None
    assert y is not None
    found = rescaling(x.scales[0] * _real_number(graph, number) / y.scales[0])
    if found is None:
        return None
    constants = {number: np.full(graph.constants[number].shape, found.factor, np.float32)}
    return SumForm({value: Encoding((1.0,), x.offsets)}, constants, (_adding(found.added),))


def _moved(graph: Graph, node: Node) -> SumForm | None:
    """Values that get the scale of the output, each from its own."""
    y, inputs, constants, shifts = graph.types[node.outputs[0]].encoding, {}, {}, {}
    assert y is not None
    for value in filter(None, node.inputs):
        x = graph.types[value].encoding
        found = rescaling(x.scales[0] / y.scales[0]) if x is not None and _is_byte(graph.types[value]) else None
        if x is None or found is None:
            return None
        seen = Encoding((found.factor,), x.offsets)
        inputs[value] = seen
        if x.scales != y.scales:
            shifts[value] = found.added
        if value in graph.constants:
            constants[value] = seen.decode(graph.constants[value]) + np.float32(shifts.get(value, 0))
    return SumForm(inputs, constants, shifts=shifts)


def _bent(graph: Graph, node: Node) -> SumForm | None:
    """Numbers below zero have factors of their own, with as many bits below a step."""
    slope = node.inputs[1]
    x, slopes, y = (graph.types[value].encoding for value in (node.inputs[0], slope, node.outputs[0]))
    if x is None or y is None or slopes is None or slope not in graph.constants:
        return None
    ratio = x.scales[0] / y.scales[0]
    found = rescaling(ratio, BENT_PARTS)
    if found is None:
        return None
    real = slopes.decode(graph.constants[slope]).astype(np.float64)
    bent = np.floor(real * ratio * 2.0**found.bits + 0.5) / 2.0**found.bits
    constants = {slope: (bent / found.factor).astype(np.float32)}
    return SumForm(
        {node.inputs[0]: Encoding((found.factor,), x.offsets)}, constants, (_adding(found.added),)
    )


def _average(graph: Graph, node: Node) -> SumForm | None:
    """Pools of 3 x 3 places are sums of products, those of 2 x 2 are rounded to a part of a step first."""
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    op, image = node.op, graph.types[node.inputs[0]].shape[1:3]
    assert isinstance(op, PoolAvg2d)
    if x is None or y is None or any(map(any, op.pad_amount)):
        return None
    ratio, places, kind = x.scales[0] / y.scales[0], int(np.prod(op.filter_size)), (op.filter_size, op.stride)
    if op.filter_size == image or kind not in (HALVING, SMOOTHING):
        return _mean(x, y, node.inputs[0], places)
    if kind == HALVING:
        # As much as half a part; at least what keeps halves from going down.
        added = 2.0 ** (np.floor(np.log2(ratio)) - 5) if 0.5 <= ratio < PAIR else 0.0
        return SumForm({node.inputs[0]: Encoding((ratio,), x.offsets)}, {}, (_adding(added),))
    found = multiplier(x.scales[0], np.asarray([1 / places]), y.scales[0], COARSE_BITS)
    if found is None:
        return None
    cut = Step("Mul", found.cut[0].astype(np.float32))
    steps = (*_whole(places), cut, *_coarse((found.value / found.cut)[0]))
    return SumForm({node.inputs[0]: Encoding((1.0,), x.offsets)}, {}, steps)


def _reduced(graph: Graph, node: Node) -> SumForm | None:
    x, y = (graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    assert isinstance(node.op, ReduceMean)
    if x.encoding is None or y.encoding is None or not x.is_static:
        return None
    places = int(np.prod([x.static_shape()[axis] for axis in node.op.axes]))
    return _mean(x.encoding, y.encoding, node.inputs[0], places)


def _mean(x: Encoding, y: Encoding, value: str, places: int) -> SumForm | None:
    """The whole sum times a factor of 15 bits, halves up."""
    found = multiplier(x.scales[0], np.asarray([1 / places]), y.scales[0], FINE_BITS)
    if found is None or not places:
        return None
    return SumForm(
        {value: Encoding((1.0,), x.offsets)}, {}, (*_whole(places), *shift_down(float(found.value[0]), 0.5))
    )


def _whole(places: int) -> tuple[Step, ...]:
    """Means of whole numbers as sums, which are whole numbers again."""
    return Step("Mul", np.asarray(places, np.float32)), Step("Round")


def _negated(graph: Graph, node: Node) -> SumForm | None:
    x, y = (graph.types[value].encoding for value in (node.inputs[0], node.outputs[0]))
    if x is None or y is None or x.scales[0] == y.scales[0]:
        return None
    found = rescaling(x.scales[0] / y.scales[0])
    if found is None:
        return None
    return SumForm({node.inputs[0]: Encoding((found.factor,), x.offsets)}, {}, (_adding(found.added),))


def _adding(number: float) -> Step:
    return Step("Add", np.asarray(number, np.float32))


Rule = Callable[[Graph, Node], SumForm | None]
RULES: dict[type[Op], Rule] = {
    Conv2d: _convolution,
    DepthWiseConv2d: _convolution,
    TransposeConv2d: _convolution,
    FullyConnected: _fully_connected,
    MatMul: _matmul,
    Softmax: _softmax,
    ElementWiseAdd: _sum,
    ElementWiseMaximum: _moved,
    ElementWiseMinimum: _moved,
    ElementWiseSubtract: _sum,
    ElementWiseMultiply: _element_product,
    ElementWiseNeg: _negated,
    PoolAvg2d: _average,
    Prelu: _bent,
    ReduceMean: _reduced,
}

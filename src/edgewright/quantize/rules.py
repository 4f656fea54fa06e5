"""The HTP's rules for encodings, as records: each is applied by default, and listed when it was."""

from dataclasses import dataclass

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.op import Op
from edgewright.ir.traits import EncodingRule
from edgewright.ops.activation import HardSigmoid, Relu, Relu1, Relu6, ReluMinMax, Sigmoid, Tanh
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise_generic import Generic
from edgewright.ops.matmul import MatMul
from edgewright.ops.quant import Convert, Dequantize, Quantize
from edgewright.ops.reduce_softmax import LogSoftmax, MaskedSoftmax, Softmax
from edgewright.ops.source import SourceOp
from edgewright.quantize.encodings import Grid

__all__ = [
    "FLOAT_OPS",
    "RULES",
    "Rule",
    "fixed_encoding",
    "float_rule",
    "is_clamp",
    "is_invariant",
    "is_rigid",
    "second_operand_grid",
]


@dataclass(frozen=True)
class Rule:
    """One rule: a short name and what it asks for."""

    name: str
    text: str


RULES = {
    rule.name: rule
    for rule in (
        Rule("unit-range", "outputs of Sigmoid, HardSigmoid and Softmax cover 0..1: scale 1/256 or 1/65536"),
        Rule("tanh-range", "outputs of Tanh cover -1..1: scale 1/128 or 1/32768"),
        Rule(
            "same-encoding",
            "ops that only move data read and write one encoding (Concat, Reshape, PoolMax2d)",
        ),
        Rule(
            "clamp-in-producer", "an op before a Relu writes the Relu's encoding: the clamp costs no rounding"
        ),
        Rule("symmetric-weights", "encodings of channels and rows are symmetric, with signed integers"),
        Rule("float-only", "ops that the HTP has in floating point only, and recurrent layers, stay there"),
        Rule("fragile", "roots, reciprocals, logarithms and the sums around them stay in floating point"),
        Rule(
            "eight-bits-only", "ops that the HTP has in 8 bits only stay in floating point where 16 are asked"
        ),
        Rule("wide-product", "the second operand of a 16-bit MatMul is symmetric within -0x8000..0x7F7F"),
        Rule("wide-weights", "16-bit weights need Hexagon v73: before that they have 8"),
        Rule("bias-scale", "a 32-bit bias has the scale of the products it is added to"),
        Rule("flat-ends", "what only a Sigmoid, HardSwish, Tanh ... reads is cut where that is flat"),
        Rule("masked-softmax", "what a mask pushes far below the scores needs no steps of its own"),
    )
}

# The HTP's table has neither INT8 nor INT16 for these. Left out are those that another op takes over before
# they get there (Conv1d and its like become 2-D), and recurrent layers are added: their states carry the
# error of every step to the next.
FLOAT_OPS = frozenset(
    {
        "AxisAlignedBboxTransform",
        "BboxTransform",
        "BoxWithNmsLimit",
        "CollectRpnProposals",
        "CombinedNms",
        "Correlation1D",
        "CropAndResize",
        "DistributeFpnProposals",
        "ElementWiseFmod",
        "ElementWiseMod",
        "ElementWiseSoftplus",
        "GenerateProposals",
        "Gru",
        "HadamardTransform",
        "ImageProjectionTransform",
        "IsInf",
        "IsNan",
        "L2Pool2d",
        "Lstm",
        "Moments",
        "RandomNormalLike",
        "RandomUniformLike",
        "ReduceProd",
        "ReduceSumSquare",
        "RoiPooling",
        "Stft",
    }
)
EIGHT_BIT_OPS = frozenset(
    {"ElementWiseAsin", "ExtractGlimpse", "ExtractPatches", "HeatMapMaxKeyPoint", "Lrn"}
)
FIRST_WITH_WIDE_WEIGHTS = 73
WIDE_PRODUCT_STEPS = (-0x8000, 0x7F7F)
UNIT: tuple[type[Op], ...] = (Sigmoid, HardSigmoid, Softmax, MaskedSoftmax)
CLAMPS: tuple[type[Op], ...] = (Relu, Relu1, Relu6, ReluMinMax)
RIGID: tuple[type[Op], ...] = (Cast, Convert, Dequantize, Quantize, SourceOp)


def fixed_encoding(op: Op, bits: int, *, is_symmetric: bool) -> tuple[Rule, Encoding, DType] | None:
    """The encoding that an op's output must have, with the rule that says so."""
    meant = _meant(op)
    dtype = Grid(bits, is_symmetric).dtype
    half = 1 << (bits - 1)
    if isinstance(meant, UNIT) and not isinstance(meant, LogSoftmax):
        steps = half if is_symmetric else 2 * half
        return RULES["unit-range"], Encoding((1 / steps,), (0,), None, bits), dtype
    if isinstance(meant, Tanh):
        offset = 0 if is_symmetric else -half
        return RULES["tanh-range"], Encoding((1 / half,), (offset,), None, bits), dtype
    return None


def float_rule(op: Op, bits: int, float_ops: frozenset[str]) -> Rule | None:
    """The rule that keeps an op in floating point, if one does."""
    if op.qnn_name() in float_ops:
        return RULES["float-only"]
    return RULES["eight-bits-only"] if bits > 8 and op.qnn_name() in EIGHT_BIT_OPS else None


def second_operand_grid(op: Op, bits: int) -> Grid | None:
    """The grid that the second operand of a product must be on, where it is no weight."""
    return Grid(16, True, WIDE_PRODUCT_STEPS) if isinstance(op, MatMul) and bits == 16 else None


def is_invariant(op: Op) -> bool:
    """Whether the op only moves data: its output has the encoding of its input."""
    return _meant(op).encoding_rule == EncodingRule.SAME_AS_INPUT


def is_clamp(op: Op) -> bool:
    """Whether the op is a Relu of some kind: an encoding that ends where it does can do its work."""
    return isinstance(_meant(op), CLAMPS)


def is_rigid(op: Op) -> bool:
    """Whether the op's types are what it is about (Cast ...), so that a quantizer must not change them."""
    return isinstance(op, RIGID)


def _meant(op: Op) -> Op:
    return op.specific() if isinstance(op, Generic) else op

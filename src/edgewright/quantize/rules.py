"""The HTP's rules for encodings, as records: each is applied by default, and listed when it was."""

from dataclasses import dataclass

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.op import Op
from edgewright.ir.traits import EncodingRule, HtpPrecision
from edgewright.ops.matmul import MatMul
from edgewright.ops.norm import Batchnorm
from edgewright.quantize.encodings import WIDE_FACTORS, Grid


@dataclass(frozen=True)
class Rule:
    """One rule: a short name and what it asks for."""

    name: str
    text: str


# What masks are cut to.
MASKED_RULE = "masked-softmax"
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
        Rule(
            "wide-product",
            "the second operand of a 16-bit MatMul or Batchnorm is symmetric within -0x8000..0x7F7F",
        ),
        Rule("wide-weights", "16-bit weights need Hexagon v73: before that they have 8"),
        Rule("bias-scale", "a 32-bit bias has the scale of the products it is added to"),
        Rule("flat-ends", "what only a Sigmoid, HardSwish, Tanh ... reads is cut where that is flat"),
        Rule(
            "wide-values",
            "what 8 bits cannot carry in a transformer has 16 where samples gain by it",
        ),
        Rule(MASKED_RULE, "what a mask pushes far below the scores needs no steps of its own"),
    )
}

FIRST_WITH_WIDE_WEIGHTS = 73


def find_fixed_encoding(op: Op, bits: int, *, is_symmetric: bool) -> tuple[Rule, Encoding, DType] | None:
    """The encoding that an op's output must have, with the rule that says so."""
    meant = op.specific()
    if meant.encoding_rule != EncodingRule.FIXED:
        return None
    dtype = Grid(bits, is_symmetric).dtype
    half = 1 << (bits - 1)
    if meant.value_range() == (0, 1):
        steps = half if is_symmetric else 2 * half
        return RULES["unit-range"], Encoding((1 / steps,), (0,), None, bits), dtype
    if meant.value_range() == (-1, 1):
        offset = 0 if is_symmetric else -half
        return RULES["tanh-range"], Encoding((1 / half,), (offset,), None, bits), dtype
    return None


def find_float_rule(op: Op, bits: int) -> Rule | None:
    """The rule that keeps an op in floating point, if one does."""
    if op.htp_precision == HtpPrecision.FLOAT:
        return RULES["float-only"]
    is_too_wide = bits > 8 and op.htp_precision == HtpPrecision.EIGHT_BITS
    return RULES["eight-bits-only"] if is_too_wide else None


def find_second_operand_grid(op: Op, bits: int) -> Grid | None:
    """The grid that the second operand of a product must be on, where it is no weight of a layer."""
    return WIDE_FACTORS if isinstance(op, MatMul | Batchnorm) and bits == 16 else None

"""Steps on sums as one op of our own, where it is compiled: one pass through memory instead of one a step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from edgewright.backends.cpu.compiled import DOMAIN, find_kernels
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import Op
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract

if TYPE_CHECKING:
    from edgewright.backends.cpu.sums import Step
    from edgewright.backends.cpu.writer import Writer

# The letters by which the kernel knows steps.
# A branch: sums are kept, what became of them and what was kept change places, and both become one.
JOINTS = {"Mul": "x", "Add": "y"}
LETTERS = {"Floor": "f", "Round": "r", "Add": "a", "Mul": "m", "Max": "u", "Min": "l"}
CASTS = {DType.FLOAT_64: "d", DType.FLOAT_32: "s"}
ROUNDING_OPS = {DType.UFIXED_POINT_8: "RoundSums8", DType.UFIXED_POINT_16: "RoundSums16"}
# By the datatypes of values, and those of tables.
LOOK_UP_OPS = {
    (DType.UFIXED_POINT_8, "uint8"): "LookUp8To8",
    (DType.UFIXED_POINT_8, "uint16"): "LookUp8To16",
    (DType.UFIXED_POINT_8, "int16"): "LookUp8ToSigned16",
    (DType.UFIXED_POINT_16, "uint8"): "LookUp16To8",
    (DType.UFIXED_POINT_16, "uint16"): "LookUp16To16",
    (DType.UFIXED_POINT_16, "int16"): "LookUp16ToSigned16",
}
# How two values become one.
COMBINATIONS: dict[type[Op], str] = {
    ElementWiseAdd: "+",
    ElementWiseSubtract: "-",
    ElementWiseMultiply: "*",
}
# Of the numbers that the kernel takes at once, and of the letters that it has room for.
BLOCK, MOST_LETTERS = 512, 63


@dataclass(frozen=True)
class Program:
    """Steps as letters, and the operands that they take in turn."""

    letters: str
    operands: tuple[Array, ...] = ()


@dataclass(frozen=True)
class SumSteps:
    """What is done to sums before they are stored; where two become one, also to each of them before."""

    steps: Sequence["Step"]
    first: Sequence["Step"] = ()
    second: Sequence["Step"] = ()


def split_in_one_pass(w: "Writer", value: str) -> list[str]:
    """The high and the low bytes of 16 bits; nothing without our kernels."""
    return [] if find_kernels() is None else w.node_all("SplitBytes", value, outputs=2, domain=DOMAIN)


def look_up_in_one_pass(w: "Writer", value: str, dtype: DType, table: Array) -> str:
    """What a table has for each number; "" where no kernel of ours has such numbers."""
    op = LOOK_UP_OPS.get((dtype, table.dtype.name))
    if op is None or table.shape != (1 << dtype.bits,) or find_kernels() is None:
        return ""
    return w.node(op, value, w.constant(table), domain=DOMAIN)


def round_in_one_pass(
    w: "Writer", sums: Sequence[str], taken: SumSteps, dtype: DType, zero: int, axis: int
) -> str:
    """The integers that are stored; "" where the kernel is not there, or does not know a step."""
    spelled = spell_rounding(taken)
    if dtype not in ROUNDING_OPS or spelled is None or find_kernels() is None:
        return ""
    operands = map(w.constant, spelled.operands)
    return w.node(
        ROUNDING_OPS[dtype],
        *(sums[0], *operands, *sums[1:]),
        domain=DOMAIN,
        **spelled.letters,
        axis=axis,
        zero=zero,
    )


@dataclass(frozen=True)
class SpelledRounding:
    """The attributes and inputs by which a kernel knows all steps on sums."""

    letters: dict[str, str]
    # As floats, and as doubles.
    operands: tuple[Array, Array]


def spell_rounding(taken: SumSteps) -> SpelledRounding | None:
    """None where the kernels lack a step."""
    programs = [_spell_steps(steps) for steps in (taken.first, taken.second, taken.steps)]
    known = [program for program in programs if program and len(program.letters) <= MOST_LETTERS]
    if len(known) < len(programs):
        return None
    names = ("first", "second", "steps")
    letters = {name: program.letters for name, program in zip(names, known, strict=True)}
    return SpelledRounding(letters, _tile_operands([o for program in known for o in program.operands]))


def can_combine(op: Op, types: Sequence[DType]) -> bool:
    """Whether the kernel computes an op on values of these types."""
    is_wide = set(types) == {DType.UFIXED_POINT_16}
    return type(op) in COMBINATIONS and is_wide and find_kernels() is not None


def combine_in_one_pass(
    w: "Writer", op: Op, sides: Sequence[str], numbers: Array, steps: Sequence["Step"], zero: int
) -> str:
    """The integers that are stored for a sum or a product of two values of 16 bits, element by element.

    Numbers are the offset and the factor of each side.
    """
    program = _spell_steps(steps)
    assert program is not None
    operands = np.asarray([*program.operands, 0.0], np.float64).reshape(-1, 1)
    return w.node(
        "CombineWords",
        *(*sides, w.constant(numbers), w.constant(operands.astype(np.float32)), w.constant(operands)),
        domain=DOMAIN,
        first=COMBINATIONS[type(op)],
        steps=program.letters,
        zero=zero,
    )


def _spell_steps(steps: Sequence["Step"], *, is_branch: bool = False) -> Program | None:
    """None where the kernel lacks a step."""
    letters = ""
    operands: list[Array] = []
    for step in steps:
        if step.to is not None and step.to in CASTS and not is_branch:
            letters += CASTS[step.to]
        elif step.branch and step.op in JOINTS and not is_branch:
            sides = [_spell_steps(side, is_branch=True) for side in (step.branch, step.trunk)]
            if None in sides:
                return None
            branch, trunk = cast("list[Program]", sides)
            letters += f"k{branch.letters}w{trunk.letters}{JOINTS[step.op]}"
            operands += [*branch.operands, *trunk.operands]
        elif step.op in LETTERS and not step.branch and step.to is None:
            letters += LETTERS[step.op]
            operands += [] if step.operand is None else [step.operand]
        else:
            return None
    return Program(letters, tuple(operands))


def _tile_operands(operands: Sequence[Array]) -> tuple[Array, Array]:
    """Rows of operands as floats and as doubles, repeated until they nearly fill what is taken at once."""
    channels = max((operand.size for operand in operands), default=1)
    rows = [np.broadcast_to(operand.reshape(-1), (channels,)) for operand in operands]
    table = np.tile(np.asarray(rows or [np.zeros(channels)], np.float64), (1, max(1, BLOCK // channels)))
    with np.errstate(over="ignore"):
        return table.astype(np.float32), table

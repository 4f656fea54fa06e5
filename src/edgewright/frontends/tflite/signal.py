"""TFLite's Fourier transform and the complex numbers that it makes: pairs of real values in the graph."""

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded
from edgewright.core.numbers import Array
from edgewright.frontends._common.terms import emit_slice
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.elementwise_unary import ElementWiseSquareRoot
from edgewright.ops.matmul import MatMul
from edgewright.ops.rearrange_fill import Pad, Scheme

# Points of one transform: as a matrix it has their square of elements.
LONGEST = 8192


@tflite_op("RFFT2D")
def rfft_2d(ctx: Context, node: SourceNode) -> str:
    """Products with cosines and sines, along the rows and then, where there are several, the columns."""
    x, lengths = node.need(0, 1)
    wanted = ctx.read_ints(lengths)
    if len(wanted) != 2 or min(wanted) < 1 or ctx.rank(x) < 2:
        raise BadInput(f"lengths {list(wanted)} of {ctx.type(x)}, expected two of at least 1", node.where)
    if max(wanted) > LONGEST:
        raise LimitExceeded(f"{max(wanted)} points are transformed, at most {LONGEST} are", node.where)
    height, width = wanted
    fitted = _fit_lengths(ctx, x, wanted)
    angle = _list_angles(width)[:, : width // 2 + 1]
    real = ctx.emit(MatMul(), fitted, ctx.add_constant(np.cos(angle).astype(np.float32)))
    imaginary = ctx.emit(MatMul(), fitted, ctx.add_constant(-np.sin(angle).astype(np.float32)))
    if height > 1:
        real, imaginary = _transform_columns(ctx, real, imaginary, height)
    return ctx.complex_of(real, imaginary)


@tflite_op("COMPLEX_ABS")
def complex_abs(ctx: Context, node: SourceNode) -> str:
    """The root of the sum of squares."""
    squares = [ctx.emit(ElementWiseMultiply(), part, part) for part in ctx.parts(node.need(0)[0])]
    return ctx.emit(ElementWiseSquareRoot(), ctx.emit(ElementWiseAdd(), *squares))


@tflite_op("REAL")
def real_part(ctx: Context, node: SourceNode) -> str:
    """The first of the pair."""
    return ctx.parts(node.need(0)[0])[0]


@tflite_op("IMAG")
def imaginary_part(ctx: Context, node: SourceNode) -> str:
    """The second of the pair."""
    return ctx.parts(node.need(0)[0])[1]


def _list_angles(count: int) -> Array:
    places = np.arange(count)
    # Taken modulo the count first: large products would lose the fraction.
    angles: Array = 2 * np.pi * (np.outer(places, places) % count) / count
    return angles


def _fit_lengths(ctx: Context, x: str, wanted: tuple[int, ...]) -> str:
    """The last two axes cut, or filled with zeros, to the wanted lengths."""
    shape = ctx.sizes(x)
    kept = (*shape[:-2], *(min(size, goal) for size, goal in zip(shape[-2:], wanted, strict=True)))
    cut = emit_slice(ctx, x, [(0, size, 1) for size in kept])
    missing = [goal - size for size, goal in zip(kept[-2:], wanted, strict=True)]
    if not any(missing):
        return cut
    amounts = (*((0, 0) for _ in shape[:-2]), *((0, amount) for amount in missing))
    return ctx.emit(Pad(scheme=Scheme.CONSTANT, pad_amount=amounts), cut)


def _transform_columns(ctx: Context, real: str, imaginary: str, height: int) -> tuple[str, str]:
    """The transform of each column: (a + bi) times (cos - i sin)."""
    angle = _list_angles(height)
    cosine, sine = (ctx.add_constant(part.astype(np.float32)) for part in (np.cos(angle), np.sin(angle)))
    made = {
        (name, wave): ctx.emit(MatMul(), matrix, value)
        for name, value in (("re", real), ("im", imaginary))
        for wave, matrix in (("cos", cosine), ("sin", sine))
    }
    return (
        ctx.emit(ElementWiseAdd(), made["re", "cos"], made["im", "sin"]),
        ctx.emit(ElementWiseSubtract(), made["im", "cos"], made["re", "sin"]),
    )

"""ONNX's Det: small determinants written out by their minors."""

from itertools import combinations

from edgewright.core.errors import ShapeMismatch
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.cutting import cut_parts
from edgewright.frontends.onnx.foreign import keep_as_source_op
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract

# 4 x 4 takes 28 products; beyond that elimination with pivots is wanted, which QNN cannot say.
LARGEST = 4


@onnx_op("Det", since=11)
def det(ctx: Context, node: SourceNode) -> str | list[str]:
    """Expansion along the rows from the last one up, each minor computed once."""
    x = node.inputs[0]
    if ctx.rank(x) < 2 or ctx.shape(x)[-1] != ctx.shape(x)[-2]:
        raise ShapeMismatch(f"x is {ctx.type(x)}, expected square matrices")
    size, batch = ctx.shape(x)[-1], ctx.shape(x)[:-2]
    if not isinstance(size, int) or not 0 < size <= LARGEST:
        return keep_as_source_op(ctx, node)
    axis = ctx.rank(x) - 2
    rows = [cut_parts(ctx, row, axis + 1, size) for row in cut_parts(ctx, x, axis, size)]
    minors: dict[tuple[int, ...], str] = {(column,): value for column, value in enumerate(rows[-1])}
    for height in range(2, size + 1):
        row = rows[size - height]
        minors = {
            columns: _expand_minors(ctx, row, columns, minors)
            for columns in combinations(range(size), height)
        }
    return ctx.reshape(minors[tuple(range(size))], batch)


def _expand_minors(
    ctx: Context, row: list[str], columns: tuple[int, ...], minors: dict[tuple[int, ...], str]
) -> str:
    total = ""
    for place, column in enumerate(columns):
        rest = columns[:place] + columns[place + 1 :]
        term = ctx.emit(ElementWiseMultiply(), row[column], minors[rest])
        if not total:
            total = term
        else:
            total = ctx.emit(ElementWiseSubtract() if place % 2 else ElementWiseAdd(), total, term)
    return total

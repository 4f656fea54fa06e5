"""Products of matrices, as every source format has them."""

from edgewright.core.errors import ShapeMismatch
from edgewright.frontends._common.builder import Builder
from edgewright.ir.dims import Dim
from edgewright.ops.matmul import FullyConnected, MatMul


def emit_product(ctx: Builder, left: str, right: str, turned: MatMul | None = None) -> str:
    """As numpy multiplies matrices; a fully connected layer where the right operand is a known matrix."""
    turned = turned or MatMul()
    left_rank, right_rank = ctx.rank(left), ctx.rank(right)
    if left_rank == 0 or right_rank == 0:
        raise ShapeMismatch(
            f"operands are {ctx.type(left)} and {ctx.type(right)}, expected one axis or more",
            do="multiply scalars with Mul",
        )
    if left_rank == 1:
        left = ctx.reshape(left, (1, *ctx.shape(left)))
    if right_rank == 1:
        right = ctx.reshape(right, (*ctx.shape(right), 1))
    if right_rank == 2 and not turned.transpose_in0 and is_weight(ctx, right):
        weights = right if turned.transpose_in1 else ctx.transpose(right, (1, 0))
        result = emit_fully_connected(ctx, left, weights)
    else:
        result = ctx.emit(turned, left, right)
    return ctx.reshape(result, _without_vectors(ctx.shape(result), left_rank, right_rank))


def emit_fully_connected(ctx: Builder, x: str, weights: str, *bias: str) -> str:
    """A fully connected layer: weights [units, inputs]."""
    # Without keep_dims the layer would fold rows of another width; a product must not.
    MatMul(transpose_in1=True).infer(ctx.type(x), ctx.type(weights))
    return ctx.emit(FullyConnected(keep_dims=ctx.rank(x) > 2), x, weights, *bias)


def is_weight(ctx: Builder, value: str) -> bool:
    """Whether a value is stored, and real."""
    return value in ctx.graph.constants and ctx.dtype(value).is_float


def _without_vectors(shape: tuple[Dim, ...], left_rank: int, right_rank: int) -> tuple[Dim, ...]:
    rows = () if left_rank == 1 else shape[-2:-1]
    columns = () if right_rank == 1 else shape[-1:]
    return (*shape[:-2], *rows, *columns)

"""ATen ops of complex numbers, which ONNX and QNN do not have: a last axis holds both parts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.elementwise import emit_angle
from edgewright.frontends.pytorch.registry import complex_op
from edgewright.frontends.pytorch.values import Tensor, as_array


def _pair_parts(ctx: Context, x: Any) -> str:
    """Both parts of each number side by side."""
    if isinstance(x, Tensor) and not x.dtype.is_complex:
        name = ctx.value(x, _part(ctx))
        return ctx.add(
            "Concat", *(ctx.unsqueeze(n, [x.rank]) for n in (name, _emit_zeros(ctx, name))), axis=x.rank
        )
    if isinstance(x, Tensor):
        if x.name is None:
            x.name = ctx.constant(ctx.torch.view_as_real(x.data.resolve_conj().contiguous()), x.path)
        return x.name
    number = complex(x)
    return ctx.value(as_array(ctx.torch.tensor([number.real, number.imag], dtype=_part(ctx))))


def _part(ctx: Context) -> Any:
    """The real type of the result's parts."""
    return ctx.out[0].dtype.to_real()


def _emit_numbers(ctx: Context, numbers: Array) -> str:
    return ctx.value(as_array(ctx.torch.from_numpy(np.ascontiguousarray(numbers)).to(_part(ctx))))


def _emit_zeros(ctx: Context, name: str) -> str:
    return ctx.add("Mul", name, ctx.scalar(0, _part(ctx)))


def _split_parts(ctx: Context, pairs: str, rank: int) -> list[str]:
    """The real and the imaginary part."""
    return [ctx.add("Gather", pairs, np.array(i, np.int64), axis=rank) for i in (0, 1)]


def _join_parts(ctx: Context, real: str, imaginary: str, rank: int) -> str:
    return ctx.add("Concat", ctx.unsqueeze(real, [rank]), ctx.unsqueeze(imaginary, [rank]), axis=rank)


def _rank(ctx: Context) -> int:
    return len(ctx.out[0].shape)


@complex_op(
    "view_as_real",
    "view_as_complex",
    "clone",
    "contiguous",
    "detach",
    "alias",
    "resolve_conj",
)
def _same(ctx: Context, x: Tensor, *_: Any) -> str:
    return _pair_parts(ctx, x) if x.dtype.is_complex else ctx.value(x)


@complex_op("to", "_to_copy")
def _convert_parts(ctx: Context, x: Tensor, *_: Any) -> str:
    if not ctx.out[0].dtype.is_complex:
        return ctx.cast(_split_parts(ctx, _pair_parts(ctx, x), x.rank)[0], ctx.out[0].dtype)
    pairs = _pair_parts(ctx, x)
    is_same = not x.dtype.is_complex or x.dtype == ctx.out[0].dtype
    return pairs if is_same else ctx.cast(pairs, _part(ctx))


@complex_op("complex")
def _complex(ctx: Context, real: Tensor, imaginary: Tensor) -> str:
    return _join_parts(ctx, _widen(ctx, real), _widen(ctx, imaginary), _rank(ctx))


def _widen(ctx: Context, x: Tensor) -> str:
    shape = tuple(ctx.out[0].shape)
    return ctx.value(x) if x.shape == shape else ctx.add("Expand", x, ctx.ints(shape))


@complex_op("polar")
def _polar(ctx: Context, size: Tensor, angle: Tensor) -> str:
    real, imaginary = (
        ctx.add("Mul", _widen(ctx, size), ctx.add(op, _widen(ctx, angle))) for op in ("Cos", "Sin")
    )
    return _join_parts(ctx, real, imaginary, _rank(ctx))


@complex_op("abs")
def _abs(ctx: Context, x: Tensor) -> str:
    return ctx.add("ReduceL2", _pair_parts(ctx, x), ctx.ints([x.rank]), keepdims=0)


@complex_op("angle")
def _angle(ctx: Context, x: Tensor) -> str:
    real, imaginary = _split_parts(ctx, _pair_parts(ctx, x), x.rank)
    return emit_angle(ctx, imaginary, real)


@complex_op("_conj", "conj", "_conj_physical")
def _conjugated(ctx: Context, x: Tensor) -> str:
    return ctx.add("Mul", _pair_parts(ctx, x), _emit_numbers(ctx, np.array([1, -1])))


@complex_op("neg")
def _negated(ctx: Context, x: Tensor) -> str:
    return ctx.add("Neg", _pair_parts(ctx, x))


@complex_op("add", "sub")
def _sum(ctx: Context, a: Any, b: Any, alpha: Any = 1) -> str:
    if alpha != 1:
        raise ctx.refused(f"alpha is {alpha}, expected 1")
    return ctx.add("Add" if "add" in ctx.op else "Sub", _pair_parts(ctx, a), _pair_parts(ctx, b))


@complex_op("mul")
def _product(ctx: Context, a: Any, b: Any) -> str:
    plain = [isinstance(x, Tensor) and not x.dtype.is_complex for x in (a, b)]
    if any(plain):
        real, other = (a, b) if plain[0] else (b, a)
        return ctx.add(
            "Mul", _pair_parts(ctx, other), ctx.unsqueeze(ctx.value(real, _part(ctx)), [real.rank])
        )
    (ar, ai), (br, bi) = (
        _split_parts(ctx, _pair_parts(ctx, x), x.rank if isinstance(x, Tensor) else 0) for x in (a, b)
    )
    real_part = ctx.add("Sub", ctx.add("Mul", ar, br), ctx.add("Mul", ai, bi))
    imaginary = ctx.add("Add", ctx.add("Mul", ar, bi), ctx.add("Mul", ai, br))
    return _join_parts(ctx, real_part, imaginary, _rank(ctx))


@complex_op("div")
def _quotient(ctx: Context, a: Any, b: Any, *_: Any) -> str:
    if isinstance(b, Tensor) and b.dtype.is_complex:
        raise ctx.refused("a complex number is divided by")
    by = (
        ctx.unsqueeze(ctx.value(b, _part(ctx)), [b.rank])
        if isinstance(b, Tensor)
        else ctx.scalar(b, _part(ctx))
    )
    return ctx.add("Div", _pair_parts(ctx, a), by)


@complex_op("view", "reshape", "_unsafe_view", "squeeze", "unsqueeze", "flatten", "unflatten", "view_as")
def _reshaped(ctx: Context, x: Tensor, *_: Any) -> str:
    return ctx.reshape(_pair_parts(ctx, x), [*ctx.out[0].shape, 2])


@complex_op("expand", "broadcast_to")
def _expanded(ctx: Context, x: Tensor, *_: Any) -> str:
    return ctx.add("Expand", _pair_parts(ctx, x), ctx.ints([*ctx.out[0].shape, 2]))


@complex_op("permute")
def _permuted(ctx: Context, x: Tensor, dims: Sequence[int]) -> str:
    return ctx.transpose(_pair_parts(ctx, x), [*(axis % x.rank for axis in dims), x.rank])


@complex_op("transpose")
def _transposed(ctx: Context, x: Tensor, first: int, second: int) -> str:
    order = list(range(x.rank + 1))
    a, b = first % x.rank, second % x.rank
    order[a], order[b] = order[b], order[a]
    return ctx.transpose(_pair_parts(ctx, x), order)


@complex_op("slice")
def _sliced(ctx: Context, x: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> str:
    axis = dim % x.rank
    picked = range(x.shape[axis])[slice(start, end, step)]
    return ctx.slice(_pair_parts(ctx, x), axis, picked.start, picked.stop, picked.step)


@complex_op("select")
def _selected(ctx: Context, x: Tensor, dim: int, index: int) -> str:
    axis = dim % x.rank
    return ctx.add("Gather", _pair_parts(ctx, x), np.array(index % x.shape[axis], np.int64), axis=axis)


@complex_op("cat")
def _cat(ctx: Context, parts: Sequence[Tensor], dim: int = 0) -> str:
    return ctx.add("Concat", *(_pair_parts(ctx, part) for part in parts), axis=dim % parts[0].rank)


@complex_op("constant_pad_nd")
def _padded(ctx: Context, x: Tensor, pad: Sequence[int], value: Any = 0) -> str:
    if value:
        raise ctx.refused(f"complex numbers are padded with {value}, expected 0")
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    full = [(0, 0)] * (x.rank - len(pairs)) + pairs + [(0, 0)]
    amounts = [*(start for start, _ in full), *(end for _, end in full)]
    return ctx.add("Pad", _pair_parts(ctx, x), ctx.ints(amounts), ctx.scalar(0, _part(ctx)), mode="constant")


@complex_op("_fft_r2c")
def _real_to_complex(ctx: Context, x: Tensor, dims: Sequence[int], norm: int, is_half: bool) -> str:
    axis = dims[-1] % x.rank
    length = x.shape[axis]
    bins = length // 2 + 1 if is_half else length
    turns = np.exp(-2j * np.pi * np.outer(np.arange(length), np.arange(bins)) / length)
    matrix = np.stack([turns.real, turns.imag], -1).reshape(length, 2 * bins)
    shape = [bins if i == axis else size for i, size in enumerate(x.shape)]
    found = _multiply_along(ctx, ctx.value(x), matrix, axis, shape, is_paired=False)
    for other in dims[:-1]:
        found = _transform_pairs(ctx, found, shape, other % x.rank, sign=-1)
    return _scale_value(ctx, found, norm, [x.shape[axis] for axis in dims])


@complex_op("_fft_c2c")
def _complex_to_complex(ctx: Context, x: Tensor, dims: Sequence[int], norm: int, is_forward: bool) -> str:
    found = _pair_parts(ctx, x)
    for axis in dims:
        found = _transform_pairs(ctx, found, list(x.shape), axis % x.rank, sign=-1 if is_forward else 1)
    return _scale_value(ctx, found, norm, [x.shape[axis] for axis in dims])


@complex_op("_fft_c2r")
def _complex_to_real(ctx: Context, x: Tensor, dims: Sequence[int], norm: int, length: int) -> str:
    found, axis = _pair_parts(ctx, x), dims[-1] % x.rank
    for other in dims[:-1]:
        found = _transform_pairs(ctx, found, list(x.shape), other % x.rank, sign=1)
    bins = x.shape[axis]
    # The missing half mirrors the given one; the first bin, and the last of an even length, stand alone.
    weights = np.full(bins, 2.0)
    weights[0] = 1
    if length % 2 == 0:
        weights[-1] = 1
    turns = np.exp(2j * np.pi * np.outer(np.arange(bins), np.arange(length)) / length) * weights[:, None]
    matrix = np.stack([turns.real, -turns.imag], 1).reshape(2 * bins, length)
    order = [*(i for i in range(x.rank) if i != axis), axis, x.rank]
    rows = ctx.reshape(
        ctx.transpose(found, order), [*(s for i, s in enumerate(x.shape) if i != axis), 2 * bins]
    )
    real = ctx.add("MatMul", rows, _emit_numbers(ctx, matrix))
    back = [*range(axis), x.rank - 1, *range(axis, x.rank - 1)]
    sizes = [*(x.shape[i] for i in dims[:-1]), length]
    return _scale_value(ctx, ctx.transpose(real, back), norm, sizes)


def _transform_pairs(ctx: Context, pairs: str, shape: list[int], axis: int, *, sign: int) -> str:
    """A Fourier transform of complex numbers along one axis."""
    length = shape[axis]
    turns = np.exp(sign * 2j * np.pi * np.outer(np.arange(length), np.arange(length)) / length)
    block = np.array([[turns.real, turns.imag], [-turns.imag, turns.real]])
    return _multiply_along(
        ctx, pairs, block.transpose(2, 0, 3, 1).reshape(2 * length, 2 * length), axis, shape, is_paired=True
    )


def _multiply_along(
    ctx: Context, value: str, matrix: Array, axis: int, shape: list[int], *, is_paired: bool
) -> str:
    """A product with a matrix along one axis; the result has pairs."""
    rank = len(shape)
    order = [*(i for i in range(rank) if i != axis), axis, *([rank] if is_paired else [])]
    outer = [size for i, size in enumerate(shape) if i != axis]
    rows = ctx.reshape(ctx.transpose(value, order), [*outer, matrix.shape[0]])
    found = ctx.reshape(
        ctx.add("MatMul", rows, _emit_numbers(ctx, matrix)), [*outer, matrix.shape[1] // 2, 2]
    )
    return ctx.transpose(found, [*range(axis), rank - 1, *range(axis, rank - 1), rank])


def _scale_value(ctx: Context, value: str, norm: int, sizes: Sequence[int]) -> str:
    """Torch's norms: 0 none, 1 by the root of the count, 2 by the count."""
    if not norm:
        return value
    count = float(np.prod(sizes))
    return ctx.add("Mul", value, ctx.scalar(1 / count if norm == 2 else count**-0.5, _part(ctx)))

"""ATen ops that work element by element."""

from typing import Any

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import Handler, aten, one_to_one
from edgewright.frontends.pytorch.values import Tensor

one_to_one(
    {
        **{
            name: name.capitalize()
            for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan")
        },
        **{name: name.capitalize() for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf")},
        **{name: name.capitalize() for name in ("abs", "neg", "sign", "reciprocal", "sigmoid", "relu")},
        "sgn": "Sign",
    }
)


def promote_operands(ctx: Context, *items: Any) -> tuple[list[str], Any]:
    """Operands in the type that torch computes with, and that type."""
    metas = [item.meta if isinstance(item, Tensor) else item for item in items]
    dtype = metas[0].dtype if isinstance(items[0], Tensor) else None
    for index in range(1, len(metas)):
        dtype = ctx.torch.result_type(metas[index - 1], metas[index])
    if len(metas) == 3:
        first = ctx.torch.empty(0, dtype=ctx.torch.result_type(metas[0], metas[1]), device="meta")
        dtype = ctx.torch.result_type(first, metas[2])
    return [ctx.value(item, dtype) for item in items], dtype


def _list_in_result_type(ctx: Context, *items: Any) -> list[str]:
    return [ctx.value(item, ctx.out[0].dtype) for item in items]


@aten("add")
def _add(ctx: Context, a: Any, b: Any, alpha: Any = 1) -> str:
    x, y = _list_in_result_type(ctx, a, b)
    if ctx.out[0].dtype == ctx.torch.bool:
        return ctx.add("Or", x, y)
    return ctx.add("Add", x, _scale_value(ctx, y, alpha))


@aten("sub")
def _sub(ctx: Context, a: Any, b: Any, alpha: Any = 1) -> str:
    x, y = _list_in_result_type(ctx, a, b)
    return ctx.add("Sub", x, _scale_value(ctx, y, alpha))


@aten("rsub")
def _rsub(ctx: Context, a: Any, b: Any, alpha: Any = 1) -> str:
    return _sub(ctx, b, a, alpha)  # type: ignore[return-value]


def _scale_value(ctx: Context, value: str, alpha: Any) -> str:
    if not isinstance(alpha, Tensor) and alpha == 1:
        return value
    return ctx.add("Mul", value, ctx.value(alpha, ctx.out[0].dtype))


@aten("mul")
def _mul(ctx: Context, a: Any, b: Any) -> str:
    return ctx.add("And" if ctx.out[0].dtype == ctx.torch.bool else "Mul", *_list_in_result_type(ctx, a, b))


@aten("div")
def _div(ctx: Context, a: Any, b: Any, rounding_mode: str | None = None) -> str:
    x, y = _list_in_result_type(ctx, a, b)
    is_float = ctx.out[0].dtype.is_floating_point
    if rounding_mode == "floor":
        return _floor_quotient(ctx, x, y)
    quotient = ctx.add("Div", x, y)
    # ONNX divides integers towards zero.
    return _truncate_value(ctx, quotient) if rounding_mode == "trunc" and is_float else quotient


@aten("floor_divide")
def _floor_divide(ctx: Context, a: Any, b: Any) -> str:
    return _floor_quotient(ctx, *_list_in_result_type(ctx, a, b))


def _floor_quotient(ctx: Context, x: str, y: str) -> str:
    dtype = ctx.out[0].dtype
    if dtype.is_floating_point:
        return ctx.add("Floor", ctx.add("Div", x, y))
    return ctx.add("Div", ctx.add("Sub", x, ctx.add("Mod", x, y)), y)


def _truncate_value(ctx: Context, x: str) -> str:
    return ctx.add("Mul", ctx.add("Sign", x), ctx.add("Floor", ctx.add("Abs", x)))


@aten("remainder")
def _remainder(ctx: Context, a: Any, b: Any) -> str:
    x, y = _list_in_result_type(ctx, a, b)
    if not ctx.out[0].dtype.is_floating_point:
        return ctx.add("Mod", x, y)
    return ctx.add("Sub", x, ctx.add("Mul", y, ctx.add("Floor", ctx.add("Div", x, y))))


@aten("fmod")
def _fmod(ctx: Context, a: Any, b: Any) -> str:
    return ctx.add("Mod", *_list_in_result_type(ctx, a, b), fmod=1)


@aten("pow")
def _pow(ctx: Context, a: Any, b: Any) -> str:
    x, y = _list_in_result_type(ctx, a, b)
    if not isinstance(b, Tensor) and b == 2:
        return ctx.add("Mul", x, x)
    if not isinstance(b, Tensor) and b == 0.5:
        return ctx.add("Sqrt", x)
    return ctx.add("Pow", x, y)


@aten("maximum", "max.other", "fmax")
def _maximum(ctx: Context, a: Any, b: Any) -> str:
    return _of_numbers(ctx, "Max", a, b)


@aten("minimum", "min.other", "fmin")
def _minimum(ctx: Context, a: Any, b: Any) -> str:
    return _of_numbers(ctx, "Min", a, b)


def _of_numbers(ctx: Context, op: str, a: Any, b: Any) -> str:
    """Max and Min: ONNX has them for numbers, not for truth values."""
    x, y = _list_in_result_type(ctx, a, b)
    if ctx.out[0].dtype == ctx.torch.bool:
        return ctx.add("Or" if op == "Max" else "And", x, y)
    return ctx.add(op, x, y)


def _make_comparison(op: str, *, is_negated: bool = False) -> Handler:
    def compare(ctx: Context, a: Any, b: Any) -> str:
        operands, dtype = promote_operands(ctx, a, b)
        if dtype == ctx.torch.bool and op != "Equal":
            operands = [ctx.cast(name, ctx.torch.int32) for name in operands]
        found = ctx.add(op, *operands)
        return ctx.add("Not", found) if is_negated else found

    return compare


aten("eq")(_make_comparison("Equal"))
aten("ne")(_make_comparison("Equal", is_negated=True))
aten("lt")(_make_comparison("Less"))
aten("le")(_make_comparison("LessOrEqual"))
aten("gt")(_make_comparison("Greater"))
aten("ge")(_make_comparison("GreaterOrEqual"))


def _make_logical(op: str) -> Handler:
    def combine(ctx: Context, a: Any, b: Any) -> str:
        return ctx.add(op, *(ctx.value(item, ctx.torch.bool) for item in (a, b)))

    return combine


def _make_bitwise(op: str) -> Handler:
    def combine(ctx: Context, a: Any, b: Any) -> str:
        is_bool = ctx.out[0].dtype == ctx.torch.bool
        return ctx.add(op if is_bool else f"Bitwise{op}", *_list_in_result_type(ctx, a, b))

    return combine


for _name, _op in {"and": "And", "or": "Or", "xor": "Xor"}.items():
    aten(f"logical_{_name}")(_make_logical(_op))
    aten(f"bitwise_{_name}", f"__{_name}__")(_make_bitwise(_op))


@aten("logical_not")
def _logical_not(ctx: Context, x: Any) -> str:
    return ctx.add("Not", ctx.value(x, ctx.torch.bool))


@aten("bitwise_not")
def _bitwise_not(ctx: Context, x: Tensor) -> str:
    return ctx.add("Not" if x.dtype == ctx.torch.bool else "BitwiseNot", x)


@aten("where")
def _where(ctx: Context, condition: Tensor, a: Any = None, b: Any = None) -> str:
    if a is None:
        raise ctx.refused("the number of its results depends on the input's data")
    return ctx.add("Where", ctx.value(condition, ctx.torch.bool), *_list_in_result_type(ctx, a, b))


@aten("masked_fill")
def _masked_fill(ctx: Context, x: Tensor, mask: Tensor, number: Any) -> str:
    return ctx.add("Where", mask, *_list_in_result_type(ctx, number, x))


@aten("clamp")
def _clamp(ctx: Context, x: Tensor, low: Any = None, high: Any = None) -> str:
    return _clamp_value(ctx, x, low, high)


@aten("clamp_min")
def _clamp_min(ctx: Context, x: Tensor, low: Any) -> str:
    return _clamp_value(ctx, x, low, None)


@aten("clamp_max")
def _clamp_max(ctx: Context, x: Tensor, high: Any) -> str:
    return _clamp_value(ctx, x, None, high)


def _clamp_value(ctx: Context, x: Tensor, low: Any, high: Any) -> str:
    value = ctx.value(x, ctx.out[0].dtype)
    if any(isinstance(item, Tensor) for item in (low, high)):
        value = value if low is None else ctx.add("Max", value, ctx.value(low, ctx.out[0].dtype))
        return value if high is None else ctx.add("Min", value, ctx.value(high, ctx.out[0].dtype))
    ends = [None if item is None else ctx.scalar(item, ctx.out[0].dtype) for item in (low, high)]
    return ctx.add("Clip", value, *ends)


@aten("floor", "ceil", "round", "trunc")
def _rounded(ctx: Context, x: Tensor, decimals: int = 0) -> str:
    if not x.dtype.is_floating_point:
        return ctx.value(x)
    word = ctx.op.removeprefix("aten::").split(".")[0]
    if word == "trunc":
        return _truncate_value(ctx, ctx.value(x))
    if not decimals:
        return ctx.add(word.capitalize(), x)
    scale = ctx.scalar(10.0**decimals, x.dtype)
    return ctx.add("Div", ctx.add("Round", ctx.add("Mul", x, scale)), scale)


@aten("frac")
def _frac(ctx: Context, x: Tensor) -> str:
    return ctx.add("Sub", x, _truncate_value(ctx, ctx.value(x)))


@aten("rsqrt")
def _rsqrt(ctx: Context, x: Any) -> str:
    return ctx.add("Reciprocal", ctx.add("Sqrt", ctx.value(x, ctx.out[0].dtype)))


@aten("square")
def _square(ctx: Context, x: Any) -> str:
    return ctx.add("Mul", x, x)


def _log_to(base: float) -> Handler:
    def logarithm(ctx: Context, x: Any) -> str:
        dtype = ctx.out[0].dtype
        return ctx.add("Mul", ctx.add("Log", ctx.value(x, dtype)), ctx.scalar(base, dtype))

    return logarithm


aten("log2")(_log_to(1.4426950408889634))
aten("log10")(_log_to(0.4342944819032518))


@aten("log1p")
def _log1p(ctx: Context, x: Any) -> str:
    dtype = ctx.out[0].dtype
    return ctx.add("Log", ctx.add("Add", ctx.value(x, dtype), ctx.scalar(1, dtype)))


@aten("expm1")
def _expm1(ctx: Context, x: Any) -> str:
    dtype = ctx.out[0].dtype
    return ctx.add("Sub", ctx.add("Exp", ctx.value(x, dtype)), ctx.scalar(1, dtype))


@aten("exp2")
def _exp2(ctx: Context, x: Any) -> str:
    dtype = ctx.out[0].dtype
    return ctx.add("Exp", ctx.add("Mul", ctx.value(x, dtype), ctx.scalar(0.6931471805599453, dtype)))


@aten("erfc")
def _erfc(ctx: Context, x: Any) -> str:
    dtype = ctx.out[0].dtype
    return ctx.add("Sub", ctx.scalar(1, dtype), ctx.add("Erf", ctx.value(x, dtype)))


@aten("atan2")
def _atan2(ctx: Context, y: Any, x: Any) -> str:
    return emit_angle(ctx, *_list_in_result_type(ctx, y, x))


def emit_angle(ctx: Context, top: str, right: str) -> str:
    """The angle by its quadrant; the sign of zero is not told apart."""
    dtype = ctx.out[0].dtype
    zero, one, pi = (ctx.scalar(number, dtype) for number in (0.0, 1.0, 3.141592653589793))
    is_zero = ctx.add("Equal", right, zero)
    plain = ctx.add("Atan", ctx.add("Div", top, ctx.add("Where", is_zero, one, right)))
    turn = ctx.add("Where", ctx.add("Less", top, zero), ctx.add("Neg", pi), pi)
    left = ctx.add("Where", ctx.add("Less", right, zero), ctx.add("Add", plain, turn), plain)
    upright = ctx.add("Mul", ctx.add("Sign", top), ctx.scalar(1.5707963267948966, dtype))
    return ctx.add("Where", is_zero, upright, left)


@aten("angle")
def _angle(ctx: Context, x: Tensor) -> str:
    """Of a real number: half a turn where it is negative."""
    dtype = ctx.out[0].dtype
    value = ctx.value(x, dtype)
    zero, pi = (ctx.scalar(number, dtype) for number in (0.0, 3.141592653589793))
    turn = ctx.add("Where", ctx.add("Less", value, zero), pi, zero)
    return ctx.add("Where", ctx.add("IsNaN", value), value, turn)


@aten("isnan")
def _isnan(ctx: Context, x: Tensor) -> str:
    return ctx.add("IsNaN", ctx.value(x, None if x.dtype.is_floating_point else ctx.torch.float32))


@aten("isinf")
def _isinf(ctx: Context, x: Tensor) -> str:
    return ctx.add("IsInf", ctx.value(x, None if x.dtype.is_floating_point else ctx.torch.float32))


@aten("isfinite")
def _isfinite(ctx: Context, x: Tensor) -> str:
    return ctx.add("Not", ctx.add("Or", ctx.add("IsNaN", x), ctx.add("IsInf", x)))


@aten("nan_to_num")
def _nan_to_num(ctx: Context, x: Tensor, nan: Any = None, above: Any = None, below: Any = None) -> str:
    limits = ctx.torch.finfo(x.dtype)
    low, high = (limits.min if below is None else below), (limits.max if above is None else above)
    kept = ctx.add("Where", ctx.add("IsNaN", x), ctx.scalar(nan or 0.0, x.dtype), x)
    for sign, number in ((0, high), (1, low)):
        which = ctx.add("IsInf", kept, detect_negative=sign, detect_positive=1 - sign)
        kept = ctx.add("Where", which, ctx.scalar(number, x.dtype), kept)
    return kept


@aten("lerp")
def _lerp(ctx: Context, a: Any, b: Any, weight: Any) -> str:
    x, y, w = _list_in_result_type(ctx, a, b, weight)
    return ctx.add("Add", x, ctx.add("Mul", w, ctx.add("Sub", y, x)))


@aten("addcmul")
def _addcmul(ctx: Context, x: Any, a: Any, b: Any, value: Any = 1) -> str:
    base, first, second = _list_in_result_type(ctx, x, a, b)
    return ctx.add("Add", base, _scale_value(ctx, ctx.add("Mul", first, second), value))


@aten("addcdiv")
def _addcdiv(ctx: Context, x: Any, a: Any, b: Any, value: Any = 1) -> str:
    base, first, second = _list_in_result_type(ctx, x, a, b)
    return ctx.add("Add", base, _scale_value(ctx, ctx.add("Div", first, second), value))


@aten("hypot")
def _hypot(ctx: Context, a: Any, b: Any) -> str:
    x, y = _list_in_result_type(ctx, a, b)
    return ctx.add("Sqrt", ctx.add("Add", ctx.add("Mul", x, x), ctx.add("Mul", y, y)))


@aten("signbit")
def _signbit(ctx: Context, x: Tensor) -> str:
    zero = ctx.scalar(0, x.dtype)
    if not x.dtype.is_floating_point:
        return ctx.add("Less", x, zero)
    # A negative zero is told by its reciprocal.
    return ctx.add("Or", ctx.add("Less", x, zero), ctx.add("Less", ctx.add("Reciprocal", x), zero))

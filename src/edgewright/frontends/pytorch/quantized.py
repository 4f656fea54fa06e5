"""Ops of quantized TorchScript: real numbers between pairs that round them to the encodings of the file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewright.core.errors import UnsupportedOp
from edgewright.frontends.pytorch.registry import whole_op
from edgewright.frontends.pytorch.script_pickle import QuantizedWeights
from edgewright.frontends.pytorch.values import Tensor, as_array, list_boxes

if TYPE_CHECKING:
    from edgewright.frontends.pytorch.tracer import Tracer

# torch's types of quantized tensors, by name and by the numbers that TorchScript has for them.
STORED = {"qint8": "int8", "quint8": "uint8", "qint32": "int32", 12: "int8", 13: "uint8", 14: "int32"}
# Results that torch gives scales of their own.
FIXED = {
    "aten::sigmoid": (1 / 256, 0),
    "aten::hardsigmoid": (1 / 256, 0),
    "aten::tanh": (1 / 128, 128),
    "aten::softmax": (1 / 256, 0),
}
# Results that are computed and rounded to the scale of the argument; all others pick stored numbers.
ROUNDED = frozenset(
    f"aten::{name}"
    for name in (
        *("mean", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "clamp"),
        *("leaky_relu", "hardtanh", "upsample_bilinear2d", "elu", "celu", "threshold", "prelu"),
    )
)


def with_encoding(tracer: "Tracer", name: str, args: Sequence[Any], results: Any) -> Any:
    """Results of an op on quantized tensors, which are quantized as well."""
    given = [box.encoding for box in list_boxes(list(args)) if box.encoding is not None]
    if not given:
        return results
    scale, zero, word = given[0]
    if name in FIXED:
        return _round_tensor(tracer, results, *_find_fixed_encoding(name, word))
    if name in ROUNDED:
        return _round_tensor(tracer, results, scale, zero, word)
    for box in list_boxes(results):
        box.encoding = given[0]
    return results


def _find_fixed_encoding(name: str, word: str) -> tuple[float, int, str]:
    scale, zero = FIXED[name]
    return scale, zero - (128 if word == "int8" else 0), word


def _round_tensor(tracer: "Tracer", box: Tensor, scale: float, zero: int, word: str) -> Tensor:
    """The tensor as the integers of an encoding hold it."""
    ctx = tracer.ctx
    ends = np.float32(scale), np.array(zero, word)
    stored = ctx.add("QuantizeLinear", ctx.value(box, ctx.torch.float32), *map(np.asarray, ends))
    name = ctx.add("DequantizeLinear", stored, *map(np.asarray, ends))
    found = Tensor(ctx.torch.empty(box.shape, device="meta"), name=name)
    found.encoding = (float(scale), int(zero), word)
    return found


@dataclass(eq=False)
class PackedWeights:
    """What a quantized layer multiplies with: torch's own classes hold it as they like, files hold this."""

    # The op that makes torch's own object of it.
    maker: str
    weight: Any
    bias: Any = None
    stride: Sequence[int] = ()
    padding: Sequence[int] = ()
    dilation: Sequence[int] = ()
    extra: Sequence[int] = ()
    groups: int = 1
    path: str = ""

    @classmethod
    def from_call(cls, name: str, args: Sequence[Any]) -> "PackedWeights":
        """From the arguments of an op such as "quantized::conv2d_prepack"."""
        maker = name.partition("::")[2]
        if "linear" in name:
            return cls(maker, args[0], args[1])
        if "transpose" in name:
            weight, bias, stride, padding, extra, dilation, groups = args
        else:
            weight, bias, stride, padding, dilation, groups = args
            extra = [0] * len(stride)
        return cls(maker, weight, bias, stride, padding, dilation, extra, groups)

    @classmethod
    def from_state(cls, class_name: str, state: Any, path: str) -> "PackedWeights":
        """From what a file holds of an object of torch's class."""
        if "Linear" in class_name:
            is_quantized = isinstance(state[0], QuantizedWeights)
            weight, bias = state
            maker = "linear_prepack" if is_quantized else "linear_prepack_fp16"
            return cls(maker, weight, bias, path=path)
        version, *rest = state
        if version == "2":
            (config, weight), (bias,) = rest
            numbers = [int(n) for n in config]
        else:
            numbers, (_, weight, bias) = rest
        rank = numbers[0]
        parts = [numbers[1 + i * rank : 1 + (i + 1) * rank] for i in range(4)]
        stride, padding, dilation, extra = parts
        groups, is_transposed = numbers[1 + 4 * rank :][:2]
        maker = f"conv{'_transpose' if is_transposed else ''}{rank}d_prepack"
        return cls(maker, weight, bias, stride, padding, dilation, extra, groups, path)

    def pack(self, torch: Any) -> Any:
        """Torch's own object of it, for a run in torch."""
        weight, bias = (_to_torch(torch, item) for item in (self.weight, self.bias))
        maker = getattr(torch.ops.quantized, self.maker)
        if "linear" in self.maker:
            return maker(weight, bias)
        extra = [list(self.extra)] if "transpose" in self.maker else []
        lists = [list(self.stride), list(self.padding), *extra, list(self.dilation)]
        return maker(weight, bias, *lists, self.groups)


def _to_torch(torch: Any, stored: Any) -> Any:
    if isinstance(stored, Tensor):
        return stored.data
    if not isinstance(stored, QuantizedWeights):
        return stored
    if stored.axis is None:
        return torch._make_per_tensor_quantized_tensor(stored.integers, stored.scales, stored.zeros)
    return torch._make_per_channel_quantized_tensor(stored.integers, stored.scales, stored.zeros, stored.axis)


def _weight(tracer: "Tracer", stored: Any, path: str) -> Tensor:
    """Weights as stored integers that are decoded; plain ones as they are."""
    if not isinstance(stored, QuantizedWeights):
        return tracer.known(stored.data if isinstance(stored, Tensor) else stored, f"{path}.weight")
    torch, ctx = tracer.torch, tracer.ctx
    integers = as_array(stored.integers)
    shape: tuple[int, ...] = () if stored.axis is None else (-1,)
    name = ctx.add(
        "DequantizeLinear",
        ctx.writer.constant(integers, f"{path}.weight"),
        np.asarray(stored.scales, np.float32).reshape(shape),
        np.asarray(stored.zeros, integers.dtype).reshape(shape),
        axis=stored.axis or 0,
    )
    return Tensor(torch.empty(tuple(integers.shape), device="meta"), name=name)


def _keep_bias(tracer: "Tracer", bias: Any, path: str) -> Tensor | None:
    if bias is None:
        return None
    return tracer.known(bias.data if isinstance(bias, Tensor) else bias, f"{path}.bias")


def _quantized(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return whole_op(*(f"quantized::{name}" for name in names))


def _make_convolution(rank: int, *, is_relu: bool, is_transposed: bool) -> Callable[..., Tensor]:
    def convolve(tracer: "Tracer", x: Tensor, packed: PackedWeights, *rest: Any) -> Tensor:
        # Files hold one-dimensional layers as layers of images, of height 1.
        weight = _drop_height(packed.weight) if rank == 1 else packed.weight
        y = tracer.compute(
            tracer.torch.ops.aten.convolution.default,
            x,
            _weight(tracer, weight, packed.path),
            _keep_bias(tracer, packed.bias, packed.path),
            *([int(n) for n in part][-rank:] for part in (packed.stride, packed.padding, packed.dilation)),
            is_transposed,
            [int(n) for n in packed.extra][-rank:],
            int(packed.groups),
        )
        return _round_tensor(tracer, _relu(tracer, y, is_relu), rest[-2], rest[-1], _name_integers(x))

    return convolve


def _drop_height(weight: QuantizedWeights) -> QuantizedWeights:
    integers = weight.integers
    return replace(weight, integers=integers.squeeze(2)) if integers.dim() == 4 else weight


for _rank in (1, 2, 3):
    for _suffix in ("", "_relu"):
        _quantized(f"conv{_rank}d{_suffix}")(
            _make_convolution(_rank, is_relu=bool(_suffix), is_transposed=False)
        )
    _quantized(f"conv_transpose{_rank}d")(_make_convolution(_rank, is_relu=False, is_transposed=True))


def _relu(tracer: "Tracer", x: Tensor, is_wanted: bool) -> Tensor:
    return tracer.compute(tracer.torch.ops.aten.relu.default, x) if is_wanted else x


def _name_integers(*boxes: Tensor) -> str:
    return next((box.encoding[2] for box in boxes if box.encoding is not None), "uint8")


def _make_linear(*, is_relu: bool, is_dynamic: bool) -> Callable[..., Tensor]:
    def connect(tracer: "Tracer", x: Tensor, packed: PackedWeights, *rest: Any) -> Tensor:
        y = tracer.compute(
            tracer.torch.ops.aten.linear.default,
            x,
            _weight(tracer, packed.weight, packed.path),
            _keep_bias(tracer, packed.bias, packed.path),
        )
        y = _relu(tracer, y, is_relu)
        return y if is_dynamic else _round_tensor(tracer, y, rest[0], rest[1], _name_integers(x))

    return connect


for _suffix in ("", "_relu"):
    _quantized(f"linear{_suffix}")(_make_linear(is_relu=bool(_suffix), is_dynamic=False))
    _quantized(f"linear{_suffix}_dynamic")(_make_linear(is_relu=bool(_suffix), is_dynamic=True))


def _of_two(name: str, *, is_relu: bool) -> Callable[..., Tensor]:
    def combine(tracer: "Tracer", a: Tensor, b: Any, scale: Any = None, zero: Any = None) -> Tensor:
        aten = tracer.torch.ops.aten
        overload = "Tensor" if isinstance(b, Tensor) else "Scalar"
        y = tracer.compute(getattr(getattr(aten, name), overload), a, b)
        if scale is None:
            return _relu_of(tracer, y, _of_number(tracer, name, a, b), is_relu)
        return _round_tensor(
            tracer,
            _relu(tracer, y, is_relu),
            _number(tracer, scale),
            _number(tracer, zero),
            _name_integers(a),
        )

    return combine


def _of_number(tracer: "Tracer", name: str, a: Tensor, number: Any) -> tuple[float, int, str]:
    """The encoding that torch itself gives a sum or product with a number."""
    torch = tracer.torch
    scale, zero, word = a.encoding or (1.0, 0, "uint8")
    kind = torch.qint8 if word == "int8" else torch.quint8
    probe = torch.quantize_per_tensor(torch.zeros(1), scale, zero, kind)
    found = getattr(torch.ops.quantized, f"{name}_scalar")(probe, number)
    return float(found.q_scale()), int(found.q_zero_point()), word


def _relu_of(tracer: "Tracer", y: Tensor, encoding: tuple[float, int, str], is_relu: bool) -> Tensor:
    return _round_tensor(tracer, _relu(tracer, y, is_relu), *encoding)


for _name in ("add", "mul"):
    for _suffix in ("", "_relu"):
        _made = _of_two(_name, is_relu=bool(_suffix))
        _quantized(f"{_name}{_suffix}")(_made)
        _quantized(f"{_name}_scalar{_suffix}")(_made)


def _number(tracer: "Tracer", value: Any) -> Any:
    return tracer.ctx.array(value).item() if isinstance(value, Tensor) else value


@_quantized("cat", "cat_relu")
def _cat(tracer: "Tracer", items: Sequence[Tensor], axis: int, scale: Any = None, zero: Any = None) -> Tensor:
    encoding = items[0].encoding or (1.0, 0, "uint8")
    y = tracer.compute(tracer.torch.ops.aten.cat.default, list(items), axis)
    y = _relu(tracer, y, tracer.ctx.op.startswith("quantized::cat_relu"))
    ends = encoding if scale is None else (scale, zero, encoding[2])
    return _round_tensor(tracer, y, *ends)


@_quantized("matmul")
def _matmul(tracer: "Tracer", a: Tensor, b: Tensor, scale: float, zero: int) -> Tensor:
    y = tracer.compute(tracer.torch.ops.aten.matmul.default, a, b)
    return _round_tensor(tracer, y, scale, zero, _name_integers(a))


@_quantized("relu6")
def _relu6(tracer: "Tracer", x: Tensor, _in_place: bool = False) -> Tensor:
    y = tracer.compute(tracer.torch.ops.aten.clamp.default, x, 0.0, 6.0)
    return y if y.encoding is not None else _round_tensor(tracer, y, *(x.encoding or (1.0, 0, "uint8")))


def _make_activation(*given: int) -> Callable[..., Tensor]:
    """One argument or more, then the encoding of the result."""
    places = given

    def activate(tracer: "Tracer", x: Tensor, *rest: Any) -> Tensor:
        name = tracer.ctx.op.split("::")[1].split(".")[0]
        op = getattr(tracer.torch.ops.aten, "_softmax" if name == "softmax" else name).default
        more = [rest[i] for i in places] + ([False] if name == "softmax" else [])
        scale, zero = _read_encoding(rest, places)
        plain = Tensor(x.meta, x.data, x.name)
        return _round_tensor(tracer, tracer.compute(op, plain, *more), scale, zero, _name_integers(x))

    return activate


def _read_encoding(rest: Sequence[Any], taken: Sequence[int]) -> tuple[float, int]:
    left = [value for i, value in enumerate(rest) if i not in taken and not isinstance(value, bool)]
    return float(left[0]), int(left[1])


_quantized("sigmoid", "hardswish")(_make_activation())
# leaky_relu(x, slope, inplace, scale, zero), elu(x, scale, zero, alpha, ...), softmax(x, axis, scale, zero).
_quantized("leaky_relu", "softmax")(_make_activation(0))
_quantized("elu")(_make_activation(2, 3, 4))


@whole_op("aten::quantize_per_tensor")
def _quantize(tracer: "Tracer", x: Tensor, scale: Any, zero: Any, dtype: Any) -> Tensor:
    return _round_tensor(tracer, x, _number(tracer, scale), _number(tracer, zero), _name_storage(dtype))


@whole_op("aten::dequantize")
def _dequantize(_tracer: "Tracer", x: Tensor) -> Tensor:
    return Tensor(x.meta, x.data, x.name)


@whole_op("aten::q_scale")
def _q_scale(_tracer: "Tracer", x: Tensor) -> float:
    return x.encoding[0] if x.encoding is not None else 1.0


@whole_op("aten::q_zero_point")
def _q_zero_point(_tracer: "Tracer", x: Tensor) -> int:
    return x.encoding[1] if x.encoding is not None else 0


def _name_storage(dtype: Any) -> str:
    key = dtype if isinstance(dtype, int) else str(dtype).removeprefix("torch.")
    if key not in STORED:
        raise UnsupportedOp(
            f"values are stored as {key}, expected one of qint8, quint8 and qint32",
            do="quantize the model to 8 bits",
        )
    return STORED[key]

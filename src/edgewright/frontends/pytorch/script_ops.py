"""What TorchScript does with numbers, lists, dictionaries and texts, and with tensors' types."""

from collections.abc import Callable, Sequence
from typing import Any

from edgewright.config.spelling import advise_cut
from edgewright.core.errors import LimitExceeded, UnsupportedOp, Where
from edgewright.frontends.pytorch.tracer import Tracer
from edgewright.frontends.pytorch.values import Tensor, name_dtype

# torch's types by their numbers (c10/core/ScalarType.h); quantized ones are left out.
SCALAR_TYPES = (
    *("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"),
    *("complex32", "complex64", "complex128", "bool", "", "", "", "bfloat16"),
)
LONGEST_LIST = 1 << 20
LONGEST_TEXT = 1000
# Gets the tracer and the arguments; NotImplemented hands the op on to torch.
Plain = Callable[[Tracer, list[Any]], Any]


def branch_values(
    tracer: Tracer, condition: Tensor, first: Sequence[Any], second: Sequence[Any], label: str
) -> list[Any]:
    """For each result of a branch on data: the one that the condition picks."""
    return [_emit_choice(tracer, condition, a, b, label) for a, b in zip(first, second, strict=True)]


def _emit_choice(tracer: Tracer, condition: Tensor, a: Any, b: Any, label: str) -> Any:
    if a is b or (not isinstance(a, Tensor) and not isinstance(b, Tensor) and a == b):
        return a
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(_emit_choice(tracer, condition, x, y, label) for x, y in zip(a, b, strict=True))
    boxes = [_as_tensor(tracer, item) for item in (a, b)]
    if None in boxes or boxes[0].shape != boxes[1].shape:
        raise UnsupportedOp(
            "a branch that depends on the input's data has results of different shapes or kinds",
            Where(file=tracer.file, op="prim::If", node=label),
            do=advise_cut("script the model with a fixed choice"),
        )
    chosen = tracer.call(tracer.torch.ops.aten.where.self, [condition, *boxes], {}, label)
    for box in boxes:
        chosen.shared.append(box.root)
        box.root.shared.append(chosen)
    return chosen


def _as_tensor(tracer: Tracer, value: Any) -> Any:
    if isinstance(value, Tensor):
        return value
    return tracer.known(tracer.torch.tensor(value)) if isinstance(value, bool | int | float) else None


def _make_scalar(kind: Callable[[Any], Any]) -> Plain:
    """A number from a tensor; one that depends on data stays the tensor."""

    def convert(_tracer: Tracer, args: list[Any]) -> Any:
        value = args[0]
        if not isinstance(value, Tensor):
            return kind(value)
        return kind(value.data.item()) if value.data is not None else value

    return convert


def _item(_tracer: Tracer, args: list[Any]) -> Any:
    value = args[0]
    return value.data.item() if isinstance(value, Tensor) and value.data is not None else value


def _get_item(tracer: Tracer, args: list[Any]) -> Any:
    if isinstance(args[0], list | tuple | dict | str):
        key = args[1]
        return args[0][int(key.data) if isinstance(key, Tensor) and key.data is not None else key]
    return NotImplemented


def _make_list_method(name: str) -> Plain:
    """A method of lists or dictionaries that changes them and gives them back."""

    def change(_tracer: Tracer, args: list[Any]) -> Any:
        if not isinstance(args[0], list | dict):
            return NotImplemented
        result = getattr(args[0], name)(*args[1:])
        _check_length(len(args[0]))
        return args[0] if result is None and name in {"append", "extend", "insert", "reverse"} else result

    return change


def _of_list(made: Callable[[list[Any]], Any]) -> Plain:
    def compute(_tracer: Tracer, args: list[Any]) -> Any:
        return made(args) if isinstance(args[0], list | tuple | dict | str) else NotImplemented

    return compute


def _set_item(_tracer: Tracer, args: list[Any]) -> Any:
    args[0][args[1]] = args[2]
    return args[0]


def _del_item(_tracer: Tracer, args: list[Any]) -> Any:
    del args[0][args[1]]


def _slice(_tracer: Tracer, args: list[Any]) -> Any:
    if not isinstance(args[0], list | str | tuple):
        return NotImplemented
    return args[0][slice(*args[1:])]


def _size(_tracer: Tracer, args: list[Any]) -> Any:
    if not isinstance(args[0], Tensor):
        return NotImplemented
    return list(args[0].shape) if len(args) == 1 else args[0].shape[args[1]]


def _of_meta(read: Callable[[Any], Any]) -> Plain:
    def ask(_tracer: Tracer, args: list[Any]) -> Any:
        return read(args[0].meta) if isinstance(args[0], Tensor) else NotImplemented

    return ask


def _find_code(meta: Any) -> Any:
    """A type as TorchScript has it: its number."""
    named = name_dtype(meta.dtype)
    return SCALAR_TYPES.index(named) if named in SCALAR_TYPES else meta.dtype


def _to_tensor(tracer: Tracer, args: list[Any]) -> Any:
    return args[0] if isinstance(args[0], Tensor) else tracer.known(tracer.torch.tensor(args[0]))


def _make_tensor(tracer: Tracer, args: list[Any]) -> Any:
    """torch.tensor(values, dtype, device, requires_grad): numbers that depend on data are stacked."""
    values = args[0]
    dtype = args[1] if len(args) > 1 else None
    if isinstance(values, Tensor):
        return values
    if _has_boxes(values):
        return NotImplemented
    data = tracer.torch.tensor(values)
    return tracer.known(data if dtype is None else data.to(_find_dtype(tracer, dtype)))


def _has_boxes(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_boxes(item) for item in value)
    return isinstance(value, Tensor)


def _find_dtype(tracer: Tracer, code: Any) -> Any:
    """A torch type from its number (ScalarType)."""
    if isinstance(code, int) and code < len(SCALAR_TYPES) and SCALAR_TYPES[code]:
        return getattr(tracer.torch, SCALAR_TYPES[code])
    return code


def _same_object(_tracer: Tracer, args: list[Any]) -> Any:
    return args[0] is args[1]


def _other_object(_tracer: Tracer, args: list[Any]) -> Any:
    return args[0] is not args[1]


def _contains(_tracer: Tracer, args: list[Any]) -> Any:
    return args[1] in args[0]


def _format(_tracer: Tracer, args: list[Any]) -> Any:
    # Only the plain "{}": Python's own format would follow what a stranger writes between the braces.
    first, *rest = str(args[0]).split("{}")
    given = [str(item)[:LONGEST_TEXT] for item in args[1:]] + [""] * len(rest)
    return _limit_items(first + "".join(value + part for value, part in zip(given, rest, strict=False)))


def _nothing(_tracer: Tracer, _args: list[Any]) -> None:
    return None


def _first(_tracer: Tracer, args: list[Any]) -> Any:
    return args[0]


def _not(_tracer: Tracer, args: list[Any]) -> Any:
    if isinstance(args[0], Tensor):
        if args[0].data is not None:
            return not bool(args[0].data)
        return _tracer.call(_tracer.torch.ops.aten.logical_not.default, [args[0]], {}, "not")
    return not args[0]


def _is_list_add(_tracer: Tracer, args: list[Any]) -> Any:
    is_joined = any(all(isinstance(a, kind) for a in args[:2]) for kind in (list, str))
    return _limit_items(args[0] + args[1]) if is_joined else NotImplemented


def _list_times(_tracer: Tracer, args: list[Any]) -> Any:
    if not isinstance(args[0], list | str):
        return NotImplemented
    _check_length(len(args[0]) * max(args[1], 0))
    return args[0] * args[1]


def _limit_items(items: Any) -> Any:
    _check_length(len(items))
    return items


def _check_length(length: int) -> None:
    """Lists that double in a loop would fill any memory."""
    if length > LONGEST_LIST:
        raise LimitExceeded(f"a list of {length} items is made, at most {LONGEST_LIST} are allowed")


def _make_number_op(made: Callable[..., Any]) -> Plain:
    """Arithmetic of numbers and texts alone; anything with a tensor is torch's."""

    def compute(_tracer: Tracer, args: list[Any]) -> Any:
        if all(isinstance(a, bool | int | float | str) or a is None for a in args):
            return made(*args)
        return NotImplemented

    return compute


def _equal(_tracer: Tracer, args: list[Any]) -> Any:
    return NotImplemented if any(_has_boxes(a) for a in args) else args[0] == args[1]


def _unequal(_tracer: Tracer, args: list[Any]) -> Any:
    return NotImplemented if any(_has_boxes(a) for a in args) else args[0] != args[1]


PLAIN: dict[str, Plain] = {
    "prim::data": _first,
    "prim::detach": _first,
    "prim::Print": _nothing,
    "aten::warn": _nothing,
    "aten::backward": _nothing,
    "prim::NumToTensor": _to_tensor,
    "aten::tensor": _make_tensor,
    "prim::device": lambda tracer, _args: tracer.torch.device("cpu"),
    "prim::type": lambda _t, args: args[0].type,
    "prim::dtype": _of_meta(_find_code),
    "prim::is_cuda": _of_meta(lambda _m: False),
    "prim::is_cpu": _of_meta(lambda _m: True),
    "prim::requires_grad": _of_meta(lambda _m: False),
    "prim::is_quantized": _of_meta(lambda _m: False),
    "prim::is_nested": _of_meta(lambda _m: False),
    "prim::layout": _of_meta(lambda m: m.layout),
    "prim::shape": _of_meta(lambda m: list(m.shape)),
    "aten::dim": _of_meta(lambda m: m.dim()),
    "aten::numel": _of_meta(lambda m: m.numel()),
    "aten::is_floating_point": _of_meta(lambda m: m.is_floating_point()),
    "aten::is_complex": _of_meta(lambda m: m.is_complex()),
    "aten::is_contiguous": _of_meta(lambda _m: True),
    "aten::requires_grad_": _first,
    "aten::cpu": _first,
    "aten::cuda": _first,
    "aten::size": _size,
    "aten::Int": _make_scalar(int),
    "aten::Float": _make_scalar(float),
    "aten::Bool": _make_scalar(bool),
    "aten::IntImplicit": _make_scalar(int),
    "aten::FloatImplicit": _make_scalar(float),
    "aten::ScalarImplicit": _item,
    "prim::ImplicitTensorToNum": _item,
    "aten::item": _item,
    "aten::str": lambda _t, args: str(args[0]),
    "aten::format": _format,
    "aten::__is__": _same_object,
    "aten::__isnot__": _other_object,
    "aten::__not__": _not,
    "aten::__contains__": _contains,
    "aten::__getitem__": _get_item,
    "aten::_set_item": _set_item,
    "aten::Delete": _del_item,
    "aten::slice": _slice,
    "aten::append": _make_list_method("append"),
    "aten::extend": _make_list_method("extend"),
    "aten::insert": _make_list_method("insert"),
    "aten::pop": _make_list_method("pop"),
    "aten::reverse": _make_list_method("reverse"),
    "aten::clear": _make_list_method("clear"),
    "aten::copy": _make_list_method("copy"),
    "aten::get": _make_list_method("get"),
    "aten::keys": _of_list(lambda a: list(a[0].keys())),
    "aten::values": _of_list(lambda a: list(a[0].values())),
    "aten::items": _of_list(lambda a: list(a[0].items())),
    "aten::update": _make_list_method("update"),
    "aten::list": _of_list(lambda a: list(a[0])),
    "aten::len": _of_list(lambda a: len(a[0])),
    "aten::add": _is_list_add,
    "aten::mul": _list_times,
    "aten::eq": _equal,
    "aten::ne": _unequal,
    "aten::__range_length": _make_number_op(lambda a, b, c: len(range(a, b, c))),
    "aten::__derive_index": _make_number_op(lambda i, start, step: start + i * step),
    "prim::min": _make_number_op(min),
    "prim::max": _make_number_op(max),
    "prim::abs": _make_number_op(abs),
    "aten::floordiv": _make_number_op(lambda a, b: a // b),
    "aten::__and__": _make_number_op(lambda a, b: a and b if isinstance(a, bool) else a & b),
    "aten::__or__": _make_number_op(lambda a, b: a or b if isinstance(a, bool) else a | b),
}

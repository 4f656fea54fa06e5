"""Which function translates which ATen op."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from edgewright.core.registry import Registry

if TYPE_CHECKING:
    from edgewright.frontends.pytorch.context import Context

# Gets the op's arguments in the order of its schema; returns the ONNX names of its results.
Handler = Callable[..., str | Sequence[str]]
_TRANSLATIONS: Registry[str, Handler] = Registry("translation of the PyTorch op")
_COMPLEX: Registry[str, Handler] = Registry("complex translation of the PyTorch op")
# Gets the tracer in place of the context, and returns tensors: torch cannot foresee such ops.
_WHOLE: Registry[str, Callable[..., Any]] = Registry("definition of the PyTorch op")

# By full names: "aten::max.dim" beats "aten::max".
torch_op = _TRANSLATIONS.register
# Ops that are written in terms of others, by their names without the overload.
whole_op = _WHOLE.register


def aten(*names: str) -> Callable[[Handler], Handler]:
    """Registers a translation of ATen ops, with or without the overload's name."""
    return torch_op(*(f"aten::{name}" for name in names))


def complex_op(*names: str) -> Callable[[Handler], Handler]:
    """Registers a translation of ATen ops for complex numbers, as arguments or as results."""
    return _COMPLEX.register(*(f"aten::{name}" for name in names))


def find_whole(name: str) -> Callable[..., Any] | None:
    """What is registered for an op given as "quantized::add"."""
    return _WHOLE.get(name)


def one_to_one(table: dict[str, str]) -> None:
    """Registers ops of one tensor that ONNX has under another name."""
    for name, onnx_name in table.items():
        aten(name)(_emitting(onnx_name))


def find(name: str, *, is_complex: bool = False) -> Handler | None:
    """The translation of an op given as "aten::add.Tensor"."""
    table = _COMPLEX if is_complex else _TRANSLATIONS
    return table.get(name) or table.get(name.split(".", maxsplit=1)[0])


def translated_ops() -> list[str]:
    """Every op that has a translation of its own."""
    return sorted({*_TRANSLATIONS, *_WHOLE})


def _emitting(onnx_name: str) -> Handler:
    def emit(ctx: "Context", x: Any, *_: Any) -> str:
        # Integers become real numbers here, as torch does it.
        return ctx.add(onnx_name, ctx.value(x, ctx.out[0].dtype))

    return emit

"""Which function translates which TensorFlow op."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from edgewright.ir.op import Op

if TYPE_CHECKING:
    from edgewright.frontends.tensorflow.context import Context
    from edgewright.frontends.tensorflow.source import SourceNode

__all__ = ["Handler", "find", "one_to_one", "tf_op", "translated_ops"]

# Returns the values of the node's outputs, in order (one value may stand without a list).
Handler = Callable[["Context", "SourceNode"], str | Sequence[str]]

_HANDLERS: dict[str, Handler] = {}


def tf_op(*names: str) -> Callable[[Handler], Handler]:
    """Registers the translation of ops."""

    def register(handler: Handler) -> Handler:
        twice = _HANDLERS.keys() & set(names)
        assert not twice, f"{sorted(twice)} are translated twice"
        _HANDLERS.update(dict.fromkeys(names, handler))
        return handler

    return register


def one_to_one(table: Mapping[str, Op]) -> None:
    """Registers TensorFlow ops that are a QNN op as they stand, inputs in the same order."""
    for name, op in table.items():
        tf_op(name)(_emitting(op))


def find(name: str) -> Handler | None:
    """The translation of an op."""
    return _HANDLERS.get(name)


def translated_ops() -> list[str]:
    """Every op that has a translation."""
    return sorted(_HANDLERS)


def _emitting(op: Op) -> Handler:
    def emit(ctx: "Context", node: "SourceNode") -> str:
        return ctx.emit(op, *node.need(*range(len(op.inputs))))

    return emit

"""Which function translates which TFLite op."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgewright.core.registry import Registry
from edgewright.frontends.tflite.package_ops import is_of_package, keep_as_package_op
from edgewright.ir.op import Op

if TYPE_CHECKING:
    from edgewright.frontends.tflite.context import Context
    from edgewright.frontends.tflite.source import SourceNode

# Returns the values of the operator's outputs, in order (one value may stand without a list).
Handler = Callable[["Context", "SourceNode"], str | Sequence[str]]


@dataclass(frozen=True)
class Translation:
    """How an op is translated: from real numbers, or from what is stored, integers in fixed point too."""

    handler: Handler
    is_stored: bool = False


TRANSLATIONS: Registry[str, Translation] = Registry("translation of the TFLite op")


def tflite_op(*names: str, is_stored: bool = False) -> Callable[[Handler], Handler]:
    """Registers the translation of ops."""

    def register(handler: Handler) -> Handler:
        TRANSLATIONS.register(*names)(Translation(handler, is_stored))
        return handler

    return register


def one_to_one(table: Mapping[str, Op]) -> None:
    """Registers TFLite ops that are a QNN op as they stand, inputs in the same order."""
    for name, op in table.items():
        tflite_op(name)(_emitting(op))


def find_translation(name: str) -> Translation | None:
    """The translation of an op; a package's description comes before our own."""
    return Translation(keep_as_package_op) if is_of_package(name) else TRANSLATIONS.get(name)


def _emitting(op: Op) -> Handler:
    def emit(ctx: "Context", node: "SourceNode") -> str:
        return ctx.emit(op, *node.need(*range(len(node.inputs))))

    return emit

"""Which function translates which TensorFlow op."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from edgewright.core.registry import Registry
from edgewright.ir.op import Op

if TYPE_CHECKING:
    from edgewright.frontends.tensorflow.context import Context
    from edgewright.frontends.tensorflow.source import SourceNode

# Returns the values of the node's outputs, in order (one value may stand without a list).
Handler = Callable[["Context", "SourceNode"], str | Sequence[str]]

TRANSLATIONS: Registry[str, Handler] = Registry("translation of the TensorFlow op")
tf_op = TRANSLATIONS.register


def one_to_one(table: Mapping[str, Op]) -> None:
    """Registers TensorFlow ops that are a QNN op as they stand, inputs in the same order."""
    for name, op in table.items():
        tf_op(name)(_emitting(op))


def _emitting(op: Op) -> Handler:
    def emit(ctx: "Context", node: "SourceNode") -> str:
        return ctx.emit(op, *node.need(*range(len(op.inputs))))

    return emit

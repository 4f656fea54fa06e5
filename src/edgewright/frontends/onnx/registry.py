"""Which function translates which ONNX op from which opset on."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from edgewright.core.registry import Registry
from edgewright.ir.op import Op

if TYPE_CHECKING:
    import onnx

    from edgewright.frontends.onnx.context import Context
    from edgewright.frontends.onnx.source import SourceNode

# Returns the values of the node's outputs, in order (one value may stand without a list).
Handler = Callable[["Context", "SourceNode"], str | Sequence[str]]

MICROSOFT = "com.microsoft"
# By domain and name, from an opset on.
TRANSLATIONS: Registry[tuple[str, str], Handler] = Registry("translation of the ONNX op")


def onnx_op(*names: str, since: int = 1, domain: str = "") -> Callable[[Handler], Handler]:
    """Registers a translation for opset ``since`` and later, up to the next one registered."""
    return TRANSLATIONS.register(*((domain, name) for name in names), since=since)


def one_to_one(table: dict[str, Op], domain: str = "") -> None:
    """Registers ONNX ops that are a QNN op as they stand, inputs in the same order."""
    for name, op in table.items():
        onnx_op(name, domain=domain)(_emitting(op))


def domain_of(proto: "onnx.NodeProto") -> str:
    """The domain of a node's op; "" for ONNX's own, which has two spellings."""
    return "" if proto.domain == "ai.onnx" else proto.domain


def _emitting(op: Op) -> Handler:
    def emit(ctx: "Context", node: "SourceNode") -> str:
        return ctx.emit(op, *node.inputs)

    return emit

"""Which function translates which ONNX op from which opset on."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from edgewright.ir.op import Op

if TYPE_CHECKING:
    import onnx

    from edgewright.frontends.onnx.context import Context
    from edgewright.frontends.onnx.source import SourceNode

__all__ = ["MICROSOFT", "Handler", "domain_of", "find", "one_to_one", "onnx_op", "translated_ops"]

# Returns the values of the node's outputs, in order (one value may stand without a list).
Handler = Callable[["Context", "SourceNode"], str | Sequence[str]]

MICROSOFT = "com.microsoft"
_HANDLERS: dict[tuple[str, str], dict[int, Handler]] = {}


def onnx_op(*names: str, since: int = 1, domain: str = "") -> Callable[[Handler], Handler]:
    """Registers a translation for opset ``since`` and later, up to the next one registered."""

    def register(handler: Handler) -> Handler:
        for name in names:
            versions = _HANDLERS.setdefault((domain, name), {})
            if since in versions:
                raise AssertionError(f"{name} is translated twice from opset {since}")
            versions[since] = handler
        return handler

    return register


def one_to_one(table: dict[str, Op], domain: str = "") -> None:
    """Registers ONNX ops that are a QNN op as they stand, inputs in the same order."""
    for name, op in table.items():
        onnx_op(name, domain=domain)(_emitting(op))


def find(domain: str, name: str, version: int) -> Handler | None:
    """The newest translation that is not above the model's opset."""
    versions = _HANDLERS.get((domain, name), {})
    usable = [since for since in versions if since <= version]
    return versions[max(usable)] if usable else None


def domain_of(proto: "onnx.NodeProto") -> str:
    """The domain of a node's op; "" for ONNX's own, which has two spellings."""
    return "" if proto.domain == "ai.onnx" else proto.domain


def translated_ops() -> list[tuple[str, str]]:
    """Every (domain, op) that has a translation."""
    return sorted(_HANDLERS)


def _emitting(op: Op) -> Handler:
    def emit(ctx: "Context", node: "SourceNode") -> str:
        return ctx.emit(op, *node.inputs)

    return emit

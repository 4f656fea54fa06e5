"""The validator's refusal of an op, as an error that a user can act on."""

from edgewright.abi.codes import NumericError
from edgewright.config.spelling import has_option
from edgewright.core.errors import UnsupportedOp, Where
from edgewright.lower.qnn_graph import QnnGraph, QnnNode

# Verdicts on an op; any other code is an internal error of the library.
REFUSALS = frozenset({NumericError.UNKNOWN_OP, NumericError.UNFIT_OP})
# Lines that only say that the validation failed.
_IDLE = (
    "QnnBackend_validateOpConfig failed",
    "Failed to validate op",
    "validateNativeOps master op validator",
)


def refusal(graph: QnnGraph, node: QnnNode, code: int, said: list[str], message: str) -> UnsupportedOp:
    """The refusal of one node: code, reason, and its datatypes."""
    if code == NumericError.UNKNOWN_OP:
        reason = f"HTP has no op '{node.type}' in package '{node.package}' (4005)"
        do = f"replace it, or cut before it{_advise_cpu()}"
        return UnsupportedOp(reason, Where(op=node.type, node=node.name), do=do)
    telling = [line.removeprefix("<E> ") for line in said if not any(word in line for word in _IDLE)]
    text = "; ".join(dict.fromkeys(telling)) or message
    return UnsupportedOp(
        f"HTP refuses {node.type} with {_types(graph, node)} ({code}): {text}",
        Where(op=node.type, node=node.name),
        do="give its tensors one of the datatypes that it takes, or change its shape or parameters in the "
        f"source model{_advise_cpu()}",
    )


def _advise_cpu() -> str:
    """Where the caller can have other ops on the CPU; a build cannot."""
    if not has_option("allow_cpu_ops"):
        return ""
    return ", or run it on the CPU: --allow_cpu_ops, or the backend htp+cpu in Python"


def _types(graph: QnnGraph, node: QnnNode) -> str:
    names = [graph.tensors[name].dtype.name for name in (*node.inputs, *node.outputs)]
    return ", ".join(names)

"""What translations of com.microsoft's ops check themselves: ONNX knows no signatures of these."""

from typing import Any

from edgewright.core.errors import BadInput
from edgewright.frontends.onnx.source import SourceNode


def check_inputs(node: SourceNode, *required: int) -> None:
    """Refuses a node that lacks one of these inputs."""
    missing = [index for index in required if not node.input(index)]
    if missing:
        raise BadInput(f"input {missing[0]} is missing", node.where, do="export the model again")


def number(node: SourceNode, name: str, default: float) -> Any:
    """A number given as an attribute; a whole one where the default is whole."""
    value = node.attr(name, default)
    if isinstance(value, int) or (isinstance(value, float) and isinstance(default, float)):
        return value
    raise BadInput(
        f"attribute '{name}' is {value!r}, expected a number", node.where, do="export the model again"
    )


def copy_attributes(node: SourceNode, *but: str) -> dict[str, Any]:
    """The node's attributes for an ONNX op that has the same ones."""
    return {name: node.attr(name) for name in node.attributes if name not in but}

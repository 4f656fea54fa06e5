"""Changes of datatype for the engine."""

from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.writer import ENGINE_CODES, Writer
from edgewright.ir.graph import Node
from edgewright.ops.cast import Cast


@lowers(Cast)
def cast(w: Writer, op: Cast, inputs: list[str], node: Node) -> str:
    """Cast; nothing at all where the engine stores both types alike."""
    code = ENGINE_CODES[op.dtype]
    if ENGINE_CODES[w.type(node.inputs[0]).dtype] == code:
        return inputs[0]
    return w.node("Cast", inputs[0], to=code)

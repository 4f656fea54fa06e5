"""Moving elements in the engine."""

from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.graph import Node
from edgewright.ops.rearrange import Concat, Reshape, Transpose

__all__: list[str] = []


@lowers(Reshape)
def reshape(w: Writer, op: Reshape, inputs: list[str], node: Node) -> str:
    """One symbolic dimension is left to the engine."""
    symbolic = [axis for axis, dim in enumerate(op.shape) if not isinstance(dim, int)]
    shape = op.shape
    if len(symbolic) == 1 and 0 not in shape:
        shape = tuple(-1 if axis == symbolic[0] else dim for axis, dim in enumerate(shape))
    return w.node("Reshape", inputs[0], w.ints(shape), allowzero=1 if 0 in shape else None)


@lowers(Transpose)
def transpose(w: Writer, op: Transpose, inputs: list[str], node: Node) -> str:
    """Left out where it undoes another."""
    return w.transpose(inputs[0], op.perm)


@lowers(Concat)
def concat(w: Writer, op: Concat, inputs: list[str], node: Node) -> str:
    """Concat."""
    return w.node("Concat", *inputs, axis=op.axis)

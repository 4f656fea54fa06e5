"""Matrix products for the engine."""

from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.graph import Node
from edgewright.ops.matmul import MatMul

__all__: list[str] = []


@lowers(MatMul)
def matmul(w: Writer, op: MatMul, inputs: list[str], node: Node) -> str:
    """MatMul, operands transposed where asked, bias added."""
    left = _turned(w, inputs[0], w.type(node.inputs[0]).rank, op.transpose_in0)
    right = _turned(w, inputs[1], w.type(node.inputs[1]).rank, op.transpose_in1)
    result = w.node("MatMul", left, right)
    return w.node("Add", result, inputs[2]) if len(inputs) > 2 and inputs[2] else result


def _turned(w: Writer, value: str, rank: int, is_turned: bool) -> str:
    return w.transpose(value, (*range(rank - 2), rank - 1, rank - 2)) if is_turned else value

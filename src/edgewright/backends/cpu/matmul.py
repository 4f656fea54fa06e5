"""Matrix products for the engine."""

from edgewright.backends.cpu.packed import write_packed_product
from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.graph import Node
from edgewright.ops.matmul import FullyConnected, MatMul


@lowers(MatMul)
def matmul(w: Writer, op: MatMul, inputs: list[str], node: Node) -> str:
    """Gemm for two float matrices; else MatMul, operands transposed where asked, bias added."""
    left, right = (w.type(value) for value in node.inputs[:2])
    bias = inputs[2] if len(inputs) > 2 else ""
    if not inputs[1]:
        rows = _transpose_last(w, inputs[0], left.rank, op.transpose_in0)
        return _add_bias(w, write_packed_product(w, node, rows, left.dtype), bias)
    is_gemm = left.rank == right.rank == 2 and left.dtype.is_float
    if is_gemm and (bias or op.transpose_in0 or op.transpose_in1):
        return _write_gemm(w, [*inputs[:2], bias], op.transpose_in0, op.transpose_in1)
    product = w.node(
        "MatMul",
        _transpose_last(w, inputs[0], left.rank, op.transpose_in0),
        _transpose_last(w, inputs[1], right.rank, op.transpose_in1),
    )
    return _add_bias(w, product, bias)


@lowers(FullyConnected)
def fully_connected(w: Writer, op: FullyConnected, inputs: list[str], node: Node) -> str:
    """Gemm for matrices, MatMul for more axes; the weights as they lie in memory."""
    x, weights = (w.type(value) for value in node.inputs[:2])
    rows, bias = inputs[0], inputs[2] if len(inputs) > 2 else ""
    is_folded = not op.keep_dims and (x.rank != 2 or x.shape[-1] != weights.shape[-1])
    if is_folded:
        rows = w.node("Reshape", rows, w.ints((-1, weights.shape[1])))
    if not inputs[1]:
        return _add_bias(w, write_packed_product(w, node, rows, x.dtype), bias)
    if x.dtype.is_float and (is_folded or x.rank == 2):
        is_turned = not _is_transposed_view(w, node.inputs[1])
        matrix = inputs[1] if is_turned else w.transpose(inputs[1], (1, 0))
        return _write_gemm(w, [rows, matrix, bias], False, is_turned)
    return _add_bias(w, w.node("MatMul", rows, w.transpose(inputs[1], (1, 0))), bias)


def _add_bias(w: Writer, product: str, bias: str) -> str:
    return w.node("Add", product, bias) if bias else product


def _write_gemm(w: Writer, operands: list[str], turns_left: bool, turns_right: bool) -> str:
    given = operands if operands[2] else operands[:2]
    return w.node("Gemm", *given, transA=int(turns_left), transB=int(turns_right))


def _is_transposed_view(w: Writer, value: str) -> bool:
    """Whether a constant is the transposed view of a dense matrix: turning it back then copies nothing."""
    array = w.graph.constants.get(value)
    return array is not None and array.flags.f_contiguous and not array.flags.c_contiguous


def _transpose_last(w: Writer, value: str, rank: int, is_turned: bool) -> str:
    return w.transpose(value, (*range(rank - 2), rank - 1, rank - 2)) if is_turned else value

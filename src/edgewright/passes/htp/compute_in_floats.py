"""Computes ops in floats whose fixed-point kernels in HTP's library give something else."""

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import ReluMinMax
from edgewright.ops.elementwise_unary import ElementWiseLog
from edgewright.ops.quant import Dequantize, Quantize
from edgewright.passes.graph_pass import register_pass, rewrite_each

# Of the numbers above zero that half precision has.
LEAST, LARGEST = 2.0**-24, 65504.0


@register_pass()
def compute_in_floats(graph: Graph) -> int:
    """Operands are decoded, the result is encoded."""
    return rewrite_each(graph, _compute)


def _compute(graph: Graph, node: Node) -> bool:
    if not node.op.specific().is_wrong_on_htp(graph.input_types(node)):
        return False
    operands = [_decode(graph, node, value) for value in node.inputs]
    if isinstance(node.op.specific(), ElementWiseLog):
        operands = [_keep_above_zero(graph, node, operands[0])]
    results = graph.output_types(node)
    graph.remove(node)
    real = [graph.fresh_name(f"{value}_float") for value in node.outputs]
    kinds = [kind.with_dtype(DType.FLOAT_32) if kind.encoding else kind for kind in results]
    graph.add(Node(node.name, node.op, operands, real, node.source), kinds)
    for value, name, kind in zip(real, node.outputs, results, strict=True):
        assert kind.encoding is not None
        encode = Quantize(encoding=kind.encoding, dtype=kind.dtype)
        graph.add(Node(graph.fresh_name(f"{node.name}_encoded"), encode, [value], [name]), [kind])
    return True


def _keep_above_zero(graph: Graph, node: Node, value: str) -> str:
    """No less than the least float16: the library's logarithm of 0 is -7.6."""
    name = graph.fresh_name(f"{value}_above_zero")
    clamp = ReluMinMax(min_value=LEAST, max_value=LARGEST)
    graph.add(Node(name, clamp, [value], [name], node.source), [graph.types[value]])
    return name


def _decode(graph: Graph, node: Node, value: str) -> str:
    kind = graph.types[value]
    if kind.encoding is None:
        return value
    name = graph.fresh_name(f"{value}_float")
    decode = Dequantize(encoding=kind.encoding)
    graph.add(
        Node(graph.fresh_name(f"{node.name}_decoded"), decode, [value], [name]),
        [kind.with_dtype(DType.FLOAT_32)],
    )
    return name

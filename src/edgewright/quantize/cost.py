"""What a graph costs in its precision: bits times multiply-accumulates, and bytes of weights."""

from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.cost import node_macs
from edgewright.ops.quant import Convert

# Uniform w8a8 is the measure.
EIGHT = 8
# Half precision is what the HTP computes in, whatever floats are stored as.
FLOAT_BITS = 16


def work_of(graph: Graph, node: Node) -> int:
    """MACs of a node; an op that multiplies nothing counts as one MAC for each element that it makes."""
    macs = node_macs(graph, node)
    if macs:
        return macs
    counts = [graph.types[value].count for value in node.outputs if value]
    return sum(count for count in counts if isinstance(count, int))


def compute_node_cost(graph: Graph, node: Node) -> int:
    """Work times bits of the first operand times bits of the second; 8 bits where there is no second one."""
    first = node.inputs[0] if node.inputs else next(iter(node.outputs), "")
    left = max(get_bits(graph.types[value]) for value in (first, *node.outputs) if value)
    has_product = bool(node_macs(graph, node)) and len(node.inputs) > 1 and bool(node.inputs[1])
    right = get_bits(graph.types[node.inputs[1]]) if has_product else EIGHT
    return work_of(graph, node) * left * right


def compute_relative_cost(quantized: Graph, source: Graph) -> float:
    """The cost of a quantized graph over that of its float graph, were all of it in w8a8.

    Conversions between precisions count too: the float graph has none.
    """
    uniform = sum(work_of(source, node) for node in source.nodes if not isinstance(node.op, Convert))
    cost = sum(compute_node_cost(quantized, node) for node in quantized.nodes)
    return cost / (uniform * EIGHT * EIGHT) if uniform else 0.0


def count_stored_bytes(graph: Graph) -> int:
    """Bytes of all constants that are read, weights of 4 bits packed two to a byte."""
    read = {value for node in graph.nodes for value in node.inputs} | set(graph.outputs)
    sizes = [(graph.types[value], array.size) for value, array in graph.constants.items() if value in read]
    return sum(-(-_count_stored_bits(kind) * size // 8) for kind, size in sizes)


def get_bits(kind: TensorType) -> int:
    """The width that arithmetic sees."""
    if kind.encoding is not None:
        return kind.encoding.bitwidth
    return FLOAT_BITS if kind.dtype.is_float else min(kind.dtype.bits, FLOAT_BITS)


def _count_stored_bits(kind: TensorType) -> int:
    return kind.dtype.bits if kind.encoding is None else kind.encoding.bitwidth

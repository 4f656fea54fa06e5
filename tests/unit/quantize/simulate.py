"""The meaning of a fixed-point graph as a float graph: every stored value is rounded to its steps."""

from dataclasses import replace

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.quant import Convert, Dequantize, Quantize


def simulated(graph: Graph) -> Graph:
    """A float graph that computes what the fixed-point one means; its inputs and outputs are floats."""
    twin = Graph(graph.name)
    names: dict[str, str] = {}
    for value in graph.inputs:
        names[value] = _rounded(twin, graph, value, twin.add_input(value, _real(graph, value)))
    for value, array in graph.constants.items():
        kind = graph.types[value]
        names[value] = twin.add_constant(value, array, kind)
        if kind.encoding is not None:
            # Not decoded here: the engine quantizes float weights between quantized values by itself.
            names[value] = f"{value}/real"
            decode = Dequantize(encoding=kind.encoding)
            twin.add(Node(f"{value}/dequantize", decode, [value], [names[value]]))
    for node in graph.nodes:
        inputs = [names.get(value, "") for value in node.inputs]
        if isinstance(node.op, Convert):
            names[node.outputs[0]] = _rounded(twin, graph, node.outputs[0], inputs[0])
            continue
        outputs = [f"{value}/raw" if value else "" for value in node.outputs]
        twin.add(
            Node(node.name, node.op, inputs, outputs, subgraphs=node.subgraphs),
            [_real(graph, value) for value in node.outputs if value],
        )
        for value, raw in zip(node.outputs, outputs, strict=True):
            if value:
                names[value] = _rounded(twin, graph, value, raw)
    twin.outputs = [names[value] for value in graph.outputs]
    return twin


def _real(graph: Graph, value: str):
    kind = graph.types[value]
    return replace(kind, dtype=DType.FLOAT_32, encoding=None) if kind.dtype.is_fixed_point else kind


def _rounded(twin: Graph, graph: Graph, value: str, raw: str) -> str:
    kind = graph.types[value]
    if kind.encoding is None:
        return raw
    stored, real = f"{value}/stored", f"{value}/real"
    quantize = Quantize(dtype=kind.dtype, encoding=kind.encoding)
    twin.add(Node(f"{value}/quantize", quantize, [raw], [stored]))
    twin.add(Node(f"{value}/dequantize", Dequantize(encoding=kind.encoding), [stored], [real]))
    return real

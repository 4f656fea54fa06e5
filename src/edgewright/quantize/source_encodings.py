"""Takes the encodings of a model that was trained with quantization out of its nodes (QDQ)."""

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu
from edgewright.ops.quant import Dequantize, Quantize
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.target.float_io import make_all_io_float
from edgewright.quantize.lift_moves import lift_moves
from edgewright.quantize.tensor_encodings import TensorEncoding, make_entry


def take_source_encodings(
    graph: Graph, *, keep_pairs: bool = False, is_ignored: bool = False
) -> list[TensorEncoding]:
    """Removes pairs of Quantize and Dequantize, in place, and returns what they say of their tensors.

    Nothing is returned where that ``is_ignored``.

    Weights become float constants of the values they stand for, inputs and outputs real numbers. A pair that
    says something else than another one of the same tensor stays where it is, and so do all pairs of
    activations with ``keep_pairs``.
    """
    entries: dict[str, TensorEncoding] = {}
    make_all_io_float(graph)
    if not keep_pairs:
        lift_moves(graph)
    for node in graph.nodes:
        if node not in graph or not isinstance(node.op, Dequantize):
            continue
        if node.inputs[0] in graph.constants:
            _take_weights(graph, node, node.op, entries)
        elif not keep_pairs:
            _take_pair(graph, node, entries)
    for name in [v for v in graph.constants if not graph.consumers(v) and v not in graph.outputs]:
        graph.drop_constant(name)
    graph.sort()
    return [] if is_ignored else list(entries.values())


def _take_pair(graph: Graph, node: Node, entries: dict[str, TensorEncoding]) -> None:
    """A value that is quantized and dequantized at once: it is the value, with an encoding."""
    before = graph.producer(node.inputs[0])
    if before is None or not isinstance(before.op, Quantize) or before.op.encoding.axis is not None:
        return
    value, made = before.inputs[0], node.outputs[0]
    name = graph.source_names.get(value, value)
    stored = graph.types[node.inputs[0]]
    entry = make_entry(name, TensorType(stored.shape, stored.dtype, None, before.op.encoding), is_param=False)
    if entries.setdefault(name, entry) != entry or graph.types[made] != graph.types[value]:
        return
    if made in graph.outputs and (graph.producer(value) is None or value in graph.outputs):
        return
    if _is_cut_below_zero(graph, value, entry):
        # Exporters leave a Relu out where the encoding that follows begins at zero.
        _clamp(graph, node, value)
    else:
        _let_read(graph, node, value)
    if not graph.consumers(before.outputs[0]) and before.outputs[0] not in graph.outputs:
        graph.remove(before)


def _is_cut_below_zero(graph: Graph, value: str, entry: TensorEncoding) -> bool:
    """Whether an encoding from zero on does more than round: its value may be negative."""
    return entry.offsets == (0,) and not _is_positive(graph, value)


def _is_positive(graph: Graph, value: str) -> bool:
    node = graph.producer(value)
    while node is not None and node.op.keeps_encoding and len(node.inputs) == 1:
        value = node.inputs[0]
        node = graph.producer(value)
    # An input is taken to be what its encoding says.
    return node is None or node.op.specific().value_range()[0] >= 0


def _clamp(graph: Graph, node: Node, value: str) -> None:
    """A Relu in the place of a pair; both its sides have the name that the encoding is for."""
    made, types = node.outputs[0], graph.output_types(node)
    graph.remove(node)
    graph.add(Node(node.name, Relu(), [value], [made], node.source), types)
    if made not in graph.outputs:
        graph.source_names[made] = graph.source_names.get(value, value)


def _let_read(graph: Graph, node: Node, value: str) -> None:
    """Whoever reads the pair's result reads the value; a graph output keeps its name."""
    made = node.outputs[0]
    is_output = made in graph.outputs
    graph.replace_uses(made, value)
    graph.remove(node)
    if is_output:
        graph.source_names.setdefault(made, graph.source_names.get(value, value))
        graph.rename_value(value, made)


def _take_weights(graph: Graph, node: Node, op: Dequantize, entries: dict[str, TensorEncoding]) -> None:
    """Weights that are dequantized, and turned, become float constants with an entry under their names."""
    stored = node.inputs[0]
    name = graph.source_names.get(stored, stored)
    if node.outputs[0] in graph.outputs:
        return
    real, dtype = op.encoding.decode(graph.constants[stored]), graph.types[stored].dtype
    graph.remove(node)
    _replace(graph, node.outputs[0], real.astype(op.dtype.numpy), name)
    entries[name] = make_entry(name, TensorType(real.shape, dtype, None, op.encoding), is_param=True)
    _fold_moves(graph, node.outputs[0], name)


def _replace(graph: Graph, value: str, array: Array, name: str) -> None:
    graph.add_constant(value, array)
    graph.source_names[value] = name


def _fold_moves(graph: Graph, value: str, name: str) -> None:
    """Transposes and reshapes of a weight happen here: entries name the weight, not its layouts."""
    for node in graph.consumers(value):
        if isinstance(node.op, (Transpose, Reshape)) and node.outputs[0] not in graph.outputs:
            (moved,) = node.op.compute(graph.constants[value])
            graph.remove(node)
            _replace(graph, node.outputs[0], moved, name)
            _fold_moves(graph, node.outputs[0], name)

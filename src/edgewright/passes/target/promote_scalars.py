"""Gives values of rank 0 the one axis that QNN tensors must have."""

from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.rearrange import Reshape
from edgewright.passes.graph_pass import register_pass


@register_pass(rtol=0.0)
def promote_scalars(graph: Graph) -> int:
    """Rank 0 becomes [1]; where an op then makes another shape, a reshape restores the old one."""
    promoted = [name for name, tensor_type in graph.types.items() if tensor_type.rank == 0 and name]
    for name in promoted:
        graph.types[name] = graph.types[name].with_shape((1,))
        if name in graph.constants:
            graph.constants[name] = graph.constants[name].reshape(1)
    if promoted:
        for node in graph.nodes:
            _settle(graph, node)
    return len(promoted)


def _settle(graph: Graph, node: Node) -> None:
    if isinstance(node.op, Reshape) and node.op.shape == ():
        node.op = Reshape(shape=(1,))
    stored = graph.output_types(node)
    made = node.op.types_for(graph.input_types(node))
    for value, stored_type, made_type in zip([v for v in node.outputs if v], stored, made, strict=False):
        if made_type.shape not in {stored_type.shape, ()} and stored_type.is_static:
            _restore(graph, value, stored_type, made_type)


def _restore(graph: Graph, value: str, stored_type: TensorType, made_type: TensorType) -> None:
    fresh = graph.fresh_name(value)
    graph.rename_value(value, fresh)
    graph.outputs = [value if v == fresh else v for v in graph.outputs]
    consumers = graph.consumers(fresh)
    graph.types[fresh] = made_type
    graph.add(
        Node(graph.fresh_name(value), Reshape(shape=stored_type.shape), [fresh], [value]), [stored_type]
    )
    for reader in consumers:
        for place, name in enumerate(reader.inputs):
            if name == fresh:
                graph.set_input(reader, place, value)

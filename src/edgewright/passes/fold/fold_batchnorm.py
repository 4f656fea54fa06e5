"""Folds batch norms into the convolution or product before them; gamma and beta stay known in its notes."""

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.ops.norm import Batchnorm
from edgewright.passes.fold.linear import Affine, absorb, find_product, find_reshape
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each
from edgewright.passes.match import drop_reader


@register_pass(after=("assign_layout",), rtol=1e-4)
def fold_batchnorm(graph: Graph) -> int:
    """Left out by --disable_batchnorm_folding."""
    return rewrite_each(graph, _fold)


def _fold(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, Batchnorm):
        return False
    x = node.inputs[0]
    between = find_reshape(graph, x)
    before = find_product(graph, between.inputs[0] if between is not None else x)
    if before is None:
        return False
    if graph.types[before.outputs[0]].shape[-1] != graph.types[x].shape[-1]:
        raise Refused("a reshape between them changes the channels")
    weight, bias = node.inputs[1], given(node.inputs, 2)
    if weight not in graph.constants or (bias and bias not in graph.constants):
        raise Refused("the batch norm's weights are not known")
    affine = Affine(graph.constants[weight], graph.constants[bias] if bias else None)
    merged = absorb(graph, before, affine)
    merged.notes.update({name: node.notes[name] for name in ("gamma", "beta") if name in node.notes})
    drop_reader(graph, between or merged, node)
    return True

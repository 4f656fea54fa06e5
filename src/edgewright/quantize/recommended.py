"""Which algorithms suit a network: by what it is made of and how few bits its weights get."""

from dataclasses import dataclass

from edgewright.ir.graph import Graph
from edgewright.ops.matmul import MatMul
from edgewright.ops.norm import AxesNorm
from edgewright.ops.reduce_softmax import Softmax
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles


@dataclass(frozen=True)
class Recommendation:
    """Algorithms in the order in which they are applied, and a sentence about each choice."""

    algorithms: tuple[str, ...]
    reasons: tuple[str, ...]


def recommend_algorithms(graph: Graph, request: QuantizationRequest) -> Recommendation:
    """What to try, for a float graph and the widths that it gets; what does not gain is dropped."""
    chosen: dict[str, str] = {}
    depthwise = sum(node.op.is_depthwise for node in graph.nodes)
    if depthwise and not request.per_channel:
        chosen["cle"] = (
            f"cle: {depthwise} depthwise convolutions share one encoding a weight, so channels are equalized"
        )
    if _is_transformer(graph) and request.act_bw == 8:
        chosen["smooth"] = "smooth: a transformer, whose channels reach unequally far, in 8 bits"
    products = sum(bool(find_roles(graph, n).weights) and n.op.is_product for n in graph.nodes)
    if products and request.weight_bw == 4:
        chosen["seq_mse"] = f"seq_mse: {products} products with weights of 4 bits, whose ranges matter most"
    if products and request.weight_bw <= 8:
        chosen["adaround"] = f"adaround: {products} products whose weights make up for each other's rounding"
    # A search tries corrected biases by itself, learned rounding corrects them.
    if products and "adaround" not in chosen and not request.is_searched:
        chosen["bc"] = "bc: rounded weights move the means of outputs"
    return Recommendation(tuple(chosen), tuple(chosen.values()))


def _is_transformer(graph: Graph) -> bool:
    """Whether there are norms, and products of activations that a softmax weighs."""
    has_norm = any(isinstance(node.op, AxesNorm) for node in graph.nodes)
    softmaxes = {value for n in graph.nodes if isinstance(n.op, Softmax) for value in n.outputs}
    products = [n for n in graph.nodes if isinstance(n.op, MatMul) and n.inputs[1] not in graph.constants]
    return has_norm and bool(softmaxes) and bool(products)

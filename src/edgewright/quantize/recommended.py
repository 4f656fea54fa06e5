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
    """What to ask for, for a float graph and the widths that it gets.

    Learned rounding gains 0.3 dB in 8 bits (MobileNetV2, a minute): it is for 4 bits.
    """
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
        chosen["adaround"] = "adaround: 4 bits lose most where each weight is rounded for itself"
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

"""Known cliffs: what graphs have with which public times exceed every prediction."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from edgewright.estimate.work import Network

# Elements of one product of activations or softmax, as in attention over 1,500 positions with 6 heads.
_LARGE_ATTENTION = 25_000_000


@dataclass(frozen=True)
class Cliff:
    """What to look for, in which precisions, and what was measured with it."""

    precisions: tuple[str, ...]
    is_there: Callable[[Network], bool]
    text: str


def find_cliffs(network: Network, precision: str) -> Iterator[str]:
    """Sentences about the cliffs that a network may fall from."""
    for cliff in CLIFFS:
        if precision in cliff.precisions and cliff.is_there(network):
            yield f"may be much slower: {cliff.text}"


def _has_uneven_pool(network: Network) -> bool:
    # Windows of 2 x 2 with a stride of 1 take one row and one column away: 160 x 160 becomes 159 x 159.
    return any(
        "pool" in layer.op.lower() and 0.85 * layer.read < layer.written < layer.read
        for layer in network.layers
    )


def _has_large_attention(network: Network) -> bool:
    return any(
        layer.kind in ("attention", "statistics") and layer.read + layer.written >= _LARGE_ATTENTION
        for layer in network.layers
    )


def _has_dense_blocks(network: Network) -> bool:
    # Each layer reads all before it: many concatenations of growing tensors, with few clamps to spare.
    joins = sum(layer.kind == "placement" for layer in network.layers)
    return joins >= 40 and network.clamps >= joins


def _is_transformer(network: Network) -> bool:
    return sum(layer.kind == "statistics" for layer in network.layers) >= 10


CLIFFS = (
    Cliff(
        ("w8a8", "w8a16", "w4a8", "w4a16"),
        _has_uneven_pool,
        "pooling with a stride of 1 that makes an odd size, in fixed point; with it YOLOv9 takes 57 times "
        "its prediction in w8a8 and 38 times in w8a16, but 1.4 times in fp16",
    ),
    Cliff(
        ("float", "w8a8", "w8a16", "w4a8", "w4a16"),
        _has_large_attention,
        "attention over some 1,500 positions or more; VideoMAE takes 3.8 times its prediction in fp16 and "
        "5.8 times in w8a16 (encoders of Whisper, as large, do not)",
    ),
    Cliff(
        ("w8a8", "w4a8"),
        _has_dense_blocks,
        "dense blocks, in which each layer reads all before it, in 8 bits; DenseNet-121 takes 2.6 times its "
        "prediction in w8a8",
    ),
    Cliff(
        ("w8a8", "w4a8"),
        _is_transformer,
        "norms and softmaxes in 8 bits; ViT is slower in w8a8 than in w8a16 (7.0 and 5.2 ms on SM8650)",
    ),
)

"""Weights in blocks whose scales are whole multiples of their channel's: QNN's blockwise expansion.

QNN stores the number of blocks alone: they lie along the other of the last two axes, and all are of one size.
"""

from collections.abc import Sequence

from edgewright.core.errors import BadInput, UnsupportedFeature, Where
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnTensor

BLOCKWISE_EXPANSION = 5
# A stored integer of 4 bits times a factor of 4 bits makes 8 bits.
FACTOR_BITS = 4
LARGEST_FACTOR = 1 << FACTOR_BITS


def count_blocks(tensor: QnnTensor) -> int:
    """The blocks of each channel; what QNN has no form for is refused."""
    encoding = tensor.encoding
    assert encoding is not None
    where = Where(tensor=tensor.name)
    if not encoding.block_scales:
        raise UnsupportedFeature(
            "every block of the weights has a scale of its own, expected whole multiples of the channel's",
            where,
            do="quantize with low-power blockwise encodings (block_size), or per channel",
        )
    along = None if encoding.axis is None else _find_block_axis(len(tensor.dims), encoding.axis)
    size = tensor.dims[encoding.block_axis or 0]
    if along is None or along != encoding.block_axis or size % encoding.block_size:
        raise UnsupportedFeature(
            f"blocks of {encoding.block_size} lie along axis {encoding.block_axis} of {list(tensor.dims)}, "
            f"expected blocks of one size along axis {along}",
            where,
            do="choose a block size that divides the input channels",
        )
    return size // encoding.block_size


def add_blocks(
    channels: Encoding, dims: Sequence[int], blocks: int, factors: Sequence[int], where: Where
) -> Encoding:
    """The encoding of channels with the factors of their blocks."""
    axis = channels.axis
    along = None if axis is None else _find_block_axis(len(dims), axis)
    if axis is None or along is None or blocks < 1 or dims[along] % blocks:
        raise BadInput(f"there are {blocks} blocks in {list(dims)}, expected blocks of one size", where)
    if len(factors) != dims[axis] * blocks:
        raise BadInput(f"there are {len(factors)} scales of blocks, expected {dims[axis] * blocks}", where)
    if not all(1 <= factor <= LARGEST_FACTOR for factor in factors):
        raise BadInput(f"the scale of a block is not a number from 1 to {LARGEST_FACTOR}", where)
    return Encoding(
        *(channels.scales, channels.offsets, axis, channels.bitwidth),
        *(along, dims[along] // blocks, bytes(factors)),
    )


def _find_block_axis(rank: int, axis: int) -> int | None:
    """The axis of input channels beside that of output channels."""
    return {rank - 1: rank - 2, rank - 2: rank - 1}.get(axis) if rank > 1 else None

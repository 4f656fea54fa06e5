"""What nodes cost on the HTP, estimated from shapes: products in blocks of 32 channels, bytes."""

import math
from functools import cached_property

from edgewright.ir.dims import Dim
from edgewright.ir.graph import Graph, Node
from edgewright.ir.symbols import batch_symbols, resolve
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Convolution
from edgewright.ops.conv_transpose import TransposedConvolution
from edgewright.ops.cost import node_macs

# The HTP keeps and multiplies channels in blocks of this many.
BLOCK = 32
# The memory beside its units that most chips have (edgewright targets lists it by chip).
VTCM_BYTES = 8 << 20


def round_up(channels: int) -> int:
    """Channels with those that fill the last block."""
    return math.ceil(channels / BLOCK) * BLOCK


class Costs:
    """Costs of the nodes of a graph, with a batch of 1 where it is open."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._batch = dict.fromkeys(batch_symbols({name: graph.types[name] for name in graph.inputs}), 1)

    def find_shape(self, value: str) -> tuple[int, ...] | None:
        """The sizes of a value; None where one is open."""
        kind = resolve(self._graph.types[value], self._batch)
        return kind.static_shape() if kind.is_static else None

    def count_bytes(self, value: str) -> int:
        """Bytes of a value as the HTP would hold it: floats take two; 0 where its size is open."""
        shape = self.find_shape(value)
        kind = self._graph.types[value]
        return 0 if shape is None else math.prod(shape) * _count_element_bytes(kind)

    def count_macs(self, node: Node) -> int:
        """Multiply-accumulates as the network defines them."""
        return node_macs(self._graph, node)

    def count_padded_macs(self, node: Node) -> int:
        """The same with channels filled up to whole blocks."""
        macs, sizes = self.count_macs(node), self.find_channels(node)
        if sizes is None or not macs:
            return macs
        read, made = sizes
        factor = round_up(made) / made
        if not node.op.is_depthwise:
            factor *= round_up(read) / read
        return int(macs * factor)

    def find_channels(self, node: Node) -> tuple[int, int] | None:
        """Channels that one sum of a convolution reads, and that it makes; of one group each."""
        if not isinstance(node.op, Convolution | TransposedConvolution):
            return None
        read, made = (self._read_channels(value) for value in (node.inputs[0], node.outputs[0]))
        if not read or not made:
            return None
        groups = 1 if node.op.is_depthwise else int(getattr(node.op, "group", 1) or 1)
        return max(read // groups, 1), max(made // groups, 1)

    @cached_property
    def total(self) -> int:
        """All padded multiply-accumulates of the network."""
        return sum(self.count_padded_macs(node) for node in self._graph.nodes)

    @cached_property
    def total_bytes(self) -> int:
        """All bytes that its ops write."""
        return sum(self.count_bytes(value) for node in self._graph.nodes for value in node.outputs if value)

    def share(self, macs: int) -> float:
        """The part of the network's products."""
        return macs / self.total if self.total else 0.0

    def share_bytes(self, size: int) -> float:
        """The part of what the network writes."""
        return size / self.total_bytes if self.total_bytes else 0.0

    def _read_channels(self, value: str) -> int:
        size: Dim = self._graph.types[value].shape[-1] if self._graph.types[value].rank else 0
        return size if isinstance(size, int) else 0


def _count_element_bytes(kind: TensorType) -> int:
    # Half precision is what the HTP makes of floats.
    return 2 if kind.dtype.is_float else max(kind.dtype.bits // 8, 1)


def spell_bytes(size: int) -> str:
    """A size for a sentence."""
    return f"{size / 2**20:.1f} MB" if size >= 1 << 20 else f"{max(size / 1024, 0.1):.1f} KB"


def spell_macs(count: int) -> str:
    """A number of multiply-accumulates for a sentence."""
    return f"{count / 1e6:.1f} M MACs" if count >= 100_000 else f"{count} MACs"

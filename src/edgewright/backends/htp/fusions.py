"""Activations that HTP computes from the sums before them, not from what is stored of these."""

from dataclasses import replace

import numpy as np

from edgewright.backends.htp.bent_sums import find_slopes
from edgewright.backends.htp.gated_sums import has_same_image
from edgewright.backends.htp.products import can_bend, is_byte_product
from edgewright.backends.htp.requantize import is_byte, is_wide
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu
from edgewright.ops.rearrange import Reshape


def with_fusions(graph: Graph) -> Graph:
    """A copy in which such activations read twins of the sums; the stored values can still be asked for."""
    found = [node.name for node in graph.nodes if _way(graph, node)]
    if not found:
        return graph
    fused = graph.copy()
    for name in found:
        _fuse(fused, fused.node(name))
    fused.sort()
    return fused


def _way(graph: Graph, node: Node) -> list[Node]:
    """The product before an activation and the moves between; none where it is not fused."""
    if not node.op.is_fused_on_htp and _find_bounds(graph, node) is None:
        return []
    value, way = node.inputs[0], list[Node]()
    while graph.is_used_once(value):
        maker = graph.producer(value)
        if maker is None:
            return []
        way.insert(0, maker)
        if not _is_passed(graph, maker, node):
            if len(way) == 1 and _is_bent(graph, maker):
                return way
            is_same = graph.types[value].encoding == graph.types[node.outputs[0]].encoding
            is_rectified = len(way) == 1 and _is_rectified(graph, maker, node)
            is_read = is_rectified or _is_reading_sums(graph, maker, node)
            return way if is_read and (not is_same or node.op.is_gated_on_htp) else []
        value = maker.inputs[0]
    return []


def _is_passed(graph: Graph, maker: Node, node: Node) -> bool:
    """Whether an activation is computed before a Reshape: that of 16 bits may have work to do, in Relus."""
    is_wide_clamp = node.op.is_clamp and is_wide(graph.types[node.outputs[0]])
    return has_same_image(graph, maker) or (is_wide_clamp and isinstance(maker.op, Reshape))


def _is_bent(graph: Graph, maker: Node) -> bool:
    """Whether a Prelu right behind a product is computed from its sums."""
    return find_slopes(graph, maker) is not None and can_bend(graph, maker)


def _is_reading_sums(graph: Graph, maker: Node, node: Node) -> bool:
    """Whether sums are clamped or gated, whatever is stored of them."""
    types = {graph.types[value].dtype for value in (*maker.outputs, *node.outputs)}
    if node.op.is_gated_on_htp:
        return len(types) == 1 and can_bend(graph, maker)
    is_wide_product = types == {DType.UFIXED_POINT_16} and maker.op.is_product
    return node.op.is_clamp and (is_byte_product(graph, maker) or is_wide_product)


def _is_rectified(graph: Graph, maker: Node, node: Node) -> bool:
    """Whether a Relu right behind sums, differences or products of elements is where these are stored."""
    kinds = [graph.types[value] for value in (*maker.outputs, *node.outputs)]
    is_known = all(map(is_byte, kinds)) or all(map(is_wide, kinds))
    return maker.op.specific().is_rectified_on_htp and type(node.op.specific()) is Relu and is_known


def _find_bounds(graph: Graph, node: Node) -> Encoding | None:
    """What sums of 16 bits are stored in before they are clamped to bounds within the output's range."""
    kind = graph.types[node.outputs[0]]
    low, high = node.op.value_range()
    is_bounded = not low and 0 < high < np.inf
    if not node.op.is_clamp or not is_bounded or not is_wide(kind) or kind.encoding is None:
        return None
    last = (1 << kind.encoding.bitwidth) - 1
    is_within = np.rint(high / kind.encoding.scales[0]) - kind.encoding.offsets[0] < last
    return Encoding((high / last,), (0,), bitwidth=kind.encoding.bitwidth) if is_within else None


def _fuse(graph: Graph, node: Node) -> None:
    way = _way(graph, node)
    names = {value: graph.fresh_name(value) for maker in way for value in maker.outputs}
    kind = graph.types[way[0].outputs[0]]
    is_done = node.op.is_clamp or node.op.is_gated_on_htp or (len(way) == 1 and _is_bent(graph, way[0]))
    twin_kind = graph.types[node.outputs[0]] if is_done else _refine(kind)
    if (bounds := _find_bounds(graph, node)) is not None:
        twin_kind = replace(twin_kind, encoding=bounds)
    for maker in way:
        inputs = [names.get(value, value) for value in maker.inputs]
        outputs = [names[value] for value in maker.outputs]
        shape = graph.types[maker.outputs[0]]
        twin = replace(shape, dtype=twin_kind.dtype, encoding=twin_kind.encoding)
        graph.add(Node(outputs[0], maker.op, inputs, outputs, source=maker.source), [twin])
    graph.set_input(node, 0, names[way[-1].outputs[0]])


def _refine(kind: TensorType) -> TensorType:
    """16 bits for twice the range: sums are not clamped to what is stored of them."""
    assert kind.encoding is not None
    (scale,), (offset,) = kind.encoding.scales, kind.encoding.offsets
    encoding = Encoding((scale / 128,), (offset * 128 - (1 << 14),), bitwidth=16)
    return replace(kind, dtype=DType.UFIXED_POINT_16, encoding=encoding)

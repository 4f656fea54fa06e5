"""Makes one cast of two where the first one keeps every value."""

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.cast import Cast
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each
from edgewright.passes.match import drop_unread, find_maker

# Each type holds all values of those before it in a row.
WIDENING = (
    (DType.FLOAT_16, DType.FLOAT_32, DType.FLOAT_64),
    (DType.BFLOAT_16, DType.FLOAT_32, DType.FLOAT_64),
    (DType.BOOL_8, DType.UINT_8, DType.UINT_16, DType.UINT_32, DType.UINT_64),
    (DType.BOOL_8, DType.UINT_8, DType.INT_16, DType.INT_32, DType.INT_64),
    (DType.INT_8, DType.INT_16, DType.INT_32, DType.INT_64),
    (DType.UINT_16, DType.INT_32, DType.INT_64),
    (DType.BOOL_8, DType.UINT_8, DType.UINT_16, DType.FLOAT_32, DType.FLOAT_64),
    (DType.INT_8, DType.INT_16, DType.FLOAT_32, DType.FLOAT_64),
    (DType.INT_32, DType.FLOAT_64),
    (DType.UINT_32, DType.INT_64),
)


@register_pass()
def merge_casts(graph: Graph) -> int:
    """The second cast reads what the first one read."""
    return rewrite_each(graph, _merge)


def _merge(graph: Graph, node: Node) -> bool:
    before = find_maker(graph, node.inputs[0], Cast) if isinstance(node.op, Cast) else None
    if before is None:
        return False
    source, between = graph.types[before.inputs[0]], graph.types[before.outputs[0]]
    if source.encoding is not None or between.encoding is not None:
        raise Refused("one of the casts says what integers stand for")
    if not any(source.dtype in row and between.dtype in row[row.index(source.dtype) :] for row in WIDENING):
        raise Refused(f"{between.dtype.name} does not hold every {source.dtype.name}")
    graph.set_input(node, 0, before.inputs[0])
    drop_unread(graph, before.outputs[0])
    return True

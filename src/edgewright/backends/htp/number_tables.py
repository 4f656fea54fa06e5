"""Functions of one value of 8 bits that HTP has tables for; those that follow each other become one."""

from dataclasses import replace

from edgewright.backends.htp.requantize import is_byte
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import Relu
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply

LAST = 255


def find_number(graph: Graph, node: Node) -> str:
    """The constant of one number that is an operand; "" where none is."""
    numbers = (v for v in node.inputs if v in graph.constants and graph.constants[v].size == 1)
    return next(numbers, "")


def read_number(graph: Graph, name: str) -> float:
    """The real number that such a constant stands for."""
    encoding = graph.types[name].encoding
    assert encoding is not None
    return float(encoding.decode(graph.constants[name]).reshape(()))


def is_beside_table(graph: Graph, value: str, made: str) -> bool:
    """Whether a function of a value becomes one table with the one before it, or with the one behind it.

    What a Relu reads is stored together with that.
    """
    maker, readers = graph.producer(value), graph.consumers(made)
    reader = readers[0] if graph.is_used_once(made) and readers else None
    if reader is not None and (is_tabulated(graph, reader) or _is_done_before(graph, reader, made)):
        return is_tabulated(graph, reader)
    return maker is not None and graph.is_used_once(value) and is_tabulated(graph, maker)


def is_tabulated(graph: Graph, node: Node) -> bool:
    """Whether a node is such a function by itself, not computed together with sums before it."""
    if not node.op.specific().is_tabulated_on_htp:
        return False
    values = [value for value in node.inputs if value not in graph.constants]
    numbers = [graph.constants[value].size for value in node.inputs if value in graph.constants]
    kinds = [graph.types[value] for value in (*values, *node.outputs)]
    if len(values) != 1 or any(size != 1 for size in numbers) or not all(map(is_byte, kinds)):
        return False
    return not _is_done_before(graph, node, values[0])


def _is_done_before(graph: Graph, node: Node, value: str) -> bool:
    op, maker = node.op.specific(), graph.producer(value)
    if maker is None:
        return False
    if maker.op.is_product:
        return op.is_clamp or op.is_fused_on_htp
    return type(op) is Relu and maker.op.specific().is_rectified_on_htp


def with_joined_numbers(graph: Graph) -> Graph:
    """A copy in which an addition of a number right behind a product with one reads what is not rounded."""
    sums = [node.name for node in graph.nodes if _find_scaled(graph, node)]
    if not sums:
        return graph
    joined = graph.copy()
    for name in sums:
        _join(joined, joined.node(name))
    joined.sort()
    return joined


def _find_scaled(graph: Graph, node: Node) -> Node | None:
    """The product with a number that an addition of another one reads; None where that is something else."""
    if type(node.op.specific()) is not ElementWiseAdd or not is_tabulated(graph, node):
        return None
    value = next(name for name in node.inputs if name not in graph.constants)
    maker = graph.producer(value)
    if (
        maker is None
        or type(maker.op.specific()) is not ElementWiseMultiply
        or not is_tabulated(graph, maker)
    ):
        return None
    is_scaled = graph.is_used_once(value) and read_number(graph, find_number(graph, maker)) != 0
    return maker if is_scaled else None


def _join(graph: Graph, node: Node) -> None:
    """A twin of the product has steps that are those of its input, times the number."""
    maker = _find_scaled(graph, node)
    assert maker is not None
    given = next(name for name in maker.inputs if name not in graph.constants)
    kind, number = graph.types[given], read_number(graph, find_number(graph, maker))
    assert kind.encoding is not None
    (scale,), (offset,) = kind.encoding.scales, kind.encoding.offsets
    encoding = Encoding((scale * abs(number),), (offset if number > 0 else -LAST - offset,))
    twin = graph.fresh_name(maker.outputs[0])
    exact = replace(graph.types[maker.outputs[0]], encoding=encoding)
    graph.add(Node(twin, maker.op, list(maker.inputs), [twin], source=maker.source), [exact])
    graph.set_input(node, node.inputs.index(maker.outputs[0]), twin)

"""A graph as text: parse(to_text(g)) is g, and a broken text says where."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.ir.dims import maximum, symbol
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import REGISTRY
from edgewright.ir.text import LARGEST_INLINE, digest, parse, to_text
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu
from edgewright.ops.pool import PoolMax2d
from edgewright.ops.rearrange import Reshape
from edgewright.ops.source import SourceOp

SAMPLES = [sample for op in REGISTRY.values() for sample in op.samples()]
names = st.text(min_size=1, max_size=8) | st.sampled_from(
    ["input", "max", "_", "x:0", "a b", 'q"', "\n", "/a/b.c"]
)
SAMPLED_DTYPES = st.sampled_from([dtype for dtype in DType if dtype != DType.STRING])


def everything(graph: Graph) -> object:
    """All that two equal graphs share, in a form that compares."""
    nodes = [
        (n.name, n.op, n.inputs, n.outputs, n.source, [everything(s) for s in n.subgraphs])
        for n in graph.nodes
    ]
    constants = {
        name: (str(array.dtype), array.shape, repr(array.tolist())) for name, array in graph.constants.items()
    }
    return graph.name, graph.inputs, graph.outputs, graph.types, constants, graph.source_names, nodes


@st.composite
def dims(draw: st.DrawFn) -> object:
    base = symbol(draw(names))
    made = [
        7,
        base,
        base * 2 + 1,
        base * symbol("other") - 3,
        (base + 3) // 2,
        maximum(base * -1, symbol("m")),
    ]
    return draw(st.sampled_from(made))


@st.composite
def types(draw: st.DrawFn) -> TensorType:
    encoding = st.builds(
        Encoding,
        st.tuples(st.floats(1e-6, 1e6)),
        st.tuples(st.integers(-300, 300)),
        st.none() | st.just(0),
        st.sampled_from([4, 8]),
    )
    return TensorType(
        tuple(draw(st.lists(dims(), max_size=4))),
        draw(SAMPLED_DTYPES),
        draw(st.none() | st.sampled_from(["NHWC", "NCHW"])),
        draw(st.none() | encoding),
    )


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    dtype = draw(SAMPLED_DTYPES)
    raw = draw(st.lists(st.sampled_from([0, 1, 2.5, -3.25, np.inf, 0.1]), max_size=LARGEST_INLINE))
    usable = raw if dtype.is_float and dtype.bits > 8 else [float(abs(r) > 1) for r in raw]
    array = np.array(usable, np.float64).astype(dtype.numpy)
    return array.reshape(1, -1) if draw(st.booleans()) else array


@st.composite
def graphs(draw: st.DrawFn, depth: int = 1) -> Graph:
    graph = Graph(draw(names))
    for name in draw(st.lists(names, unique=True, min_size=1, max_size=3)):
        graph.add_input(name, draw(types()))
    for array in draw(st.lists(arrays(), max_size=3)):
        graph.add_constant(graph.fresh_name("c"), array)
    for _ in range(draw(st.integers(0, 4))):
        given_ones = draw(st.lists(st.sampled_from([*graph.types, ""]), max_size=3))
        made = [graph.fresh_name(draw(names)) for _ in range(draw(st.integers(1, 2)))]
        attributes = (
            ("a", draw(st.integers() | st.floats(allow_nan=False) | st.text() | st.binary())),
            ("b", (1,)),
        )
        op = SourceOp(package="p", type=draw(names), attributes=attributes, results=(draw(types()),) * 2)
        inner = (draw(graphs(depth=depth - 1)),) if depth and draw(st.booleans()) else ()
        name = made[0] if draw(st.booleans()) else graph.fresh_name("n")
        graph.add(Node(name, op, given_ones, made, draw(st.just("") | names), inner))
    graph.outputs = draw(st.lists(st.sampled_from(list(graph.types)), max_size=2))
    graph.source_names = {name: name + "?" for name in graph.outputs}
    return graph


@given(graph=graphs())
def test_what_was_printed_parses_to_the_same_graph(graph: Graph) -> None:
    text = to_text(graph)
    parsed = parse(text)
    assert everything(parsed) == everything(graph)
    assert to_text(parsed) == text


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: f"{s.op.qnn_name()}-{s.label}")
def test_every_op_of_the_catalogue_keeps_its_params(sample) -> None:
    graph, inputs = Graph(), []
    for index, item in enumerate(sample.inputs):
        if isinstance(item, TensorType):
            inputs.append(graph.add_input(f"x{index}", item))
        else:
            inputs.append("" if item is None else graph.add_constant(f"x{index}", item))
    graph.add(Node("n", sample.op, inputs, ["y"]))
    parsed = parse(to_text(graph), graph.constants)
    assert parsed.node("n").op == sample.op
    assert everything(parsed) == everything(graph)


def test_types_names_and_defaults_may_be_left_out() -> None:
    graph = parse("""
        graph main {
          input x: float_32[batch,8,8,3]
          # the larger of each window
          y = PoolMax2d(x) {filter_size=(2, 2), stride=(2, 2), pad_amount=((0, 0), (0, 0))}
          z = Relu(y)
          output z
        }
    """)
    assert graph.node("y").op == PoolMax2d(filter_size=(2, 2), stride=(2, 2), pad_amount=((0, 0), (0, 0)))
    assert graph.types["z"] == TensorType((symbol("batch"), 4, 4, 3))


def test_a_symbolic_param_is_a_dimension_again() -> None:
    graph = Graph()
    graph.add_input("x", TensorType((symbol("n"), 4)))
    graph.add(Node("r", Reshape(shape=(symbol("n") * 2, 2)), ["x"], ["y"]))
    assert parse(to_text(graph)).node("r").op == Reshape(shape=(symbol("n") * 2, 2))


def test_a_large_constant_is_named_with_a_digest_and_given_beside_the_text() -> None:
    weights = np.arange(LARGEST_INLINE + 1, dtype=np.float32)
    graph = Graph()
    graph.add_constant("w", weights)
    graph.add(Node("n", Relu(), ["w"], ["y"]))
    text = to_text(graph)
    assert f"const w: float_32[17] #{digest(weights)}" in text
    assert parse(text, {"w": weights}).constants["w"] is weights
    with pytest.raises(BadInput, match="constant 'w' beside the text"):
        parse(text)
    with pytest.raises(BadInput, match=digest(weights + 1)):
        parse(text, {"w": weights + 1})


def test_the_digest_does_not_depend_on_the_order_in_memory() -> None:
    array = np.arange(12).reshape(3, 4)
    assert digest(array.T) == digest(np.ascontiguousarray(array.T)) != digest(array)


def test_an_optional_input_left_out_is_a_sign() -> None:
    text = to_text(
        parse('graph g { input x: float_32[1] y: float_32[1] = SourceOp(x, _, x) {package="p", type="T"} }')
    )
    assert "SourceOp(x, _, x)" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected 'graph', found 'the end'"),
        ("graph g {\n  input x float_32[1]\n}", "expected ':', found 'float_32'\n  where: line 2"),
        ("graph g { input x: float_31[1] }", "expected a datatype, found 'float_31'"),
        ("graph g { y = Relu(x) }", "expected 'x' to be defined before node 'y' reads it"),
        ("graph g { input x: float_32[1] y = Reluu(x) }", "expected an op of the catalogue, found 'Reluu'"),
        ("graph g { input x: float_32[1] y = Relu(x) {slope=1} }", r"a param of Relu \(\), found 'slope'"),
        ("graph g { input x: float_32[1] y = Reshape(x) }", "expected Reshape with shape"),
        ("graph g { const c: float_32[2] = [1] }", "expected 2 elements, found 1"),
        ("graph g { const c: int_8[1] = [300] }", "expected elements of INT_8"),
        ('graph g { const c: float_32[1] = ["a"] }', "expected elements of FLOAT_32"),
        ("graph g { input x: float_32[floordiv(n, 0)] }", "two arguments of floordiv, the second not 0"),
        ("graph g { input x: float_32[1] ! }", "found '! }'"),
        ("graph g { } graph h { }", "expected nothing after the graph"),
        ('graph "\\q" { }', "expected a string in quotes"),
        ("graph g { input x: float_32[" + "max(" * 100, "at most 64 levels"),
        ("graph g { const c: float_32[1] = [" + "(" * 1000, "at most 64 levels"),
    ],
)
def test_a_broken_text_says_what_was_expected_and_where(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        parse(text)

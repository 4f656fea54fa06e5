"""Gelus that are written out become one op before they are quantized, and nothing else does."""

import time

import numpy as np
import pytest

from edgewright.ir.graph import Graph
from edgewright.ir.text import parse
from edgewright.passes.htp.fuse_gelus import fuse_gelus
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from tests.unit.quantize.nets import Engine, samples

CUBE = "q = ElementWiseMultiply(x, x) c = ElementWiseMultiply(q, x) d = ElementWiseMultiply(c, cube) "
INNER = CUBE + "a = ElementWiseAdd(x, d) i = ElementWiseMultiply(a, slope) t = Tanh(i) "
FORMS = {
    "half of x last": INNER + "s = ElementWiseAdd(t, one) h = ElementWiseMultiply(half, s) "
    "y = ElementWiseMultiply(x, h)",
    "half of x first": INNER + "s = ElementWiseAdd(one, t) h = ElementWiseMultiply(x, half) "
    "y = ElementWiseMultiply(h, s)",
    "half of all": INNER + "s = ElementWiseAdd(one, t) h = ElementWiseMultiply(x, s) "
    "y = ElementWiseMultiply(h, half)",
    "by a sigmoid": "b = ElementWiseMultiply(x, bent) q = ElementWiseMultiply(b, b) "
    "p = ElementWiseAdd(q, twice) i = ElementWiseMultiply(x, p) s = Sigmoid(i) y = ElementWiseMultiply(x, s)",
}


def make_graph(body: str) -> Graph:
    return parse(f"""
        graph main {{
          input x: float_32[2,64]
          const half: float_32[] = [0.5]
          const one: float_32[] = [1]
          const cube: float_32[] = [0.044715]
          const slope: float_32[] = [0.7978846]
          const bent: float_32[] = [0.26713]
          const twice: float_32[] = [1.5957691]
          const quick: float_32[] = [1.702]
          {body}
          output y
        }}
    """)


@pytest.mark.parametrize("form", FORMS)
def test_a_gelu_in_any_form_is_one_op(form: str) -> None:
    graph = make_graph(FORMS[form])
    assert fuse_gelus(graph, ()) == 1
    assert [(node.op.qnn_name(), node.inputs, node.outputs) for node in graph.nodes] == [
        ("Gelu", ["x"], ["y"])
    ]


@pytest.mark.parametrize(
    "body",
    [
        "i = ElementWiseMultiply(x, quick) s = Sigmoid(i) y = ElementWiseMultiply(x, s)",
        INNER + "y = ElementWiseMultiply(x, t)",
        INNER + "s = ElementWiseAdd(t, one) y = ElementWiseMultiply(x, s)",
    ],
)
def test_what_only_looks_like_a_gelu_stays(body: str) -> None:
    graph = make_graph(body)
    assert fuse_gelus(graph, ()) == 0


def test_a_gelu_with_an_encoding_inside_stays() -> None:
    graph = make_graph(FORMS["half of x last"])
    assert fuse_gelus(graph, {"t"}) == 0


def test_a_gelu_in_8_bits_is_as_near_as_its_steps_and_is_told() -> None:
    graph = make_graph(FORMS["half of x last"])
    feeds = [{"x": 12 * feed["x"]} for feed in samples(graph, 12)]
    made = quantize_graph(graph, QuantizationRequest(), feeds, Engine())
    assert any(note.startswith("gelu: 1 written out") for note in made.report.notes)
    encoding = made.graph.types["y"].encoding
    assert encoding is not None
    for feed in feeds[:3]:
        stored = made.graph.types["x"].encoding.encode(feed["x"], made.graph.types["x"].dtype)
        found = encoding.decode(Engine().prepare(made.graph, ["y"]).run({"x": stored})["y"])
        expected = Engine().prepare(graph, ["y"]).run(feed)["y"]
        assert np.abs(found - expected).max() < 2 * encoding.scales[0]


def test_steps_of_a_recurrent_layer_are_looked_at_once() -> None:
    step = "s{0} = Sigmoid(h{0}) m{0} = ElementWiseMultiply(h{0}, s{0}) h{1} = ElementWiseAdd(m{0}, z) "
    body = (
        "z = Sigmoid(x) h0 = Tanh(x) " + "".join(step.format(i, i + 1) for i in range(40)) + "y = Relu(h40)"
    )
    start = time.process_time()
    assert fuse_gelus(make_graph(body), ()) == 0
    # Twice as many ways lead to each step as to the one before it.
    assert time.process_time() - start < 5

"""The verifier: each law of a graph has a broken graph that it finds."""

from collections.abc import Callable

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.core.errors import Problems
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.text import parse
from edgewright.ir.types import TensorType
from edgewright.ir.verify import problems_of, verify
from edgewright.ops.activation import Relu
from edgewright.ops.rearrange import Reshape


def sound() -> Graph:
    return parse("""
        graph main {
          input x: float_32[2,3]
          const c: float_32[3] = [1, 2, 3]
          s = ElementWiseAdd(x, c)
          y = Relu(s)
          output y
        }
    """)


def test_a_sound_graph_has_no_problems() -> None:
    assert problems_of(sound()) == []
    verify(sound())


def rename(graph: Graph, old: str, new: str) -> None:
    graph.types[new] = graph.types.pop(old)


BROKEN: dict[str, tuple[Callable[[Graph], object], str]] = {
    "use before definition": (
        lambda g: g.set_input(g.node("s"), 1, "y"),
        "value 'y' is read, but only node 'y' after it computes it",
    ),
    "dangling input": (
        lambda g: g.set_input(g.node("y"), 0, "gone"),
        "value 'gone' is read, but nothing computes it",
    ),
    "dangling output": (lambda g: g.outputs.append("gone"), "nothing computes the graph output"),
    "dangling type": (lambda g: g.types.update(ghost=TensorType(())), "has a type, but nothing defines it"),
    "input and constant": (lambda g: g.inputs.append("c"), "is defined by the constants and by the inputs"),
    "made twice": (
        lambda g: g.node("y").outputs.append("s"),
        "is defined by node 'y' and by node 's', expected once",
    ),
    "no type": (lambda g: g.types.pop("x"), "value of the inputs has no type"),
    "constant of another shape": (
        lambda g: g.constants.update(c=np.zeros(4, np.float32)),
        r"constant is float32\[4\], its type says float_32\[3\]",
    ),
    "constant of another dtype": (lambda g: g.constants.update(c=np.zeros(3)), "constant is float64"),
    "renamed node": (lambda g: setattr(g.node("y"), "name", "z"), "the node was renamed without the graph"),
    "input behind the graph": (
        lambda g: g.node("y").inputs.__setitem__(0, "x"),
        "does not know that this node reads the value",
    ),
    "wrong shape": (
        lambda g: g.types.update(y=TensorType((3, 2))),
        r"value is float_32\[3,2\], the op computes float_32\[2,3\]",
    ),
    "wrong dtype": (lambda g: g.types.update(y=TensorType((2, 3), DType.INT_32)), "the op computes float_32"),
    "op refuses": (
        lambda g: setattr(g.node("y"), "op", Reshape(shape=(5,))),
        "the op does not accept its inputs: shape",
    ),
    "input left out": (lambda g: g.set_input(g.node("s"), 1, ""), r"required input in\[1\] is left out"),
    "too many inputs": (lambda g: g.node("y").inputs.append("s"), "2 inputs are given, the op has 1"),
}


@pytest.mark.parametrize("law", BROKEN)
def test_a_broken_law_is_found(law: str) -> None:
    graph, (break_it, message) = sound(), BROKEN[law]
    break_it(graph)
    with pytest.raises(Problems, match=message):
        verify(graph)


def test_all_problems_are_reported_at_once_and_the_pass_is_blamed() -> None:
    graph = sound()
    graph.outputs.append("gone")
    graph.types["ghost"] = TensorType(())
    with pytest.raises(Problems, match="2 problems") as caught:
        verify(graph, after="drop_identity")
    assert "report this: pass 'drop_identity' broke the graph" in str(caught.value)


def test_a_port_of_another_rank_or_dtype_is_found() -> None:
    graph = parse("""
        graph main {
          input x: bool_8[2,3]
          input w: float_32[3]
          y: bool_8[2,3] = Batchnorm(x, w)
          output y
        }
    """)
    assert "expected one of" in str(problems_of(graph)[0])


def test_one_element_of_rank_1_may_stand_for_rank_0() -> None:
    graph = parse("graph main { input x: float_32[1] y: float_32[1] = Reshape(x) {shape=()} output y }")
    assert problems_of(graph) == []


def test_a_subgraph_may_read_the_values_around_it_and_is_checked_too() -> None:
    graph, inner = sound(), Graph("inner")
    inner.add(Node("r", Relu(), ["x"], ["r"]), [TensorType((2, 3))])
    inner.outputs = ["r"]
    graph.node("y").subgraphs = (inner,)
    inner_problems = problems_of(graph)
    assert inner_problems == []
    inner.outputs = ["nowhere"]
    assert "nothing computes the graph output" in str(problems_of(graph)[0])

"""Each rule finds what it is about and nothing else; each modifier keeps what the network computes."""

import numpy as np
import pytest

from edgewright.analyse.architecture.check import RULES, check_architecture, list_modifiable, modify_graph
from edgewright.analyse.architecture.summary import list_findings
from edgewright.core.errors import UsageError
from edgewright.core.numbers import DType
from edgewright.ir.dims import symbol
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.model.model import Model
from edgewright.ops.activation import ElementWiseSoftplus, Prelu, Relu, Tanh
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMultiply,
    ElementWisePower,
)
from edgewright.ops.elementwise_unary import ElementWiseAsin, ElementWiseSquareRoot
from edgewright.ops.gather_scatter import ScatterNd
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.norm import Batchnorm
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.rearrange_fill import Pad, Tile
from edgewright.ops.recurrent import Lstm
from edgewright.ops.reduce import ReduceProd
from edgewright.ops.reduce_softmax import Softmax

RNG = np.random.default_rng(0)
PLAIN = {"stride": (1, 1), "pad_amount": ((0, 0), (0, 0))}


class Net:
    """A graph of one path, built op by op."""

    def __init__(self, *shape, dtype=DType.FLOAT_32, encoding=None):
        self.graph = Graph("net")
        self.last = self.graph.add_input("x", TensorType(shape, dtype, None, encoding))
        self.graph.outputs = [self.last]

    def add(self, op, *constants, types=None, inputs=None):
        names = []
        for constant in constants:
            array, kind = constant if isinstance(constant, tuple) else (constant, None)
            names.append(self.graph.add_constant(self.graph.fresh_name("c"), array, kind))
        value = self.graph.fresh_name("v")
        name = f"{type(op).__name__}_{len(self.graph)}"
        self.graph.add(Node(name, op, inputs or [self.last, *names], [value]), types)
        self.last = value
        self.graph.outputs = [value]
        return self

    @property
    def rules(self):
        return [issue.rule for issue in check_architecture(self.graph) if issue.rule != "float"]


def random(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def fixed(bits, scale=0.1, offset=0):
    return Encoding((scale,), (offset,), None, bits)


def of_type(*shape, bits=8, scale=0.1, offset=-100):
    return TensorType(shape, DType[f"UFIXED_POINT_{bits}"], None, fixed(bits, scale, offset))


FLOAT_CASES = {
    "low_channels": lambda: Net(1, 8, 8, 16).add(Conv2d(**PLAIN), random(3, 3, 16, 64)),
    "uneven_channels": lambda: Net(1, 8, 8, 33).add(Conv2d(**PLAIN), random(1, 1, 33, 64)),
    "group_conv": lambda: Net(1, 8, 8, 64).add(Conv2d(**PLAIN, group=8), random(3, 3, 8, 64)),
    "large_kernel": lambda: Net(1, 32, 32, 32).add(Conv2d(**PLAIN), random(11, 11, 32, 32)),
    "batchnorm": lambda: (
        Net(1, 8, 8, 32).add(Conv2d(**PLAIN), random(1, 1, 32, 32)).add(Batchnorm(), random(32), random(32))
    ),
    "channel_factor": lambda: (
        Net(1, 8, 8, 32).add(Conv2d(**PLAIN), random(1, 1, 32, 32)).add(ElementWiseMultiply(), random(32))
    ),
    "pad": lambda: (
        Net(1, 8, 8, 32)
        .add(Pad(scheme=0, pad_amount=((0, 0), (1, 1), (1, 1), (0, 0)), pad_constant_value=0.0))
        .add(Conv2d(**PLAIN), random(3, 3, 32, 32))
    ),
    "elwisediv": lambda: Net(1, 4, 4, 32).add(ElementWiseDivide(), np.full(32, 3.0, np.float32)),
    "prelu": lambda: Net(1, 4, 4, 32).add(Prelu(), np.abs(random(32)) / 8),
    "power": lambda: Net(1, 4, 4, 32).add(ElementWisePower(), np.full(1, 2.0, np.float32)),
    "move_chain": lambda: Net(1, 4, 32).add(Reshape(shape=(4, 32))).add(Reshape(shape=(2, 2, 32))),
    "softmax_axis": lambda: Net(1, 8, 8, 32).add(Softmax(axis=1)),
    "high_rank": lambda: Net(1, 2, 2, 2, 32).add(Relu()),
    "transpose": lambda: Net(1, 64, 64, 32).add(Transpose(perm=(0, 3, 1, 2))),
    "reshape": lambda: Net(1, 64, 64, 32).add(Reshape(shape=(1, 64, 64 * 8, 4))).add(Relu()),
    "large_tensor": lambda: Net(1, 512, 512, 32).add(Relu()),
    "large_weights": lambda: Net(1, 4096).add(FullyConnected(), random(4096, 4096)),
    "dynamic_shape": lambda: Net(1, symbol("length"), 32).add(Relu()),
    "unsupported_op": lambda: Net(1, 32).add(ReduceProd(axes=(1,))),
}


def shuffled():
    net = Net(1, 4, 4, 64).add(Reshape(shape=(1, 4, 4, 2, 32))).add(Transpose(perm=(0, 1, 2, 4, 3)))
    return net.add(Reshape(shape=(1, 4, 4, 64)))


def turned():
    net = Net(1, 4, 64, 32)
    left = net.last
    net.add(Transpose(perm=(0, 1, 3, 2)))
    return net.add(MatMul(), inputs=[left, net.last])


def tiled():
    net = Net(1, 1, 1, 32)
    other = net.graph.add_input("y", TensorType((1, 8, 8, 32)))
    net.add(Tile(multiples=(1, 8, 8, 1)))
    return net.add(ElementWiseAdd(), inputs=[net.last, other])


def gelu():
    net = Net(1, 64, 32)
    x = net.last
    graph = net.graph
    half, one, cube, slope = (
        graph.add_constant(name, np.full(1, number, np.float32))
        for name, number in (("half", 0.5), ("one", 1.0), ("cube", 0.044715), ("slope", 0.7978845608))
    )
    net.add(ElementWiseMultiply(), inputs=[x, x])
    net.add(ElementWiseMultiply(), inputs=[net.last, x])
    net.add(ElementWiseMultiply(), inputs=[net.last, cube])
    net.add(ElementWiseAdd(), inputs=[net.last, x])
    net.add(ElementWiseMultiply(), inputs=[net.last, slope])
    net.add(Tanh())
    net.add(ElementWiseAdd(), inputs=[net.last, one])
    net.add(ElementWiseMultiply(), inputs=[net.last, x])
    return net.add(ElementWiseMultiply(), inputs=[net.last, half])


def scattered():
    net = Net(8, 32)
    indices = (np.array([[1], [3]], np.int32), TensorType((2, 1), DType.INT_32))
    return net.add(ScatterNd(), indices, random(2, 32))


def of_sample(kind):
    """An op with what its first sample gives it."""
    sample = next(iter(kind.samples()))
    graph, names = Graph("net"), []
    for place, given in enumerate(sample.inputs):
        is_type = isinstance(given, TensorType)
        names.append("" if given is None else f"i{place}")
        if given is not None and (is_type and place == 0):
            graph.add_input(names[-1], given)
        elif given is not None:
            graph.add_constant(names[-1], random(*given.shape) if is_type else given)
    types = sample.op.types_for([graph.types[name] if name else None for name in names])
    outputs = [f"o{place}" for place in range(len(types))]
    graph.add(Node("op", sample.op, names, outputs))
    graph.outputs = outputs[:1]
    net = Net(1)
    net.graph = graph
    return net


FLOAT_CASES |= {
    "channel_shuffle": shuffled,
    "matmul_transpose": turned,
    "tile": tiled,
    "gelu": gelu,
    "scattered": scattered,
    "recurrent": lambda: of_sample(Lstm),
}


def quantized(op, *constants, bits=8, **kwargs):
    net = Net(1, 4, 4, 32, dtype=DType[f"UFIXED_POINT_{bits}"], encoding=fixed(bits, 0.1, -100))
    return net.add(op, *constants, types=[of_type(1, 4, 4, 32, bits=bits)], **kwargs)


def island():
    net = quantized(Relu())
    net.add(Relu(), types=[of_type(1, 4, 4, 32)])
    net.add(ElementWiseSquareRoot(), types=[TensorType((1, 4, 4, 32))])
    return net


def unlike():
    net = quantized(Relu())
    first = net.last
    net.add(Relu(), types=[of_type(1, 4, 4, 32, scale=0.3)])
    net.add(Concat(axis=3), types=[of_type(1, 4, 4, 64)], inputs=[first, net.last])
    return net


FIXED_CASES = {
    "act16": lambda: quantized(Relu(), bits=16),
    "float_island": island,
    "fragile": lambda: quantized(ElementWiseSquareRoot()),
    "concat_encodings": unlike,
    "float_only": lambda: quantized(ElementWiseSoftplus()),
    "eight_bits_only": lambda: quantized(ElementWiseAsin(), bits=16),
}


@pytest.mark.parametrize("name", [*FLOAT_CASES, *FIXED_CASES])
def test_a_rule_finds_what_it_is_about(name):
    net = {**FLOAT_CASES, **FIXED_CASES}[name]()
    assert name in net.rules


@pytest.mark.parametrize("name", FLOAT_CASES)
def test_other_rules_are_silent(name):
    # What comes with the case: low channels of a moved axis, and the like.
    allowed = {name, "large_tensor", "transpose", "high_rank", "channel_factor"}
    assert set(FLOAT_CASES[name]().rules) <= allowed


def test_a_network_that_suits_the_htp_has_no_issues():
    net = Net(1, 16, 16, 32).add(Conv2d(**PLAIN), random(3, 3, 32, 64), random(64)).add(Relu())
    net.add(Conv2d(**PLAIN), random(1, 1, 64, 32), random(32))
    assert net.rules == []


MODIFIABLE = [name for name, rule in RULES.items() if rule.modify is not None]


@pytest.mark.parametrize("name", MODIFIABLE)
def test_a_modifier_keeps_what_the_network_computes(name):
    graph = FLOAT_CASES[name]().graph
    done = modify_graph(graph, list_modifiable([name]))
    feed = {
        value: RNG.standard_normal(graph.types[value].static_shape()).astype(np.float32)
        for value in graph.inputs
    }
    before, after = (Model.of(g).run(feed) for g in (graph, done.graph))
    (key,) = before
    np.testing.assert_allclose(after[key], before[key], rtol=1e-4, atol=6e-4 if name == "gelu" else 1e-5)
    assert done.applied >= 1
    assert name not in [issue.rule for issue in check_architecture(done.graph)]
    assert {i.modification for i in done.issues if i.rule == name} == {"Applied"}


def test_there_are_rules_and_each_says_why_what_and_how_much():
    assert len(RULES) >= 20
    assert {*FLOAT_CASES, *FIXED_CASES, "float"} == set(RULES)
    for rule in RULES.values():
        assert all((rule.issue, rule.remedy, rule.reason, rule.effect))
        assert (rule.modify is None) == (not rule.tolerance) == (not rule.modification)


@pytest.mark.parametrize("slope", [0.25, -0.5, 1.5])
def test_a_quantized_prelu_moves_by_a_step_at_most(slope):
    stored = (np.full(1, 255, np.uint8), of_type(1, scale=abs(slope) / 255, offset=0 if slope > 0 else -510))
    net = quantized(Prelu(), stored)
    done = modify_graph(net.graph, list_modifiable(["prelu"]))
    feed = {"x": RNG.uniform(-9, 15, (1, 4, 4, 32)).astype(np.float32)}
    before, after = (Model.of(g).run(feed)[net.last] for g in (net.graph, done.graph))
    assert done.applied == 1
    assert np.abs(before - after).max() <= 0.1 + 1e-5


def test_a_quantized_divisor_becomes_a_factor_where_its_bits_suffice():
    stored = (np.full(1, 250, np.uint8), of_type(1, scale=0.02, offset=0))
    net = quantized(ElementWiseDivide(), stored)
    done = modify_graph(net.graph, list_modifiable(["elwisediv"]))
    feed = {"x": RNG.uniform(-9, 15, (1, 4, 4, 32)).astype(np.float32)}
    before, after = (Model.of(g).run(feed)[net.last] for g in (net.graph, done.graph))
    assert done.applied == 1
    assert np.abs(before - after).max() <= 0.1 + 1e-5
    coarse = (np.arange(1, 33, dtype=np.uint8), of_type(32, scale=0.02, offset=0))
    refused = modify_graph(quantized(ElementWiseDivide(), coarse).graph, list_modifiable(["elwisediv"]))
    assert refused.applied == 0
    (issue,) = [issue for issue in refused.issues if issue.rule == "elwisediv"]
    assert issue.modification == "Not applied"
    assert "too few" in issue.modification_info


@pytest.mark.parametrize("number", [0.0, np.inf, np.nan])
def test_a_divisor_without_a_reciprocal_stays(number):
    net = Net(1, 4, 4, 32).add(ElementWiseDivide(), np.full(1, number, np.float32))
    assert modify_graph(net.graph, list_modifiable(["elwisediv"])).applied == 0


def test_an_unknown_rule_is_refused_by_name():
    with pytest.raises(UsageError, match="'prely' has no modification") as caught:
        list_modifiable(["prely"])
    assert "prelu" in caught.value.do


def test_a_summary_has_few_sentences_the_largest_first():
    net = (
        Net(1, 64, 64, 3).add(Conv2d(**PLAIN), random(3, 3, 3, 16)).add(Prelu(), np.full(16, 0.1, np.float32))
    )
    findings = list_findings(check_architecture(net.graph))
    assert [finding.what.split()[0] for finding in findings] == ["low_channels", "prelu"]
    assert {(finding.grade, finding.kind) for finding in findings} == {("note", "architecture")}

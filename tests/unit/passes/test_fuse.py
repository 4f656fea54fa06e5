"""Fusions: each form that exporters write becomes the one op, and what only looks like it stays."""

import logging
import re

import numpy as np
import pytest

from edgewright.ir.graph import Graph
from edgewright.ir.op import Op
from edgewright.ir.text import parse
from edgewright.ir.verify import verify
from edgewright.ops.activation import Relu, Relu1, Relu6, ReluMinMax
from edgewright.ops.norm import LayerNorm, RmsNorm
from edgewright.ops.rearrange_blocks import ChannelShuffle
from edgewright.ops.reduce import ReduceMean
from edgewright.ops.reduce_softmax import Softmax
from edgewright.passes.graph_pass import PASSES
from edgewright.passes.pipeline import LAYOUT, SIMPLIFY, run_passes
from tests.unit.passes.nets import feed, results

CONSTANTS = """
    const m1: float_32[] = [-1]
    const zero: float_32[] = [0]
    const half: float_32[] = [0.5]
    const quarter: float_32[] = [0.25]
    const four: float_32[] = [4]
    const least: float_32[] = [-inf]
    const one: float_32[] = [1]
    const two: float_32[] = [2]
    const three: float_32[] = [3]
    const six: float_32[] = [6]
    const sixth: float_32[] = [0.16666667]
    const tenth: float_32[1] = [0.1]
    const slopes: float_32[4] = [0.1, -0.5, 0.9, 1]
    const big: float_32[] = [1.5]
    const e: float_32[] = [0.00001]
    const g: float_32[4] = [1, 2, -1, 0.5]
    const b: float_32[4] = [0.5, 0, 1, -1]
    const wide: float_32[2,1,4] = [1, 2, 3, 4, 5, 6, 7, 8]
"""


# Long names of elementwise ops, so that a form fits on a line.
NAMES = {
    "Add": "Add",
    "Div": "Divide",
    "Exp": "Exp",
    "Greater": "Greater",
    "Less": "Less",
    "Max": "Maximum",
    "Min": "Minimum",
    "Mul": "Multiply",
    "Neg": "Neg",
    "Pow": "Power",
    "Rsqrt": "Rsqrt",
    "Select": "Select",
    "Sqrt": "SquareRoot",
    "SquaredDifference": "SquaredDifference",
    "Sub": "Subtract",
}
SHORT = re.compile(rf"\b({'|'.join(NAMES)})\(")


def graph_of(body: str, shape: str = "2,3,4") -> Graph:
    text = SHORT.sub(lambda name: f"ElementWise{NAMES[name.group(1)]}(", body)
    return parse(f"graph main {{ input x: float_32[{shape}] {CONSTANTS} {text} output y }}")


def rewritten(graph: Graph, *names: str, rtol: float = 1e-5) -> list[str]:
    """The ops that are left, with the meaning and the names unchanged and nothing left to find."""
    inputs = feed(graph)
    before = results(graph, inputs)
    run_passes(graph, (*names, "drop_dead_code"), is_checked=True)
    assert graph.outputs == ["y"]
    for found, expected in zip(results(graph, inputs), before, strict=True):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-5)
    assert sum(PASSES[name](graph) for name in names) == 0
    return [node.op.qnn_name() for node in graph.nodes]


@pytest.mark.parametrize(
    ("body", "op"),
    [
        ("y = ReluMinMax(x) {min_value=0.0, max_value=6.0}", Relu6()),
        ("y = ReluMinMax(x) {min_value=-1.0, max_value=1.0}", Relu1()),
        ("t = Max(x, zero) y = Min(t, six)", Relu6()),
        ("t = Min(six, x) y = Max(zero, t)", Relu6()),
        ("t = Relu(x) y = Min(t, six)", Relu6()),
        ("t = Min(x, six) y = Relu(t)", Relu6()),
        ("y = Max(x, zero)", Relu()),
        ("t = Relu(x) y = Relu(t)", Relu()),
        ("t = Relu6(x) u = Relu(t) y = Relu(u)", Relu6()),
        (
            "t = Max(x, m1) y = Min(t, two)",
            ReluMinMax(min_value=-1.0, max_value=2.0),
        ),
    ],
)
def test_bounds_become_one_op(body: str, op: object) -> None:
    graph = graph_of(body)
    rewritten(graph, "fuse_clip")
    assert [node.op for node in graph.nodes] == [op]


@pytest.mark.parametrize(
    "body",
    [
        "y = Min(x, six)",
        "t = Min(x, two) y = Min(t, six)",
        "t = Max(x, six) y = Min(t, zero)",
        "y = Max(x, slopes)",
    ],
)
def test_one_bound_crossed_bounds_and_bounds_by_channel_stay(body: str) -> None:
    graph = graph_of(body)
    count = len(graph)
    assert len(rewritten(graph, "fuse_clip")) == count


def test_a_relu_that_is_a_graph_output_too_keeps_its_name() -> None:
    graph = graph_of("t = Relu(x) y = Relu(t)")
    graph.outputs = ["t", "y"]
    PASSES["fuse_clip"](graph)
    verify(graph)
    assert graph.outputs == ["t", "y"]


@pytest.mark.parametrize(
    "body",
    [
        "t = Mul(x, tenth) y = Max(x, t)",
        "t = Mul(slopes, x) y = Max(t, x)",
        "p = Relu(x) n = Min(x, zero) t = Mul(n, big) y = Add(p, t)",
        "p = Relu(x) m = Neg(x) n = Relu(m) t = Mul(slopes, n) y = Sub(p, t)",
        "p = Relu(x) m = Neg(x) n = Relu(m) t = Mul(slopes, n) y = Add(t, p)",
        "c = Greater(x, zero) t = Mul(x, big) y = Select(c, x, t)",
        "c = Less(x, zero) t = Mul(x, tenth) y = Select(c, t, x)",
    ],
)
def test_leaky_forms_become_prelu(body: str) -> None:
    assert rewritten(graph_of(body), "fuse_prelu") == ["Prelu"]


@pytest.mark.parametrize(
    "body",
    [
        "t = Mul(x, big) y = Max(x, t)",
        "c = Greater(x, one) t = Mul(x, tenth) y = Select(c, x, t)",
        "c = Greater(x, zero) t = Mul(x, tenth) y = Select(c, t, x)",
        "p = Relu(x) n = Min(x, one) t = Mul(n, big) y = Add(p, t)",
        "t = Mul(x, wide) y = Max(x, t)",
    ],
)
def test_what_only_looks_leaky_stays(body: str) -> None:
    assert "Prelu" not in rewritten(graph_of(body, "2,3,4" if "wide" not in body else "1,3,4"), "fuse_prelu")


HARD = ("fuse_clip", "fuse_hard_sigmoid", "fuse_hard_swish")


@pytest.mark.parametrize(
    "body",
    [
        "a = Add(x, three) c = Relu6(a) y = Div(c, six)",
        "a = Add(three, x) c = Relu6(a) y = Mul(sixth, c)",
        "m = Mul(x, sixth) a = Add(m, half) y = ReluMinMax(a) {min_value=0.0, max_value=1.0}",
        "m = Div(x, six) a = Add(m, half) l = Max(a, zero) y = Min(l, one)",
        "a = Add(x, half) y = ReluMinMax(a) {min_value=0.0, max_value=1.0}",
    ],
)
def test_clipped_lines_become_hard_sigmoid(body: str) -> None:
    assert rewritten(graph_of(body), *HARD) == ["ElementWiseNeuron"]


@pytest.mark.parametrize(
    "body",
    [
        "h = ElementWiseNeuron(x) {operation=HARD_SIGMOID, alpha=0.16666667, beta=0.5} y = Mul(x, h)",
        "a = Add(x, three) c = Relu6(a) p = Mul(x, c) y = Div(p, six)",
        "a = Add(x, three) c = Relu6(a) d = Div(c, six) y = Mul(d, x)",
        "a = Add(x, three) c = Relu6(a) p = Mul(c, x) y = Mul(p, sixth)",
        "m = Mul(x, sixth) a = Add(m, half) c = ReluMinMax(a) {min_value=0.0, max_value=1.0} y = Mul(x, c)",
    ],
)
def test_gated_lines_become_hard_swish(body: str) -> None:
    assert rewritten(graph_of(body), *HARD) == ["HardSwish"]


@pytest.mark.parametrize(
    "body",
    [
        "y = ReluMinMax(x) {min_value=0.0, max_value=1.0}",
        "h = ElementWiseNeuron(x) {operation=HARD_SIGMOID} y = Mul(x, h)",
        "a = Add(x, two) c = Relu6(a) p = Mul(x, c) y = Div(p, six)",
        "a = Add(x, three) c = Relu6(a) p = Mul(a, c) y = Div(p, six)",
        "a = Add(x, slopes) y = ReluMinMax(a) {min_value=0.0, max_value=1.0}",
    ],
)
def test_what_only_looks_like_hard_swish_stays(body: str) -> None:
    assert "HardSwish" not in rewritten(graph_of(body), *HARD)


NORM = ("fuse_norm", "fuse_norm_weights")
MEAN = "m = ReduceMean(x) {axes=(2,), keep_dims=true} d = Sub(x, m) "
SPREAD = "s = Mul(d, d) v = ReduceMean(s) {axes=(2,), keep_dims=true} ve = Add(v, e) "
POWER = "s = Pow(d, two) v = ReduceMean(s) {axes=(2,), keep_dims=true} ve = Add(e, v) "
ROOT = "r = Sqrt(ve) "


@pytest.mark.parametrize(
    "body",
    [
        MEAN + POWER + ROOT + "n = Div(d, r) w = Mul(n, g) y = Add(w, b)",
        MEAN + SPREAD + "r = Rsqrt(ve) n = Mul(d, r) w = Mul(g, n) y = Add(b, w)",
        MEAN + SPREAD + ROOT + "q = ElementWiseUnary(r) {operation=RECIPROCAL} k = Mul(q, g) "
        "p = Mul(x, k) z = Mul(m, k) u = Sub(b, z) "
        "y = Add(p, u)",
        MEAN + "s = SquaredDifference(x, m) v = ReduceMean(s) {axes=(2,), keep_dims=true} "
        "ve = Add(v, e) r = Rsqrt(ve) k = Mul(r, g) "
        "p = Mul(x, k) z = Mul(m, k) u = Sub(b, z) "
        "y = Add(p, u)",
    ],
)
def test_layer_norms_as_exporters_write_them(body: str) -> None:
    graph = graph_of(body)
    assert rewritten(graph, *NORM, rtol=1e-4) == ["LayerNorm"]
    (node,) = graph.nodes
    assert node.op == LayerNorm(axes=(2,), epsilon=float(np.float32(1e-5)))
    assert node.inputs == ["x", "g", "b"]


JAX_NORM = ("keep_reduced_axes", "fuse_scaled_sums", "centre_variances", *NORM)
MEANS = "t = ReduceSum(x) {axes=(2,)} m = Mul(t, quarter) s = Mul(x, x) u = ReduceSum(s) {axes=(2,)} "
KEPT = "mk = Reshape(m) {shape=(2, 3, 1)} d = Sub(x, mk) "
APPLIED = (
    "vk = Reshape(v) {shape=(2, 3, 1)} ve = Add(vk, e) r = Rsqrt(ve) "
    "k = Mul(r, g) n = Mul(d, k) y = Add(n, b)"
)


@pytest.mark.parametrize(
    "variance",
    [
        "w = Mul(u, quarter) q = Mul(m, m) c = Sub(w, q) v = Relu(c) ",
        "w = Div(u, four) q = Pow(m, two) v = Sub(w, q) ",
    ],
)
def test_a_layer_norm_of_a_difference_of_squares_as_jax_writes_it(variance: str) -> None:
    graph = graph_of(MEANS + variance + KEPT + APPLIED)
    assert rewritten(graph, *JAX_NORM, rtol=1e-4) == ["LayerNorm"]
    assert graph.nodes[0].inputs == ["x", "g", "b"]


def test_a_variance_that_is_read_in_another_way_keeps_no_axes_but_is_one() -> None:
    graph = graph_of(MEANS + "w = Mul(u, quarter) q = Mul(m, m) v = Sub(w, q) y = Exp(v)")
    assert "ElementWiseSubtract" in rewritten(graph, *JAX_NORM, rtol=1e-4)


def test_a_variance_survives_squares_that_half_precision_cannot_hold() -> None:
    keep = "{axes=(2,), keep_dims=true}"
    graph = graph_of(
        f"s = Mul(x, x) w = ReduceMean(s) {keep} m = ReduceMean(x) {keep} q = Mul(m, m) y = Sub(w, q)"
    )
    assert rewritten(graph, "centre_variances", rtol=1e-3) == [
        "ReduceMean",
        "ElementWiseSubtract",
        "ElementWiseMultiply",
        "ReduceMean",
    ]
    large = feed(graph)["x"] + np.float32(4000)
    np.testing.assert_allclose(
        results(graph, {"x": large})[0], np.var(large.astype(np.float64), 2, keepdims=True), rtol=1e-3
    )


def test_a_softmax_whose_axes_are_put_back_behind_the_sums() -> None:
    graph = graph_of(
        "l = ReduceMax(x) {axes=(2,)} lb = Max(least, l) lk = Reshape(lb) {shape=(2, 3, 1)} d = Sub(x, lk) "
        "p = Exp(d) t = ReduceSum(p) {axes=(2,)} tk = Reshape(t) {shape=(2, 3, 1)} y = Div(p, tk)"
    )
    assert rewritten(graph, "drop_identity", "keep_reduced_axes", "fuse_softmax") == ["Softmax"]


SQUARES = "s = Pow(x, two) v = ReduceMean(s) {axes=(2,), keep_dims=true} ve = Add(v, e) "


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        (SQUARES + ROOT + "y = Div(x, r)", ["x"]),
        (
            SQUARES + ROOT + "q = Div(one, r) n = Mul(x, q) y = Mul(n, g)",
            ["x", "g"],
        ),
        (SQUARES + "h = Pow(ve, half) y = Div(x, h)", ["x"]),
        (
            SQUARES + ROOT + "q = ElementWiseUnary(r) {operation=RECIPROCAL} n = Mul(q, x) y = Mul(g, n)",
            ["x", "g"],
        ),
    ],
)
def test_rms_norms_as_exporters_write_them(body: str, inputs: list[str]) -> None:
    graph = graph_of(body)
    assert rewritten(graph, *NORM, rtol=1e-4) == ["RmsNorm"]
    assert graph.nodes[0].op == RmsNorm(axes=(2,), epsilon=float(np.float32(1e-5)))
    assert graph.nodes[0].inputs == inputs


@pytest.mark.parametrize(
    "body",
    [
        "m = ReduceMean(x) {axes=(1,), keep_dims=true} d = Sub(x, m) " + POWER + ROOT + "y = Div(d, r)",
        SQUARES + ROOT + "t = Relu(x) y = Div(t, r)",
        "s = Pow(x, three) v = ReduceMean(s) {axes=(2,), keep_dims=true} ve = Add(v, e) "
        + ROOT
        + "y = Div(x, r)",
    ],
)
def test_what_only_looks_like_a_layer_norm_is_none(body: str) -> None:
    graph = graph_of(body)
    inputs = feed(graph)
    before = results(graph, inputs)
    run_passes(graph, NORM, is_checked=True)
    assert "LayerNorm" not in [node.op.qnn_name() for node in graph.nodes]
    np.testing.assert_allclose(results(graph, inputs)[0], before[0], rtol=1e-4, equal_nan=True)


def test_weights_of_another_shape_stay_behind_the_norm(caplog) -> None:
    graph = graph_of(SQUARES + ROOT + "n = Div(x, r) y = Mul(n, wide)")
    with caplog.at_level(logging.DEBUG, logger="edgewright"):
        assert rewritten(graph, *NORM, rtol=1e-4) == ["RmsNorm", "ElementWiseMultiply"]
    assert "weight 'wide' is not a constant of the normalised axes' shape [4]" in caplog.text


def test_a_norm_over_channels_follows_the_layout() -> None:
    graph = graph_of(
        "const gc: float_32[4,1,1] = [1, 2, -1, 0.5] q = Relu(x) t = Transpose(q) {perm=(0, 3, 1, 2)} "
        "m = ReduceMean(t) {axes=(1,), keep_dims=true} d = Sub(t, m) s = Mul(d, d) "
        "v = ReduceMean(s) {axes=(1,), keep_dims=true} ve = Add(v, e) r = Sqrt(ve) n = Div(d, r) "
        "w = Mul(n, gc) u = Transpose(w) {perm=(0, 2, 3, 1)} y = Softmax(u) {axis=3}",
        "1,6,6,4",
    )
    inputs = feed(graph)
    before = results(graph, inputs)
    run_passes(graph, (*SIMPLIFY, *LAYOUT), is_checked=True)
    assert [node.op.qnn_name() for node in graph.nodes] == ["Relu", "LayerNorm", "Softmax"]
    assert graph.nodes[1].op == LayerNorm(axes=(3,), epsilon=float(np.float32(1e-5)))
    np.testing.assert_allclose(results(graph, inputs)[0], before[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("shape", "axis"), [("2,12,5,5", 1), ("2,5,5,12", 3)])
def test_a_channel_shuffle_is_found_in_either_layout(shape: str, axis: int) -> None:
    parts = "2,3,4,5,5" if axis == 1 else "2,5,5,3,4"
    perm = "0,2,1,3,4" if axis == 1 else "0,1,2,4,3"
    graph = graph_of(
        f"r = Reshape(x) {{shape=({parts})}} t = Transpose(r) {{perm=({perm})}} "
        f"y = Reshape(t) {{shape=({shape})}}",
        shape,
    )
    rewritten(graph, "fuse_channel_shuffle")
    assert [node.op for node in graph.nodes] == [ChannelShuffle(num_groups=3, axis=axis)]


def test_a_shuffle_of_axes_that_are_no_neighbours_stays() -> None:
    graph = graph_of(
        "r = Reshape(x) {shape=(2,3,4,5,5)} t = Transpose(r) {perm=(0,3,2,1,4)} "
        "y = Reshape(t) {shape=(2,12,5,5)}",
        "2,12,5,5",
    )
    assert len(rewritten(graph, "fuse_channel_shuffle")) == 3


SOFTMAX = "s = Sub(x, m) p = Exp(s) t = ReduceSum(p) {axes=(1,), keep_dims=true} y = Div(p, t)"


def test_a_written_out_softmax_becomes_one() -> None:
    graph = graph_of("m = ReduceMax(x) {axes=(1,), keep_dims=true} " + SOFTMAX)
    rewritten(graph, "fuse_softmax")
    assert [node.op for node in graph.nodes] == [Softmax(axis=1)]


def test_exponentials_without_their_own_maximum_stay() -> None:
    graph = graph_of("m = ReduceMax(x) {axes=(2,), keep_dims=true} " + SOFTMAX)
    assert "Softmax" not in rewritten(graph, "fuse_softmax")


POOLED = (
    "i = Reshape(x) {{shape=({images})}} t = Transpose(i) {{perm=(0, 2, 3, 1)}} "
    "p = PoolAvg2d(t) {{filter_size=({size}), stride=(1, 1), pad_amount=((0, 0), (0, 0))}} "
    "u = Transpose(p) {{perm=(0, 3, 1, 2)}} y = Reshape(u) {{shape=({shape})}}"
)


@pytest.mark.parametrize(
    ("images", "size", "shape", "op"),
    [
        ("2, 3, 1, 4", "1, 4", "2, 3, 1", ReduceMean(axes=(2,), keep_dims=True)),
        ("2, 3, 4, 1", "4, 1", "2, 3", ReduceMean(axes=(2,))),
        ("2, 1, 3, 4", "3, 4", "2, 1, 1", ReduceMean(axes=(1, 2), keep_dims=True)),
    ],
)
def test_a_mean_of_rows_that_became_a_pool_is_a_mean_again(
    images: str, size: str, shape: str, op: Op
) -> None:
    graph = graph_of(POOLED.format(images=images, size=size, shape=shape))
    rewritten(graph, "fuse_mean")
    assert [node.op for node in graph.nodes] == [op]


@pytest.mark.parametrize(
    ("images", "size", "shape"),
    [("2, 3, 1, 4", "1, 2", "2, 3, 3"), ("2, 6, 1, 2", "1, 2", "2, 6, 1"), ("2, 3, 1, 4", "1, 4", "3, 2, 1")],
)
def test_a_pool_that_is_no_mean_of_rows_stays(images: str, size: str, shape: str) -> None:
    assert "PoolAvg2d" in rewritten(
        graph_of(POOLED.format(images=images, size=size, shape=shape)), "fuse_mean"
    )


CONV = (
    "const w: float_32[2,2,1,1] = [1, 2, 3, 4] y = Conv2d(p, w) {stride=(1, 1), pad_amount=((1, 0), (0, 1))}"
)
POOL = "y = PoolMax2d(p) {filter_size=(2, 2), stride=(1, 1), pad_amount=((0, 0), (0, 0))"


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("p = Pad(x) {scheme=CONSTANT, pad_amount=((0,0),(1,2),(0,3),(0,0))} " + CONV, 1),
        (
            "p = Pad(x) {scheme=CONSTANT, pad_amount=((0,0),(1,2),(0,3),(0,0)), pad_constant_value=1.0} "
            + CONV,
            2,
        ),
        ("p = Pad(x) {scheme=EDGE, pad_amount=((0,0),(1,2),(0,3),(0,0))} " + CONV, 2),
        ("p = Pad(x) {scheme=CONSTANT, pad_amount=((1,0),(1,2),(0,3),(0,0))} " + CONV, 2),
        (
            "p = Pad(x) {scheme=CONSTANT, pad_amount=((0,0),(1,0),(0,1),(0,0)), pad_constant_value=-inf} "
            + POOL
            + "}",
            1,
        ),
        ("p = Pad(x) {scheme=CONSTANT, pad_amount=((0,0),(1,0),(0,1),(0,0))} " + POOL + "}", 2),
        (
            "p = Pad(x) {scheme=CONSTANT, pad_amount=((0,0),(1,0),(0,1),(0,0)), pad_constant_value=-inf} "
            + POOL
            + ", rounding_mode=CEIL}",
            2,
        ),
    ],
)
def test_padding_goes_into_windows_where_it_means_the_same(body: str, count: int) -> None:
    assert len(rewritten(graph_of(body, "2,5,5,1"), "fuse_pad")) == count


@pytest.mark.parametrize("shape", ["3,4", "2,3,4"])
def test_a_product_by_a_constant_matrix_becomes_fully_connected(shape: str) -> None:
    graph = graph_of("const w: float_32[4,2] = [1, 2, 3, 4, 5, 6, 7, 8] y = MatMul(x, w)", shape)
    assert rewritten(graph, "fuse_fully_connected") == ["FullyConnected"]
    assert not graph.constants[graph.nodes[0].inputs[1]].flags["OWNDATA"]  # a view: weights are not copied


@pytest.mark.parametrize(
    ("body", "ops"),
    [
        ("c = Cast(x) {dtype=dtype(float_64)} y = Cast(c) {dtype=dtype(int_32)}", ["Cast"]),
        ("c = Cast(x) {dtype=dtype(float_16)} y = Cast(c) {dtype=dtype(float_32)}", ["Cast", "Cast"]),
        ("c = Cast(x) {dtype=dtype(int_32)} y = Cast(c) {dtype=dtype(float_32)}", ["Cast", "Cast"]),
    ],
)
def test_casts_merge_where_the_first_one_keeps_every_value(body: str, ops: list[str]) -> None:
    assert rewritten(graph_of(body), "merge_casts") == ops

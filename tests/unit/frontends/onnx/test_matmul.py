"""ONNX matrix products become FullyConnected or MatMul and keep their numbers."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError, ShapeMismatch
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names


def test_product_with_a_known_matrix_is_a_fully_connected_layer_of_any_batch() -> None:
    model = model_of("g (float[B,T,4] x) => (float[B,T,5] y) { y = MatMul(x, w) }", {"w": normal(4, 5)})
    converted = agree(model, {"x": normal(2, 3, 4)}, {"x": normal(5, 1, 4)})
    assert op_names(converted) == ["FullyConnected"]
    assert converted.graph.nodes[0].op.keep_dims


def test_weights_of_a_product_are_a_view_of_the_source() -> None:
    weights = normal(64, 80)
    converted = ew.convert(
        model_of("g (float[2,64] x) => (float[2,80] y) { y = MatMul(x, w) }", {"w": weights})
    )
    constant = converted.graph.constants[converted.graph.nodes[0].inputs[1]]
    assert constant.shape == (80, 64)
    assert not constant.flags.owndata


def test_product_of_two_activations_stays_a_product() -> None:
    model = model_of("g (float[B,3,4] x, float[B,4,N] z) => (float[B,3,N] y) { y = MatMul(x, z) }")
    feeds = [{"x": normal(b, 3, 4), "z": normal(b, 4, n)} for b, n in ((2, 5), (1, 7))]
    assert op_names(agree(model, *feeds)) == ["MatMul"]


@pytest.mark.parametrize(
    ("left", "right"),
    [((4,), (4,)), ((4,), (4, 3)), ((2, 4), (4,)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((2, 3, 4), (4, 2))],
)
def test_vectors_lose_the_axes_that_they_never_had(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    shape = np.matmul(normal(*left), normal(*right)).shape
    text = f"g (float{list(left)} x) => (float{list(shape)} y) {{ y = MatMul(x, w) }}"
    agree(model_of(text, {"w": normal(*right, seed=3)}), {"x": normal(*left)})


@pytest.mark.parametrize("bias", [(), (1,), (5,), (1, 5), (3, 1), (3, 5)])
@pytest.mark.parametrize("turn", [0, 1])
def test_gemm_keeps_its_factors_turns_and_bias(bias: tuple[int, ...], turn: int) -> None:
    attributes = f"alpha=0.5, beta=2.0, transA={turn}, transB={turn}"
    x, w = ("4,3", (5, 4)) if turn else ("3,4", (4, 5))
    text = f"g (float[{x}] x) => (float[3,5] y) {{ y = Gemm<{attributes}>(x, w, b) }}"
    model = model_of(text, {"w": normal(*w), "b": normal(*bias, seed=1)})
    converted = agree(model, {"x": normal(*(int(d) for d in x.split(",")))})
    assert "FullyConnected" in op_names(converted)
    assert "ElementWiseMultiply" not in op_names(converted)
    assert ("ElementWiseAdd" in op_names(converted)) == (bias in {(3, 1), (3, 5)})


def test_gemm_of_activations_is_a_product_with_symbolic_rows() -> None:
    text = "g (float[N,4] x, float[5,4] w, float[5] b) => (float[N,5] y) { y = Gemm<transB=1>(x, w, b) }"
    feeds = [{"x": normal(n, 4), "w": normal(5, 4), "b": normal(5)} for n in (3, 6)]
    assert "MatMul" in op_names(agree(model_of(text), *feeds))


@pytest.mark.parametrize("opset", [7, 9, 11, 13])
def test_gemm_is_the_same_in_every_opset(opset: int) -> None:
    text = "g (float[3,4] x) => (float[3,5] y) { y = Gemm(x, w, b) }"
    agree(model_of(text, {"w": normal(4, 5), "b": normal(5)}, {"": opset}), {"x": normal(3, 4)})


@pytest.mark.parametrize(
    "attributes", ["", "transA=1, transB=1", "transBatchA=1, transBatchB=1", "alpha=0.25"]
)
def test_fused_matmul_keeps_its_turns(attributes: str) -> None:
    shapes = {"transA=1, transB=1": ("2,4,3", "2,5,4"), "transBatchA=1, transBatchB=1": ("3,2,4", "4,2,5")}
    x, z = shapes.get(attributes, ("2,3,4", "2,4,5"))
    body = f"y = com.microsoft.FusedMatMul<{attributes}>(x, z)".replace("<>", "")
    model = model_of(
        f"g (float[{x}] x, float[{z}] z) => (float[2,3,5] y) {{ {body} }}", None, {"com.microsoft": 1}
    )
    shape = [tuple(int(d) for d in text.split(",")) for text in (x, z)]
    agree(model, {"x": normal(*shape[0]), "z": normal(*shape[1])})


def test_integer_and_double_products_are_exact() -> None:
    results = "int64[3,5] y, double[3,5] z"
    text = f"g (int64[3,4] x, double[3,4] d) => ({results}) {{ y = MatMul(x, w) z = MatMul(d, v) }}"
    weights = {"w": np.arange(20, dtype=np.int64).reshape(4, 5), "v": normal(4, 5, dtype=np.float64)}
    feed = {"x": np.arange(12, dtype=np.int64).reshape(3, 4), "d": normal(3, 4, dtype=np.float64)}
    agree(model_of(text, weights), feed, rtol=1e-12)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("y = MatMul(x, w)", "inner dimensions 3 and 4"),
        ("y = MatMul(x, c)", "inner dimensions 3 and 1"),
        ("y = MatMul(x, s)", "one axis or more"),
        ("y = Gemm(v, w)", "expected matrices"),
        ("y = Gemm<transA=1, transB=1>(x, b, w)", "do not broadcast"),
    ],
)
def test_operands_that_do_not_fit_are_named(body: str, words: str) -> None:
    text = f"g (float[2,3] x) => (float[2,5] y) {{ {body} }}"
    weights = {"w": normal(4, 5), "s": normal(), "v": normal(4), "b": normal(7, 2), "c": normal(1, 5)}
    with pytest.raises(EdgewrightError, match=words) as problem:
        ew.convert(model_of(text, weights))
    assert isinstance(problem.value, ShapeMismatch)

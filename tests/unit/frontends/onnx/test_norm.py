"""ONNX normalisations are one QNN op each, with the numbers of ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

MICROSOFT = {"com.microsoft": 1}
IMAGE = normal(2, 6, 4, 5)
WORDS = normal(2, 3, 8)


def weights(**sizes: int) -> dict[str, Any]:
    return {name: np.abs(normal(size, seed=len(name))) + 0.5 for name, size in sizes.items()}


def without_moves(model: Any) -> list[str]:
    return [name for name in op_names(model) if name not in {"Transpose", "Reshape"}]


@pytest.mark.parametrize("opset", [7, 9, 14, 15, 21])
def test_batch_normalisation_folds_its_statistics_in_every_opset(opset: int) -> None:
    text = (
        "g (float[N,6,H,W] x) => (float[N,6,H,W] y) { y = BatchNormalization<epsilon=0.01>(x, s, b, m, v) }"
    )
    model = model_of(text, weights(s=6, b=6, m=6, v=6), {"": opset})
    converted = agree(model, {"x": IMAGE}, {"x": normal(1, 6, 7, 3)})
    assert without_moves(converted) == ["Batchnorm"]


def test_batch_normalisation_keeps_gamma_and_beta_as_a_note() -> None:
    text = "g (float[2,6] x) => (float[2,6] y) { y = BatchNormalization(x, s, b, m, v) }"
    given = weights(s=6, b=6, m=6, v=6)
    converted = agree(model_of(text, given), {"x": normal(2, 6)})
    (node,) = [n for n in converted.graph.nodes if n.op.qnn_name() == "Batchnorm"]
    np.testing.assert_array_equal(node.notes["gamma"], given["s"])
    np.testing.assert_array_equal(node.notes["beta"], given["b"])


def test_old_batch_normalisation_of_every_element_is_refused() -> None:
    text = "g (float[2,6,4,5] x) => (float[2,6,4,5] y) { y = BatchNormalization<spatial=0>(x, s, b, m, v) }"
    with pytest.raises(EdgewrightError, match="spatial"):
        ew.convert(model_of(text, weights(s=6, b=6, m=6, v=6), {"": 8}))


@pytest.mark.parametrize("shape", [(2, 6, 4, 5), (2, 6, 9), (1, 6, 2, 3, 4)])
def test_instance_normalisation_takes_images_of_any_rank(shape: tuple[int, ...]) -> None:
    dims = ",".join(["N", "6", *"DHWE"[: len(shape) - 2]])
    text = f"g (float[{dims}] x) => (float[{dims}] y) {{ y = InstanceNormalization(x, s, b) }}"
    converted = agree(model_of(text, weights(s=6, b=6)), {"x": normal(*shape)})
    assert without_moves(converted) == ["InstanceNorm"]


@pytest.mark.parametrize(("opset", "size"), [(18, 3), (21, 6)])
def test_group_normalisation_has_weights_of_groups_and_later_of_channels(opset: int, size: int) -> None:
    text = "g (float[N,6,H,W] x) => (float[N,6,H,W] y) { y = GroupNormalization<num_groups=3>(x, s, b) }"
    converted = agree(model_of(text, weights(s=size, b=size), {"": opset}), {"x": IMAGE})
    assert without_moves(converted) == ["GroupNorm"]


@pytest.mark.parametrize("axis", [-1, 1, 2])
def test_layer_normalisation_over_the_last_axes(axis: int) -> None:
    size = (8,) if axis in {-1, 2} else (3, 8)
    call = f"LayerNormalization<axis={axis}, epsilon=0.01>(x, s, b)"
    text = f"g (float[N,3,8] x) => (float[N,3,8] y) {{ y = {call} }}"
    model = model_of(text, {"s": normal(*size), "b": normal(*size, seed=3)}, {"": 17})
    assert op_names(agree(model, {"x": WORDS}, {"x": WORDS[:1]})) == ["LayerNorm"]


def test_layer_normalisation_gives_its_statistics() -> None:
    text = """g (float[N,3,8] x) => (float[N,3,8] y, float[N,3,1] m, float[N,3,1] d) {
        y, m, d = LayerNormalization(x, s) }"""
    agree(model_of(text, {"s": normal(8)}, {"": 17}), {"x": WORDS})


def test_layer_normalisation_with_weights_that_broadcast_applies_them_after() -> None:
    text = "g (float[N,3,8] x) => (float[N,3,8] y) { y = LayerNormalization<axis=1>(x, s, b) }"
    model = model_of(text, {"s": normal(8), "b": normal(8, seed=1)}, {"": 17})
    x = normal(1, 3, 8)
    found = ew.convert(model).run({"x": x})["y"]
    plain = (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, plain * normal(8) + normal(8, seed=1), rtol=1e-4, atol=1e-5)


def test_rms_normalisation_of_a_symbolic_batch() -> None:
    text = "g (float[N,T,8] x) => (float[N,T,8] y) { y = RMSNormalization(x, s) }"
    converted = ew.convert(model_of(text, {"s": normal(8)}, {"": 23}))
    assert op_names(converted) == ["RmsNorm"]
    for x in (WORDS, normal(1, 5, 8)):
        expected = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * normal(8)
        np.testing.assert_allclose(converted.run({"x": x})["y"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("p", "ops"), [(2, ["L2Norm"]), (1, None)])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_lp_normalisation_leaves_zeros_alone(p: int, ops: list[str] | None, axis: int) -> None:
    text = f"g (float[2,3,8] x) => (float[2,3,8] y) {{ y = LpNormalization<p={p}, axis={axis}>(x) }}"
    zeros = np.zeros((2, 3, 8), np.float32)
    converted = agree(model_of(text), {"x": WORDS})
    assert ops is None or op_names(converted) == ops
    np.testing.assert_array_equal(converted.run({"x": zeros})["y"], zeros)


@pytest.mark.parametrize("attributes", ["", "<axes=[1]>", "<axes=[-1,-2]>"])
def test_mean_variance_normalisation_is_a_layer_norm_without_weights(attributes: str) -> None:
    text = f"g (float[N,6,H,5] x) => (float[N,6,H,5] y) {{ y = MeanVarianceNormalization{attributes}(x) }}"
    assert op_names(agree(model_of(text), {"x": IMAGE}, {"x": IMAGE[:1, :, :2]}, atol=1e-4)) == ["LayerNorm"]


@pytest.mark.parametrize("size", [1, 3, 5, 4])
def test_local_response_norm_of_odd_and_even_windows(size: int) -> None:
    call = f"LRN<size={size}, alpha=0.3, beta=0.6, bias=1.5>(x)"
    model = model_of(f"g (float[N,6,4,5] x) => (float[N,6,4,5] y) {{ y = {call} }}")
    converted = ew.convert(model)
    squares = np.pad(IMAGE**2, ((0, 0), ((size - 1) // 2, size - 1 - (size - 1) // 2), (0, 0), (0, 0)))
    energy = sum(squares[:, k : k + 6] for k in range(size))
    np.testing.assert_allclose(
        converted.run({"x": IMAGE})["y"], IMAGE / (1.5 + 0.3 / size * energy) ** 0.6, rtol=1e-4, atol=1e-5
    )
    assert ("Lrn" in op_names(converted)) == (size % 2 == 1)


@pytest.mark.parametrize(
    ("call", "ops"),
    [
        ("SkipLayerNormalization<epsilon=0.001>(x, r, s, b)", ["ElementWiseAdd", "LayerNorm"]),
        ("SkipLayerNormalization(x, r, s, b, b)", ["ElementWiseAdd", "ElementWiseAdd", "LayerNorm"]),
        ("SkipSimplifiedLayerNormalization(x, r, s)", ["ElementWiseAdd", "RmsNorm"]),
    ],
)
def test_layer_norms_fused_with_a_sum(call: str, ops: list[str]) -> None:
    text = f"g (float[N,3,8] x, float[N,3,8] r) => (float[N,3,8] y) {{ y = com.microsoft.{call} }}"
    model = model_of(text, {"s": normal(8), "b": normal(8, seed=1)}, MICROSOFT)
    assert op_names(agree(model, {"x": WORDS, "r": normal(2, 3, 8, seed=4)})) == ops


def test_a_fused_sum_is_an_output_too() -> None:
    text = """g (float[2,3,8] x, float[2,3,8] r) => (float[2,3,8] y, float[2,3,8] t) {
        y, , , t = com.microsoft.SkipLayerNormalization(x, r, s, b) }"""
    model = model_of(text, {"s": normal(8), "b": normal(8, seed=1)}, MICROSOFT)
    agree(model, {"x": WORDS, "r": normal(2, 3, 8, seed=4)})


def test_simplified_layer_normalisation_is_an_rms_norm() -> None:
    text = "g (float[N,3,8] x) => (float[N,3,8] y) { y = SimplifiedLayerNormalization<axis=-1>(x, s) }"
    assert op_names(agree(model_of(text, {"s": normal(8)}), {"x": WORDS})) == ["RmsNorm"]


def test_embeddings_are_summed_and_normalised() -> None:
    text = """g (int32[2,4] ids, int32[2,4] seg, int32[2,4] mask) => (float[2,4,8] y, int32[2] m) {
        y, m = com.microsoft.EmbedLayerNormalization(ids, seg, w, p, t, s, b, mask) }"""
    tables = {"w": normal(9, 8), "p": normal(5, 8), "t": normal(2, 8), "s": normal(8), "b": normal(8, seed=2)}
    ids = np.array([[1, 2, 3, 8], [0, 7, 5, 5]], np.int32)
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    agree(model_of(text, tables, MICROSOFT), {"ids": ids, "seg": ids % 2, "mask": mask})


@pytest.mark.parametrize(
    "call",
    [
        "LayerNormalization<axis=5>(x, s)",
        "LpNormalization<p=3>(x)",
        "LRN<size=0>(x)",
        "LRN(x)",
        "GroupNormalization<num_groups=0>(x, s, s)",
        "GroupNormalization<num_groups=5>(x, s, s)",
        "InstanceNormalization(x, s)",
        "InstanceNormalization(x, five, five)",
        "com.microsoft.SkipLayerNormalization(x)",
        'com.microsoft.SkipLayerNormalization<epsilon="a">(x, x, s)',
        "com.microsoft.GroupNorm<groups=0>(x, s, s)",
    ],
)
def test_a_damaged_norm_is_an_error_with_a_place(call: str) -> None:
    given = {"s": normal(6), "five": normal(5)}
    model = model_of(f"g (float[2,6,4,6] x) => (float[2,6,4,6] y) {{ y = {call} }}", given, MICROSOFT)
    with pytest.raises(EdgewrightError) as caught:
        ew.convert(model)
    assert "where" in str(caught.value)

"""More bits where they matter, and inputs of unequal size: AWQ."""

import numpy as np
import pytest

from edgewright.core.errors import UsageError
from edgewright.llm.forward import iterate_float_logits, read_layer, run_layer
from edgewright.llm.load.checkpoint import EMBEDDING, HEAD, Checkpoint, list_layer_shapes
from edgewright.llm.quantize_model import quantize_language_model
from edgewright.llm.recipe import Recipe
from edgewright.llm.rounding.codes import LPBQ, Q4_K, Q6_K, Grid
from edgewright.llm.rounding.refine import measure_row_errors
from edgewright.llm.rounding.scales import quantize_to_nearest
from edgewright.llm.sensitivity import measure_sensitivity, widen_sensitive
from edgewright.llm.smoothing import smooth_layer
from tests.unit.llm.checkpoints import FAMILIES, write_checkpoint

SMALL = {"hidden_size": 64, "intermediate_size": 128}
RECIPE = Recipe(keep={HEAD: "int8"}, device="cpu")


@pytest.fixture
def texts():
    return list(np.random.default_rng(1).integers(3, 96, (4, 32)))


def spoil(checkpoint, name):
    """A few values that are far larger: rounding costs the others."""
    stored = checkpoint.find(name)
    values = np.memmap(stored.path, stored.dtype, "r+", stored.offset, stored.shape)
    values[:, ::32] *= 20
    values.flush()


def test_a_matrix_that_rounding_hurts_stands_out(tmp_path, texts):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", **SMALL))
    spoilt = "model.layers.1.mlp.gate_up_proj.weight"
    before = measure_sensitivity(checkpoint, RECIPE, texts)
    spoil(checkpoint, spoilt)
    found = measure_sensitivity(checkpoint, RECIPE, texts)
    assert len(found) == 9
    assert HEAD not in found
    assert EMBEDDING in found
    assert found[spoilt] > 3 * before[spoilt]
    assert max((name for name in found if "layers.1" in name), key=found.get) == spoilt
    assert all(value > 0 for value in found.values())


def test_sensitivity_is_the_divergence_of_the_model_with_that_matrix_rounded(tmp_path, texts):
    folder = write_checkpoint(tmp_path / "m", **SMALL)
    name = "model.layers.0.self_attn.o_proj.weight"
    found = measure_sensitivity(Checkpoint(folder), RECIPE, texts)[name]
    only = Recipe("fp32", keep={name: "int4"}, device="cpu")
    quantize_language_model(folder, "safetensors", recipe=only, output=tmp_path / "o")
    pairs = zip(
        *(iterate_float_logits(Checkpoint(path), texts) for path in (folder, tmp_path / "o")), strict=True
    )
    gaps = []
    for pair in pairs:
        first, second = (part - np.log(np.exp(part).sum(-1, keepdims=True)) for part in pair)
        gaps.append((np.exp(first) * (first - second)).sum(-1))
    assert found == pytest.approx(np.mean(gaps), rel=1e-2)


def test_bits_are_spent_up_to_the_budget_and_help(tmp_path, texts):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", **SMALL))
    spoil(checkpoint, "model.layers.1.mlp.gate_up_proj.weight")
    sizes = {name: tensor.shape for name, tensor in checkpoint.tensors.items() if len(tensor.shape) == 2}
    total = sum(map(np.prod, sizes.values()))
    for bits in (5.2, 6.5, 8.5):
        recipe, _ = widen_sensitive(checkpoint, RECIPE, texts, bits)
        spent = sum(
            recipe.find_grid(name).count_bits(shape[1]) * np.prod(shape) for name, shape in sizes.items()
        )
        assert spent <= bits * total
        assert recipe.find_precision("model.layers.1.mlp.gate_up_proj.weight") == (
            "int4" if bits < 5.3 else "int8"
        )
    assert all(recipe.find_precision(name) == "int8" for name in sizes)
    with pytest.raises(UsageError, match="are fewer than"):
        widen_sensitive(checkpoint, RECIPE, texts, 4.0)


def test_the_record_says_what_got_more_bits_and_what_is_kept_stays(tmp_path):
    folder = write_checkpoint(tmp_path / "m", **SMALL)
    np.save(tmp_path / "t.npy", np.random.default_rng(1).integers(3, 96, 300))
    recipe = Recipe(keep={"down_proj": "int4"}, mixed=6.0, device="cpu")
    for to in ("gguf", "safetensors"):
        made = quantize_language_model(
            folder, to, recipe=recipe, calibration=tmp_path / "t.npy", output=tmp_path / to
        )
        assert made.widened
        assert set(made.widened) < set(made.sensitivity)
        assert not any("down_proj" in name for name in made.sensitivity)
    with pytest.raises(UsageError, match="need a text"):
        quantize_language_model(folder, recipe=recipe, output=tmp_path / "x")


@pytest.mark.parametrize(
    ("grid", "bits"),
    [(Grid(4), 4.5), (Grid(8), 8.5), (Q4_K, 4.5), (Q6_K, 6.5625), (LPBQ, 4.125), (Grid(4, 32, False), 4.625)],
)
def test_bits_of_a_weight_are_those_of_the_formats(grid, bits):
    assert grid.count_bits(512) == bits


@pytest.mark.parametrize("family", FAMILIES)
def test_smoothed_layers_mean_the_same_and_lose_less(tmp_path, family):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", family))
    weights, spec = read_layer(checkpoint, 0), checkpoint.spec
    rng = np.random.default_rng(2)
    # A few inputs are large, as in real models.
    weights["input_layernorm.weight"][::50] *= 30
    state = rng.normal(size=(40, spec.hidden)).astype(np.float32)
    moments = {}
    expected = run_layer(spec, weights, state, lambda name, inputs: moments.update({name: inputs.T @ inputs}))
    grids = dict.fromkeys(moments, Grid(4))
    smooth, changed = smooth_layer(spec, weights, moments, grids)
    assert set(smooth) == set(list_layer_shapes(spec))
    assert not np.array_equal(smooth["input_layernorm.weight"], weights["input_layernorm.weight"])
    watched = {}
    result = run_layer(spec, smooth, state, lambda name, inputs: watched.update({name: inputs.T @ inputs}))
    np.testing.assert_allclose(result, expected, rtol=1e-2, atol=1e-3 * np.abs(expected).max())
    for name, products in watched.items():
        np.testing.assert_allclose(products, changed[name], rtol=2e-2, atol=1e-3 * np.abs(products).max())
    # Less error in the products, on the grid that will be used.
    for name, products in moments.items():
        if "q_proj" in name or "qkv" in name:
            pairs = ((weights[name], products), (smooth[name], changed[name]))
            errors = [measure_row_errors(w, quantize_to_nearest(w, Grid(4)), m).sum() for w, m in pairs]
            assert errors[1] < 0.8 * errors[0]


def test_awq_is_folded_into_what_is_written(tmp_path):
    folder = write_checkpoint(tmp_path / "m", **SMALL)
    np.save(tmp_path / "t.npy", np.random.default_rng(1).integers(3, 96, 300))
    recipe = Recipe(name="balanced", is_smoothed=True, device="cpu")
    quantize_language_model(
        folder, "safetensors", recipe=recipe, calibration=tmp_path / "t.npy", output=tmp_path / "o"
    )
    first, second = Checkpoint(folder), Checkpoint(tmp_path / "o")
    norms = [c.read("model.layers.0.post_attention_layernorm.weight") for c in (first, second)]
    assert not np.allclose(*norms, rtol=0.01)
    text = np.random.default_rng(5).integers(3, 96, 32)
    logits = [next(iterate_float_logits(checkpoint, [text])) for checkpoint in (first, second)]
    assert np.corrcoef(logits[0].ravel(), logits[1].ravel())[0, 1] > 0.8

"""Attention of ONNX and of ONNX Runtime's own ops, written out, keeps ONNX Runtime's numbers."""

from typing import Any

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

RUNTIME = {"com.microsoft": 1}


def runtime(op: str, inputs: dict[str, str], outputs: str, weights: dict[str, Array] | None = None) -> Any:
    """A model of one op of ONNX Runtime; inputs map a name to its type, "" leaves a place free."""
    fed = ", ".join(f"{kind} {name}" for name, kind in inputs.items() if kind and not name.startswith("-"))
    places = ", ".join("" if name.startswith("-") else name for name in inputs)
    names = ", ".join(item.split()[-1] for item in outputs.split(", "))
    return model_of(
        f"g ({fed}) => ({outputs}) {{ {names} = com.microsoft.{op}({places}) }}", weights, RUNTIME
    )


def test_attention_of_onnx_is_written_out_for_any_length() -> None:
    operands = "float[B,4,S,8] q, float[B,2,T,8] k, float[B,2,T,8] v"
    text = f"g ({operands}) => (float[B,4,S,8] y) {{ y = Attention(q, k, v) }}"
    model = model_of(text, None, {"": 23})
    feeds = [
        {"q": normal(b, 4, s, 8), "k": normal(b, 2, t, 8), "v": normal(b, 2, t, 8, seed=1)}
        for b, s, t in ((1, 5, 5), (2, 3, 6))
    ]
    assert "SourceOp" not in op_names(agree(model, *feeds))


@pytest.mark.parametrize("attributes", ["", "interleaved=1", "rotary_embedding_dim=4, num_heads=2"])
@pytest.mark.parametrize("shape", ["B,S,16", "B,2,S,8"])
def test_rotary_embedding_turns_heads_of_either_layout(attributes: str, shape: str) -> None:
    half = 2 if "rotary" in attributes else 4
    settings = ", ".join(
        part for part in (attributes, "num_heads=2" if "num" not in attributes else "") if part
    )
    body = f"y = RotaryEmbedding<{settings}>(x, c, s, p)"
    text = f"g (float[{shape}] x, int64[B,S] p) => (float[{shape}] y) {{ {body} }}"
    model = model_of(text, {"c": normal(20, half), "s": normal(20, half, seed=1)}, {"": 23})
    for batch, length in ((1, 3), (2, 5)):
        dims = [{"B": batch, "S": length}.get(d) or int(d) for d in shape.split(",")]
        places = np.random.default_rng(0).integers(0, 20, (batch, length))
        converted = agree(model, {"x": normal(*dims), "p": places})
    assert not any(0 in t.shape for t in converted.graph.types.values())


@pytest.mark.parametrize("positions", [[[0, 3, 5]], [7]])
def test_rotary_embedding_of_the_runtime_counts_on_from_one_position(positions: Any) -> None:
    kind = "int64[1]" if len(np.shape(positions)) == 1 else "int64[B,S]"
    model = runtime(
        "RotaryEmbedding",
        {"x": "float[B,S,16]", "p": kind, "c": "", "s": ""},
        "float[B,S,16] y",
        {"c": normal(20, 4), "s": normal(20, 4, seed=1)},
    )
    agree(model, {"x": normal(1, 3, 16), "p": np.asarray(positions, np.int64)})


THREE = {"q": "float[B,S,16]", "k": "float[B,T,16]", "v": "float[B,T,8]"}


def three(batch: int, length: int, total: int) -> dict[str, Array]:
    return {
        "q": normal(batch, length, 16),
        "k": normal(batch, total, 16, seed=1),
        "v": normal(batch, total, 8),
    }


@pytest.mark.parametrize(
    "attributes", ["num_heads=4", "num_heads=2, unidirectional=1", "num_heads=2, scale=0.3"]
)
def test_multi_head_attention_of_any_length(attributes: str) -> None:
    model = runtime(f"MultiHeadAttention<{attributes}>", THREE, "float[B,S,8] y")
    agree(model, three(1, 5, 5), three(2, 4, 4))


def test_multi_head_attention_adds_bias_mask_and_attention_bias() -> None:
    inputs = {**THREE, "b": "", "m": "int32[B,T]", "a": "float[B,4,S,T]"}
    model = runtime("MultiHeadAttention<num_heads=4>", inputs, "float[B,S,8] y", {"b": normal(40)})
    mask = np.asarray([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    agree(model, {**three(2, 3, 5), "m": mask, "a": normal(2, 4, 3, 5)})


def test_multi_head_attention_grows_its_cache() -> None:
    inputs = {
        "q": "float[B,S,16]",
        "k": "float[B,S,16]",
        "v": "float[B,S,16]",
        "-b": "",
        "-m": "",
        "-a": "",
        "pk": "float[B,2,P,8]",
        "pv": "float[B,2,P,8]",
    }
    outputs = "float[B,S,16] y, float[B,2,T,8] nk, float[B,2,T,8] nv"
    model = runtime("MultiHeadAttention<num_heads=2>", inputs, outputs)
    new = {name: normal(1, 2, 16, seed=i) for i, name in enumerate("qkv")}
    agree(model, {**new, "pk": normal(1, 2, 5, 8), "pv": normal(1, 2, 5, 8, seed=1)})


def test_multi_head_attention_takes_packed_operands() -> None:
    packed = normal(2, 5, 2, 3, 8)
    q, k, v = (packed[:, :, :, i].reshape(2, 5, 16) for i in range(3))
    kinds = dict.fromkeys("qkv", "float[B,S,16]")
    plain = ew.convert(runtime("MultiHeadAttention<num_heads=2>", kinds, "float[B,S,16] y"))
    expected = plain.run({"q": q, "k": k, "v": v})["y"]
    # ONNX Runtime's processor kernel does not take these two forms itself.
    forms: list[tuple[dict[str, str], dict[str, Array]]] = [
        ({"q": "float[B,S,2,3,8]"}, {"q": packed}),
        (
            {"q": "float[B,S,16]", "kv": "float[B,S,2,2,8]"},
            {"q": q, "kv": np.ascontiguousarray(packed[:, :, :, 1:])},
        ),
    ]
    for inputs, feed in forms:
        model = runtime("MultiHeadAttention<num_heads=2>", inputs, "float[B,S,16] y")
        np.testing.assert_allclose(ew.convert(model).run(feed)["y"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mask", [None, [3, 5], [[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]]])
@pytest.mark.parametrize("causal", [0, 1])
def test_attention_of_the_runtime_projects_and_masks(mask: Any, causal: int) -> None:
    inputs = {"x": "float[B,S,6]", "w": "", "b": ""}
    feed: dict[str, Array] = {"x": normal(2, 5, 6)}
    if mask is not None:
        inputs["m"] = "int32[B]" if len(np.shape(mask)) == 1 else "int32[B,S]"
        feed["m"] = np.asarray(mask, np.int32)
    weights = {"w": normal(6, 48), "b": normal(48)}
    op = f"Attention<num_heads=2, unidirectional={causal}>"
    converted = agree(runtime(op, inputs, "float[B,S,16] y", weights), feed)
    assert "FullyConnected" in op_names(converted)


def test_attention_of_the_runtime_keeps_a_stacked_cache() -> None:
    inputs = {"x": "float[1,S,6]", "w": "", "b": "", "-m": "", "past": "float[2,1,2,P,8]"}
    outputs = "float[1,S,16] y, float[2,1,2,T,8] present"
    weights = {"w": normal(6, 48), "b": normal(48)}
    model = runtime("Attention<num_heads=2, unidirectional=1>", inputs, outputs, weights)
    agree(model, {"x": normal(1, 3, 6), "past": normal(2, 1, 2, 4, 8)})


def grouped(attributes: str, heads: int, groups: int, extra: dict[str, str] | None = None) -> Any:
    inputs = {
        "q": f"float[B,S,{heads * 16}]",
        "k": f"float[B,S,{groups * 16}]",
        "v": f"float[B,S,{groups * 16}]",
        "pk": f"float[B,{groups},P,16]",
        "pv": f"float[B,{groups},P,16]",
        "l": "int32[B]",
        "t": "",
        **(extra or {}),
    }
    outputs = f"float[B,S,{heads * 16}] y, float[B,{groups},T,16] nk, float[B,{groups},T,16] nv"
    op = f"GroupQueryAttention<num_heads={heads}, kv_num_heads={groups}{attributes}>"
    known = {"c": normal(32, 8), "s": normal(32, 8, seed=1)} if extra else {}
    return op, inputs, outputs, known


@pytest.mark.parametrize(
    "attributes", ["", ", scale=0.2", ", local_window_size=3", ", softcap=2.0", "rotary"]
)
@pytest.mark.parametrize(("length", "past"), [(4, 0), (1, 5)])
def test_group_query_attention_over_a_growing_cache(attributes: str, length: int, past: int) -> None:
    extra = {"c": "", "s": ""} if attributes == "rotary" else None
    op, inputs, outputs, known = grouped(attributes.replace("rotary", ", do_rotary=1"), 4, 2, extra)
    known["t"] = np.asarray(length + past, np.int32)
    model = runtime(op, inputs, outputs, known)
    feed = {
        "q": normal(1, length, 64),
        "k": normal(1, length, 32),
        "v": normal(1, length, 32, seed=2),
        "pk": normal(1, 2, past, 16),
        "pv": normal(1, 2, past, 16, seed=3),
        "l": np.asarray([length + past - 1], np.int32),
    }
    converted = agree(model, feed)
    assert not {"Tile", "SourceOp"} & set(op_names(converted))


def test_group_query_attention_takes_packed_operands_and_short_prompts() -> None:
    inputs = {"q": "float[B,S,128]", "-k": "", "-v": "", "-pk": "", "-pv": "", "l": "int32[B]", "t": ""}
    outputs = "float[B,S,64] y, float[B,2,S,16] nk, float[B,2,S,16] nv"
    op = "GroupQueryAttention<num_heads=4, kv_num_heads=2>"
    model = runtime(op, inputs, outputs, {"t": np.asarray(5, np.int32)})
    agree(model, {"q": normal(2, 5, 128), "l": np.asarray([4, 4], np.int32)})


@pytest.mark.parametrize(
    ("op", "inputs", "words"),
    [
        ("MultiHeadAttention<num_heads=0>", THREE, "num_heads is 0"),
        ("MultiHeadAttention<num_heads=3>", THREE, "3 heads"),
        ("MultiHeadAttention", THREE, "num_heads"),
        ("RotaryEmbedding<is_packed_batching=1>", {**THREE, "v2": "float[B,S]"}, "packed"),
        ("Attention<num_heads=2, do_rotary=1>", THREE, "turns its positions"),
    ],
)
def test_damaged_or_unknown_forms_are_refused_in_words(op: str, inputs: dict[str, str], words: str) -> None:
    with pytest.raises(EdgewrightError, match=words):
        ew.convert(runtime(op, inputs, "float[B,S,8] y"))

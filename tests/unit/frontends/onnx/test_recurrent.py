"""ONNX's LSTM, GRU and RNN become Lstm and Gru, or steps, and keep ONNX Runtime's numbers."""

from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DIRECTIONS = ["forward", "reverse", "bidirectional"]
UNITS, WIDTH = 4, 3
ALPHAS = {
    "HardSigmoid": 0.3,
    "ScaledTanh": 0.9,
    "LeakyRelu": 0.1,
    "Elu": 0.7,
    "Affine": 0.4,
    "ThresholdedRelu": 0.2,
}
BETAS = {"HardSigmoid": 0.4, "ScaledTanh": 0.8, "Affine": 0.1}


def layer(kind: str, attributes: str = "", inputs: str = "", opset: int = 21, **weights: Array) -> Any:
    """A model of one layer whose weights are known, of any number of steps and sequences."""
    count = 2 if "bidirectional" in attributes else 1
    rows = GATES[kind] * UNITS
    known = {
        "W": normal(count, rows, WIDTH, seed=1) * 0.5,
        "R": normal(count, rows, UNITS, seed=2) * 0.5,
        "B": normal(count, 2 * rows, seed=3) * 0.5,
        **weights,
    }
    results = ["Y", "Yh", "Yc"][: 3 if kind == "LSTM" else 2]
    listed = ", ".join(f"float[{'T,D,B,H' if name == 'Y' else 'D,B,H'}] {name}" for name in results)
    extra = ", int32[B] lens" if "lens" in inputs else ""
    settings = f"hidden_size={UNITS}" + (f", {attributes}" if attributes else "")
    places = inputs or "X, W, R, B"
    body = f"{', '.join(results)} = {kind}<{settings}>({places})"
    text = f"g (float[T,B,{WIDTH}] X{extra}) => ({listed}) {{ {body} }}"
    used = {name: array for name, array in known.items() if name in places.replace(" ", "").split(",")}
    return model_of(text, used, {"": opset})


def sequences(*shapes: tuple[int, int]) -> list[dict[str, Array]]:
    return [{"X": normal(steps, batch, WIDTH)} for steps, batch in shapes]


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_each_direction_is_one_op_for_any_length_and_batch(kind: str, direction: str) -> None:
    converted = agree(layer(kind, f'direction="{direction}"'), *sequences((5, 2), (1, 1), (9, 3)))
    op = "Lstm" if kind == "LSTM" else "Gru"
    assert op_names(converted).count(op) == (2 if direction == "bidirectional" else 1)
    assert "SourceOp" not in op_names(converted)


@pytest.mark.parametrize("kind", GATES)
def test_layers_in_half_precision_run_in_the_engine(kind: str) -> None:
    proto = layer(kind, 'direction="bidirectional"')
    for item in (*proto.graph.input, *proto.graph.output):
        item.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    for weight in proto.graph.initializer:
        half = onnx.numpy_helper.to_array(weight).astype(np.float16)
        weight.CopyFrom(onnx.numpy_helper.from_array(half, weight.name))
    feeds = [{"X": feed["X"].astype(np.float16)} for feed in sequences((5, 2), (1, 1))]
    converted = agree(proto, *feeds, rtol=2e-3, atol=2e-3)
    assert set(converted.placement().values()) == {"engine"}


@pytest.mark.parametrize("kind", GATES)
def test_bias_may_be_left_out_and_the_first_state_given(kind: str) -> None:
    first = {"h": normal(1, 2, UNITS), "c": normal(1, 2, UNITS, seed=5), "P": normal(1, 3 * UNITS)}
    places = "X, W, R, , , h" + (", c, P" if kind == "LSTM" else "")
    agree(layer(kind, inputs=places, **first), *sequences((5, 2), (3, 2)))


@pytest.mark.parametrize("linear", [0, 1])
def test_gru_resets_before_or_after_the_product(linear: int) -> None:
    converted = agree(layer("GRU", f"linear_before_reset={linear}"), *sequences((5, 2)))
    assert op_names(converted)[0] == "Gru"


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_coupled_gates_and_peepholes_are_an_lstm_without_input_gate(direction: str) -> None:
    count = 2 if direction == "bidirectional" else 1
    peepholes = normal(count, 3 * UNITS)
    model = layer("LSTM", f'direction="{direction}", input_forget=1', "X, W, R, B, , , , P", P=peepholes)
    converted = agree(model, *sequences((5, 2)))
    node = next(node for node in converted.graph.nodes if node.op.qnn_name() == "Lstm")
    assert node.inputs[16] == ""


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("lens", [[5, 5], [5, 2], [1, 4]])
def test_sequences_end_at_their_own_length(kind: str, direction: str, lens: list[int]) -> None:
    model = layer(kind, f'direction="{direction}"', "X, W, R, B, lens")
    feed = {**sequences((5, 2))[0], "lens": np.asarray(lens, np.int32)}
    longer = {**sequences((6, 2))[0], "lens": np.asarray(lens, np.int32)}
    converted = agree(model, feed, longer)
    assert "SourceOp" not in op_names(converted)


def test_lengths_that_are_all_full_cost_nothing() -> None:
    model = layer("LSTM", inputs="X, W, R, B, full", full=np.asarray([5, 5], np.int32))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 5
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 2
    assert set(op_names(agree(model, *sequences((5, 2))))) == {"Lstm", "Reshape"}


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    "settings",
    [
        ("clip=0.5", []),
        ("", ["Relu"] * 3),
        ("", ["HardSigmoid", "Softsign", "ScaledTanh"]),
        ("", ["Sigmoid", "LeakyRelu", "Elu"]),
        ("", ["Affine", "Softplus", "ThresholdedRelu"]),
    ],
)
def test_other_activations_and_clipping_are_written_out_as_steps(
    kind: str, direction: str, settings: tuple[str, list[str]]
) -> None:
    extra, names = settings
    chosen = (names[: {"LSTM": 3, "GRU": 2, "RNN": 1}[kind]]) * (2 if direction == "bidirectional" else 1)
    # Given in the order of the activations that take them; ONNX states no default for most of these.
    alphas = [ALPHAS[name] for name in chosen if name in ALPHAS]
    betas = [BETAS[name] for name in chosen if name in BETAS]
    factors = (f", activation_alpha={alphas}" if alphas else "") + (
        f", activation_beta={betas}" if betas else ""
    )
    listed = f", activations={chosen}".replace("'", '"') + factors if chosen else f", {extra}"
    model = layer(kind, f'direction="{direction}"{listed}')
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    converted = agree(model, *sequences((4, 2), (4, 3)))
    assert not {"Lstm", "Gru", "SourceOp"} & set(op_names(converted))


@pytest.mark.parametrize("linear", [0, 1])
def test_steps_keep_the_first_state_and_the_place_of_the_reset(linear: int) -> None:
    attributes = f'direction="reverse", clip=0.7, linear_before_reset={linear}'
    model = layer("GRU", attributes, "X, W, R, B, , h", h=normal(1, 2, UNITS))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    agree(model, *sequences((4, 2)))


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("opset", [7, 14, 22])
def test_every_opset_is_read(kind: str, opset: int) -> None:
    agree(layer(kind, opset=opset), *sequences((3, 2)))


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_batch_first_layers_keep_onnx_numbers(kind: str, direction: str) -> None:
    model = layer(kind, f'direction="{direction}", layout=1')
    feed = {"X": normal(2, 5, WIDTH)}
    found = ew.convert(model).run(feed)
    expected = onnx.reference.ReferenceEvaluator(model).run(None, feed)
    for item, wanted in zip(model.graph.output, expected, strict=True):
        np.testing.assert_allclose(found[item.name], wanted, rtol=1e-4, atol=1e-5)


def test_weights_of_gates_are_views_of_the_source() -> None:
    graph = ew.convert(layer("LSTM")).graph
    node = next(node for node in graph.nodes if node.op.qnn_name() == "Lstm")
    assert not any(graph.constants[node.inputs[place]].flags.owndata for place in (1, 2, 3, 4, 5, 6, 16, 17))


@pytest.mark.parametrize(
    ("attributes", "weights", "words"),
    [
        ('direction="sideways"', {}, "direction is 'sideways'"),
        ("", {"W": normal(1, 8, WIDTH)}, "W has shape"),
        ("", {"B": normal(1, 5)}, "B has shape"),
        ("", {"R": normal(1, 16, 7)}, "hidden_size is 4"),
        ('activations=["Sigmoid"]', {}, "1 activations are given"),
        ('activations=["Sigmoid", "Tanh", "Sine"]', {}, "activation 'sine' is not known"),
    ],
)
def test_damaged_layers_are_refused_in_words(attributes: str, weights: dict[str, Array], words: str) -> None:
    with pytest.raises(EdgewrightError, match=words.replace("[", r"\[")):
        ew.convert(layer("LSTM", attributes, **weights))

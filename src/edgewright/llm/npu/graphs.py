"""The graphs of a language model in fixed point: prefill and decode, with the same weights and encodings."""

from collections.abc import Mapping, Sequence
from typing import Any

from edgewright.artifacts.encodings import load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.llm.load.checkpoint import EMBEDDING, FINAL_NORM
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.npu.decoder_graph import KINDS, PAST, PRESENT, DecoderGraph
from edgewright.llm.npu.feed import TextState
from edgewright.llm.npu.manifest import GraphShape
from edgewright.llm.npu.matrices import Tensor, decode, describe_codes, list_layer_weights
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model
from edgewright.model.quantize import QuantizedModel, quantize_model
from edgewright.quantize.request import QuantizationRequest

ACTIVATION_BITS = 16
VERSION = "2.0.0"


def make_float_model(
    spec: ModelSpec, tensors: Mapping[str, Tensor], head: str, shape: GraphShape, name: str
) -> Model:
    """The whole model as one graph, with the values that its codes stand for."""
    graph = DecoderGraph(spec, shape)
    state = graph.take_tokens(decode(tensors[EMBEDDING]))
    graph.take_positions()
    for number in range(spec.layers):
        state = graph.add_layer(number, list_layer_weights(spec, number, tensors), state)
    graph.end_with_logits(state, decode(tensors[FINAL_NORM]), decode(tensors[head]))
    return open_any_model(graph.make_model(name))


def collect_samples(
    model: Model, spec: ModelSpec, shape: GraphShape, texts: Sequence[Array]
) -> list[dict[str, Array]]:
    """What the graph is fed with while it reads texts: later runs have the states of earlier ones."""
    samples = []
    with announce_progress("reading the text that calibrates", total=len(texts)) as step:
        for text in texts:
            state = TextState(spec, shape.context)
            for start in range(0, len(text), shape.tokens):
                piece = text[start : start + shape.tokens]
                samples.append(state.feed(piece, shape))
                state.take(model.run(samples[-1]), len(piece))
            step()
    return samples


def quantize_prefill(
    model: Model, spec: ModelSpec, tensors: Mapping[str, Tensor], head: str, samples: list[dict[str, Array]]
) -> QuantizedModel:
    """The codes of the weights as they are, activations in 16 bits by what the samples show."""
    overrides = {"version": VERSION, "encodings": describe_codes(spec, tensors, head)}
    first = _quantize(model, overrides, samples)
    return _quantize(model, _share_states(first.encodings(VERSION), spec), samples)


def quantize_like(model: Model, encodings: dict[str, Any]) -> QuantizedModel:
    """A graph of another length, in which every tensor has the encoding that it has in the first."""
    return _quantize(model, encodings, None)


def _quantize(model: Model, overrides: Any, samples: list[dict[str, Array]] | None) -> QuantizedModel:
    request = QuantizationRequest(
        act_bw=ACTIVATION_BITS, act_quantizer="tf", overrides=load_encodings(overrides), uniform=True
    )
    return quantize_model(model, request, samples, CpuExecutor(0))


def _share_states(encodings: dict[str, Any], spec: ModelSpec) -> dict[str, Any]:
    """What a run gives for its tokens is what a later one takes for them, integer by integer."""
    by_name = {entry["name"]: entry for entry in encodings["encodings"]}
    for layer in range(spec.layers):
        for kind in KINDS:
            made, taken = (pattern.format(kind=kind, layer=layer) for pattern in (PRESENT, PAST))
            for name in (taken, f"layer{layer}.all_{kind}s"):
                if made in by_name:
                    by_name[name] = {**by_name[made], "name": name}
    return {**encodings, "encodings": list(by_name.values())}

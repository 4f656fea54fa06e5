"""Whether a graph of a built model is what the other files of its folder say."""

from edgewright.core.errors import BadInput, Where
from edgewright.ir.graph import Graph
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.npu.decoder_graph import (
    COSINES,
    KINDS,
    LOGITS,
    MASK,
    PAST,
    PRESENT,
    SINES,
    TOKENS,
    name_state,
)
from edgewright.llm.npu.manifest import INSIDE, GraphShape, Manifest, Part

Shapes = dict[str, list[int]]


def check_graph(graph: Graph, spec: ModelSpec, manifest: Manifest, part: Part, kind: str, file: str) -> None:
    """Refuses a graph that takes or gives something else than it is going to be fed with."""
    shape = manifest.shapes[kind]
    expected = _list_inputs(spec, manifest, part, shape) | _list_outputs(spec, part, shape)
    here = {name: graph.types[name].shape for name in (*graph.inputs, *graph.outputs)}
    for name in (*expected, *here):
        shape_here, shape_expected = _spell(here.get(name)), _spell(expected.get(name))
        if shape_here != shape_expected:
            raise BadInput(
                f"'{name}' of the graph is {shape_here}, expected {shape_expected} by the other files of the "
                "folder",
                Where(file=file, tensor=name),
                do="build the model again",
            )


def _list_inputs(spec: ModelSpec, manifest: Manifest, part: Part, shape: GraphShape) -> Shapes:
    takes_tokens = part.is_first and manifest.embedding == INSIDE
    state = {name_state(part.layers.start): [1, shape.tokens, spec.hidden]}
    inputs: Shapes = {TOKENS: [1, shape.tokens]} if takes_tokens else state
    if part.layers:
        inputs[MASK] = [1, 1, shape.tokens, shape.context]
        inputs |= {name: [1, 1, shape.tokens, spec.rope.dims // 2] for name in (COSINES, SINES)}
    return inputs | _list_states(spec, part, PAST, shape.past)


def _list_outputs(spec: ModelSpec, part: Part, shape: GraphShape) -> Shapes:
    width = spec.vocabulary if part.is_last else spec.hidden
    name = LOGITS if part.is_last else name_state(part.layers.stop)
    return {name: [1, shape.tokens, width]} | _list_states(spec, part, PRESENT, shape.tokens)


def _list_states(spec: ModelSpec, part: Part, pattern: str, tokens: int) -> Shapes:
    """Keys and values of so many tokens."""
    shapes = ([spec.kv_heads, 1, spec.head_dim, tokens], [spec.kv_heads, 1, tokens, spec.head_dim])
    return {
        pattern.format(kind=kind, layer=layer): shape
        for layer in part.layers
        for kind, shape in zip(KINDS, shapes, strict=True)
        if tokens
    }


def _spell(shape: object) -> str:
    return "not there" if shape is None else " x ".join(map(str, shape))  # type: ignore[call-overload]

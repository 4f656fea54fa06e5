"""What the graphs of a built language model take and give, by its configuration: files may say otherwise."""

from collections.abc import Mapping
from pathlib import Path

from edgewright.core.errors import BadInput, Where, shown
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

_Shapes = dict[str, tuple[int, ...]]


class ExpectedTensors:
    """Names and shapes of the inputs and outputs of each graph.

    Args:
        spec: what config.json says.
        manifest: what the build says of itself.
    """

    def __init__(self, spec: ModelSpec, manifest: Manifest) -> None:
        self._spec, self._manifest = spec, manifest

    def check(self, graph: Graph, part: Part, kind: str, file: Path) -> None:
        """Refuses a graph that takes or gives anything else."""
        shape = self._manifest.shapes[kind]
        for role, names, expected in (
            ("input", graph.inputs, self._list_inputs(part, shape)),
            ("output", graph.outputs, self._list_outputs(part, shape)),
        ):
            found = {name: tuple(graph.types[name].shape) for name in names}
            wrong = _find_difference(found, expected)
            if wrong:
                raise BadInput(f"{role} {wrong}", Where(file=str(file)), do="build the model again")

    def _list_inputs(self, part: Part, shape: GraphShape) -> _Shapes:
        spec, tokens = self._spec, shape.tokens
        positions = (1, 1, tokens, spec.rope.dims // 2)
        shared = {MASK: (1, 1, tokens, shape.context), COSINES: positions, SINES: positions}
        takes_tokens = part.is_first and self._manifest.embedding == INSIDE
        state: _Shapes = {name_state(part.layers.start): (1, tokens, spec.hidden)}
        return {
            **({TOKENS: (1, tokens)} if takes_tokens else state),
            **(shared if part.layers else {}),
            **self._list_states(part, PAST, shape.past),
        }

    def _list_outputs(self, part: Part, shape: GraphShape) -> _Shapes:
        rows = (1, shape.tokens)
        given = {name_state(part.layers.stop): (*rows, self._spec.hidden)}
        logits = {LOGITS: (*rows, self._spec.vocabulary)}
        return {**(logits if part.is_last else given), **self._list_states(part, PRESENT, shape.tokens)}

    def _list_states(self, part: Part, pattern: str, places: int) -> _Shapes:
        """Keys stand across, values along."""
        heads, values = self._spec.kv_heads, self._spec.head_dim
        shapes = ((heads, 1, values, places), (heads, 1, places, values))
        return {
            pattern.format(kind=kind, layer=layer): shape
            for layer in part.layers
            for kind, shape in zip(KINDS, shapes, strict=True)
            if places
        }


def _find_difference(found: Mapping[str, tuple[object, ...]], expected: Mapping[str, tuple[int, ...]]) -> str:
    """The first tensor that is not as it must be, in words; empty where all are."""
    for name, shape in expected.items():
        if name not in found:
            return f"'{name}' is missing"
        if found[name] != shape:
            return f"'{name}' is {shown(list(found[name]))}, expected {list(shape)}"
    return next((f"'{shown(name)}' is not expected" for name in found if name not in expected), "")

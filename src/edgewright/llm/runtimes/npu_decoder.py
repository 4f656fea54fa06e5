"""A language model built for the NPU: on its emulator, on the simulation, or on the CPU."""

from pathlib import Path

import numpy as np

from edgewright.backends.base import RunOptions, Session
from edgewright.backends.registry import find_backend
from edgewright.core.errors import BadInput, Where
from edgewright.core.files import map_file
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.llm.load.config import read_model_spec
from edgewright.llm.npu.check_graph import check_graph
from edgewright.llm.npu.decoder_graph import EMBEDDINGS, LOGITS, TOKENS, name_state
from edgewright.llm.npu.feed import TextState
from edgewright.llm.npu.genie import TABLE
from edgewright.llm.npu.manifest import DECODE, PREFILL, Part, read_manifest
from edgewright.model.saving import load_graph
from edgewright.model.surface import Surface


class _ReadyGraph:
    """A graph on a backend, whose states stay the integers that they are stored as."""

    def __init__(self, graph: Graph, backend: str, extra: tuple[str, ...] = ()) -> None:
        self.graph = graph
        self._surface = Surface(graph)
        options = RunOptions(extra_outputs=extra)
        self._session: Session = find_backend(backend).prepare(graph, options)

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        given = {name: inputs[name] for name in self.graph.inputs}
        outputs = self._session.run(self._surface.encode_inputs(given))
        if LOGITS in outputs:
            outputs[LOGITS] = self.decode(LOGITS, outputs[LOGITS])
        return outputs

    def decode(self, name: str, values: Array) -> Array:
        encoding = self.graph.types[name].encoding
        return values if encoding is None else encoding.decode(values)


class NpuDecoder:
    """The graphs of all parts, and the keys and values of the tokens so far.

    Args:
        path: what `edgewright llm build` wrote.
        backend: htp-sim, htp-native or cpu.
    """

    def __init__(self, path: Path, backend: str) -> None:
        self._folder, self._backend = path, backend
        self._spec, self._manifest = read_model_spec(path), read_manifest(path)
        self._parts = self._manifest.list_parts()
        if sum(self._manifest.parts) != self._spec.layers:
            raise BadInput(
                f"its parts have {sum(self._manifest.parts)} layers, config.json says {self._spec.layers}",
                Where(file=str(path)),
                do="build the model again",
            )
        self._ready: dict[str, _ReadyGraph] = {}
        self._graphs: dict[str, Graph] = {}
        self._limited = self._kept = 0
        self._known, self._state = np.zeros(0, np.int64), self._start(is_long=False)

    def get_room(self) -> int:
        """Tokens that the graphs look back on."""
        return self._manifest.context

    def reset(self) -> None:
        """Forgets all tokens."""
        self._limited, self._kept = self._count_limited()
        self._known, self._state = np.zeros(0, np.int64), self._start(is_long=False)

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens."""
        if self._must_turn_anew(len(tokens)):
            # Keys of a long text are turned by other angles: all of them are made anew.
            known, self._state = self._known, self._start(is_long=True)
            self._run_pieces(known)
        self._known = np.concatenate([self._known, tokens])
        return self._run_pieces(tokens)

    def get_limit_share(self) -> float:
        """The share of keys and values so far, of all texts, that are at an end of their range."""
        limited, kept = self._count_limited()
        return limited / max(kept, 1)

    def list_states(self) -> list[Array]:
        """Keys and values of all layers for the tokens so far, as they are stored."""
        return self._state.list_states()

    def trace(self, tokens: Array) -> dict[str, Array]:
        """The state after each layer, and the logits, of a new text that one run takes."""
        count = min(len(tokens), self._manifest.prefill)
        values = self._start(is_long=False).feed(tokens[:count], self._manifest.shapes[PREFILL])
        traced: dict[str, Array] = {}
        for part in self._parts:
            graph = self._find_graph(part, PREFILL)
            states = [name_state(number + 1) for number in part.layers]
            inner = tuple(name for name in states if name not in graph.outputs)
            ready = _ReadyGraph(graph, self._backend, inner)
            values |= self._read_embeddings(values, graph)
            values |= ready.run(values)
            traced |= {name: ready.decode(name, values[name])[0, -count:] for name in states}
        return traced | {LOGITS: values[LOGITS][0, -count:]}

    def _run_pieces(self, tokens: Array) -> Array:
        logits, start = [np.zeros((0, self._spec.vocabulary), np.float32)], 0
        while start < len(tokens):
            kind = self._choose_kind(len(tokens) - start)
            piece = tokens[start : start + self._manifest.shapes[kind].tokens]
            logits.append(self._run(kind, piece))
            start += len(piece)
        return np.concatenate(logits)

    def _run(self, kind: str, tokens: Array) -> Array:
        """All parts, one after another."""
        values = self._state.feed(tokens, self._manifest.shapes[kind])
        values |= self._read_embeddings(values, self._find_graph(self._parts[0], kind))
        for part in self._parts:
            values |= self._open(part, kind).run(values)
        self._state.take(values, len(tokens))
        return np.asarray(values[LOGITS][0, -len(tokens) :], np.float32)

    def _count_limited(self) -> tuple[int, int]:
        """Keys and values at an end of their range, and all, with those of earlier texts.

        Values beyond their range are cut off there: they must be few.
        """
        limited, kept = self._limited, self._kept
        for states in self._state.list_states():
            kept += states.size
            if states.dtype.kind == "u":
                is_limited = (states == 0) | (states == np.iinfo(states.dtype).max)
                limited += int(np.count_nonzero(is_limited))
        return limited, kept

    def _must_turn_anew(self, count: int) -> bool:
        """Whether LongRoPE's other factors are needed from here on."""
        rope, length = self._spec.rope, len(self._known)
        limit = rope.original_context
        return bool(rope.short_factors) and length <= limit < length + count

    def _start(self, *, is_long: bool) -> TextState:
        rope, context = self._spec.rope, self._manifest.context
        is_short = bool(rope.short_factors) and not is_long
        length = min(context, rope.original_context) if is_short else context
        return TextState(self._spec, context, self._encode, length)

    def _encode(self, name: str, values: Array) -> Array:
        """Real numbers as the graphs store them; all have the same encoding by that name."""
        graphs = (self._find_graph(part, DECODE) for part in self._parts)
        stored = next((graph.types[name] for graph in graphs if name in graph.types), None)
        if stored is None or stored.encoding is None:
            return values
        return stored.encoding.encode(values, stored.dtype)

    def _read_embeddings(self, values: dict[str, Array], graph: Graph) -> dict[str, Array]:
        """Rows of the table, where it is outside and this graph takes them."""
        is_taken = EMBEDDINGS in graph.inputs
        return {EMBEDDINGS: self._look_up(values[TOKENS], graph)} if is_taken else {}

    def _look_up(self, tokens: Array, first: Graph) -> Array:
        size = 2 * self._spec.vocabulary * self._spec.hidden
        table = map_file(self._folder / TABLE)
        if len(table) != size:
            raise BadInput(
                f"the table has {len(table)} bytes, expected {size}", Where(file=str(self._folder / TABLE))
            )
        rows = np.frombuffer(table, "<u2").reshape(self._spec.vocabulary, self._spec.hidden)
        return np.asarray(rows[tokens[0]][None], first.types[EMBEDDINGS].dtype.numpy)

    def _choose_kind(self, count: int) -> str:
        """Many tokens at once where that graph still looks back on all of the text."""
        sees_all = self._state.length <= self._manifest.shapes[PREFILL].past
        return PREFILL if count > 1 and sees_all else DECODE

    def _find_graph(self, part: Part, kind: str) -> Graph:
        name = part.name(kind)
        if name not in self._graphs:
            file = self._folder / f"{name}.dlc"
            graph = load_graph(file)
            check_graph(graph, self._spec, self._manifest, part, kind, str(file))
            self._graphs[name] = graph
        return self._graphs[name]

    def _open(self, part: Part, kind: str) -> _ReadyGraph:
        name = part.name(kind)
        if name not in self._ready:
            self._ready[name] = _ReadyGraph(self._find_graph(part, kind), self._backend)
        return self._ready[name]

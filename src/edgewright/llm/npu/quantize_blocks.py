"""A model in fixed point, block after block: prefill and decode with the same codes and encodings."""

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.artifacts.encodings import load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.llm.forward import normalize
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.npu.array_store import ArrayStore, RowTable
from edgewright.llm.npu.calibration_run import CalibrationRun, Sample
from edgewright.llm.npu.decoder_graph import (
    COSINES,
    EMBEDDINGS,
    KINDS,
    LOGITS,
    MASK,
    NORMAL,
    PAST,
    PRESENT,
    SINES,
    BlockGraph,
    name_state,
)
from edgewright.llm.npu.feed import HIDDEN
from edgewright.llm.npu.manifest import GraphShape
from edgewright.llm.npu.matrices import (
    HeadPiece,
    Tensor,
    decode,
    describe_codes,
    describe_layer,
    list_layer_weights,
)
from edgewright.llm.rounding.codes import Codes
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model
from edgewright.model.quantize import QuantizedModel, quantize_part
from edgewright.quantize.request import QuantizationRequest

ACTIVATION_BITS = 16
VERSION = "2.0.0"
Entry = dict[str, Any]


@dataclass(frozen=True)
class QuantizedBlock:
    """A block for each kind of run, and the encodings that its tensors have in all of them."""

    graphs: dict[str, Graph]
    # A file: scales of many blocks are large.
    encodings: Path


class BlockQuantizer:
    """Quantizes blocks in the order of the model: what one gives has the encoding in which the next takes it.

    Args:
        spec: the model.
        shapes: of the graphs to make, by the kind of run.
        calibration: the shape in which texts show ranges.
        kv_bits: of keys and values.
        store: where weights are kept.
    """

    def __init__(
        self,
        spec: ModelSpec,
        shapes: Mapping[str, GraphShape],
        calibration: GraphShape,
        kv_bits: int,
        store: ArrayStore,
    ) -> None:
        self._spec, self._shapes, self._calibration = spec, shapes, calibration
        self._kv_bits, self._store = kv_bits, store
        reach = spec.rope.attention_factor
        self._entries = {MASK: describe_range(MASK, HIDDEN, 0.0)}
        self._entries |= {name: describe_range(name, -reach, reach) for name in (COSINES, SINES)}

    def find_entry(self, name: str) -> Entry:
        """The encoding of a tensor between blocks."""
        return self._entries[name]

    def measure_embedding(self, table: RowTable) -> None:
        """Chooses the encoding of embeddings: it holds every word."""
        ranges = [(float(rows.min()), float(rows.max())) for rows in table.iterate()]
        lows, highs = zip(*ranges, strict=True)
        self._entries[EMBEDDINGS] = describe_range(EMBEDDINGS, min(lows), max(highs))

    def quantize_embedding(self, table: RowTable) -> QuantizedBlock:
        """The table within the graph, in the encoding of what it gives."""
        values = np.concatenate(list(table.iterate()))
        entry = self._entries[EMBEDDINGS]

        def make(block: BlockGraph) -> None:
            block.look_up_tokens(values)

        return self._quantize_all(make, [entry, entry | {"name": "embed_tokens"}])

    def quantize_layer(
        self, number: int, tensors: Mapping[str, Tensor], texts: CalibrationRun
    ) -> QuantizedBlock:
        """A layer by what the texts show of it; their states are those after it then."""

        def make(block: BlockGraph) -> None:
            # Each time anew: values take eight times the memory of codes.
            block.add_layer(number, list_layer_weights(self._spec, number, tensors))

        entries = [*describe_layer(self._spec, number, tensors)]
        entries += [self._entries[name] for name in (name_state(number), MASK, COSINES, SINES)]
        plain = self._open(make, self._calibration)
        # A model of its own: what runs it is gone before the next is made.
        samples = texts.run_layer(number, Model.of(plain.fixed_graph()))
        measured = self._measure(plain, entries, samples)
        del plain, samples
        return self._quantize_all(make, self._share_states(measured, number), [name_state(number + 1)])

    def quantize_norm(self, gain: Array, texts: CalibrationRun) -> QuantizedBlock:
        """The norm before the head."""
        last = name_state(self._spec.layers)

        def make(block: BlockGraph) -> None:
            block.normalize_last(gain)

        plain = self._open(make, self._calibration)
        samples = [{last: state} for state in texts.list_states()]
        return self._quantize_all(make, self._measure(plain, [self._entries[last]], samples), [NORMAL])

    def measure_logits(
        self, pieces: Sequence[HeadPiece], table: RowTable, gain: Array, texts: CalibrationRun
    ) -> None:
        """Chooses the encoding of logits, the same for all words."""
        states = np.concatenate([state[0] for state in texts.list_states()])
        normals = normalize(states, gain, self._spec.norm_epsilon)
        lows, highs = [], []
        for piece in pieces:
            rows = decode(table.read(piece.rows))
            for start in range(0, len(normals), self._calibration.tokens):
                logits = normals[start : start + self._calibration.tokens] @ rows.T
                lows.append(float(logits.min()))
                highs.append(float(logits.max()))
        for name in {LOGITS, *(piece.logits for piece in pieces)}:
            self._entries[name] = describe_range(name, min(lows), max(highs))

    def quantize_head(self, piece: HeadPiece, rows: Tensor) -> QuantizedBlock:
        """Some words of the head."""

        def make(block: BlockGraph) -> None:
            block.add_head(piece, decode(rows))

        entries = [self._entries[NORMAL], self._entries[piece.logits]]
        codes = [describe_codes(piece.matrix, rows)] if isinstance(rows, Codes) else []
        return self._quantize_all(make, [*entries, *codes])

    def quantize_join(self, pieces: Sequence[HeadPiece]) -> QuantizedBlock:
        """The logits of all words side by side."""

        def make(block: BlockGraph) -> None:
            block.join_logits(pieces)

        names = [LOGITS, *(piece.logits for piece in pieces)]
        return self._quantize_all(make, [self._entries[name] for name in names])

    def _measure(self, plain: Model, entries: Iterable[Entry], samples: list[Sample]) -> list[Entry]:
        measured: list[Entry] = _quantize(plain, entries, samples).encodings(VERSION)["encodings"]
        return measured

    def _quantize_all(
        self, make: Callable[[BlockGraph], None], entries: Sequence[Entry], learned: Sequence[str] = ()
    ) -> QuantizedBlock:
        """Every tensor has the same encoding in graphs of all shapes: states pass as they are."""
        self._entries |= {entry["name"]: entry for entry in entries if entry["name"] in learned}
        graphs, encodings = {}, Path()
        for kind, shape in self._shapes.items():
            model = _quantize(self._open(make, shape), entries, None)
            encodings = self._store.keep_record(model.encodings())
            graphs[kind] = self._store.keep_constants(model.fixed_graph())
            del model
            # What runs and describes models knows itself in rings, which hold weights until they are found.
            gc.collect()
        return QuantizedBlock(graphs, encodings)

    def _open(self, make: Callable[[BlockGraph], None], shape: GraphShape) -> Model:
        block = BlockGraph(self._spec, shape)
        make(block)
        return open_any_model(block.make_model("block"))

    def _share_states(self, entries: Sequence[Entry], layer: int) -> list[Entry]:
        """What a run gives for its tokens is what a later one takes for them, integer by integer."""
        by_name = {entry["name"]: entry for entry in entries}
        for kind in KINDS:
            made, taken = (pattern.format(kind=kind, layer=layer) for pattern in (PRESENT, PAST))
            entry = narrow_entry(by_name[made], self._kv_bits)
            for name in (made, taken, f"layer{layer}.all_{kind}s"):
                by_name[name] = entry | {"name": name}
        return list(by_name.values())


def _quantize(model: Model, entries: Iterable[Entry], samples: list[Sample] | None) -> QuantizedModel:
    overrides = load_encodings({"version": VERSION, "encodings": list(entries)})
    request = QuantizationRequest(
        act_bw=ACTIVATION_BITS, act_quantizer="tf", overrides=overrides, uniform=True
    )
    return quantize_part(model, request, samples, CpuExecutor(0))


def describe_range(name: str, low: float, high: float, bits: int = ACTIVATION_BITS) -> Entry:
    """The encoding of a tensor that lies between two values; 0 is one of its steps."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32(max(high - low, 1e-6) / ((1 << bits) - 1)))
    return {
        "name": name,
        "output_dtype": f"uint{bits}",
        "y_scale": scale,
        "y_zero_point": round(-low / scale),
    }


def narrow_entry(entry: Entry, bits: int) -> Entry:
    """The same range in so many bits."""
    if entry["output_dtype"] == f"uint{bits}":
        return entry
    scale, zero = entry["y_scale"], entry.get("y_zero_point", 0)
    steps = (1 << int(entry["output_dtype"].removeprefix("uint"))) - 1
    return describe_range(entry["name"], -zero * scale, (steps - zero) * scale, bits)

"""From a checkpoint to the graphs of all parts, one layer in memory at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.llm.load.checkpoint import EMBEDDING, FINAL_NORM, Checkpoint
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.npu.array_store import ArrayStore, RowTable, join_pieces, release_pages
from edgewright.llm.npu.calibration_run import CalibrationRun
from edgewright.llm.npu.decoder_graph import EMBEDDINGS
from edgewright.llm.npu.join_graphs import join_graphs
from edgewright.llm.npu.manifest import INSIDE, PREFILL, GraphShape, Manifest, Part
from edgewright.llm.npu.matrices import cut_head
from edgewright.llm.npu.merge_encodings import iterate_merged
from edgewright.llm.npu.quantize_blocks import BlockQuantizer, Entry, QuantizedBlock
from edgewright.llm.quantize_checkpoint import Quantized, quantize_checkpoint
from edgewright.llm.recipe import Recipe
from edgewright.llm.rounding.codes import Codes

# Texts that show the ranges of activations: fewer let rare values saturate.
MOST_TEXTS = 32
# Tokens that they look back on, at least; the ranges do not depend on how long a context is.
CALIBRATION_CONTEXT = 256
LAYER = "model.layers."


@dataclass
class MadeModel:
    """What was made of a checkpoint: blocks by where they stand, their encodings, the embeddings."""

    spec: ModelSpec
    table: RowTable
    embedding: Entry
    blocks: dict[int, list[QuantizedBlock]] = field(default_factory=dict)

    def iterate_encodings(self) -> Iterator[bytes]:
        """A JSON file of all encodings, as AIMET writes them; one block is in memory at a time."""
        files = [block.encodings for number in sorted(self.blocks) for block in self.blocks[number]]
        return iterate_merged(files)

    def join_part(self, part: Part, kind: str) -> Graph:
        """A graph of a part."""
        numbers = [*part.layers, *([self.spec.layers] if part.is_last else [])]
        numbers = [-1, *numbers] if part.is_first else numbers
        graphs = [block.graphs[kind] for number in numbers for block in self.blocks.get(number, [])]
        return join_graphs(part.name(kind), graphs)

    def release_weights(self) -> None:
        """Gives back the memory in which weights were read."""
        for block in (block for blocks in self.blocks.values() for block in blocks):
            for array in (array for graph in block.graphs.values() for array in graph.constants.values()):
                release_pages(array)


def make_model(
    checkpoint: Checkpoint, manifest: Manifest, recipe: Recipe, texts: Sequence[Array], folder: Path
) -> MadeModel:
    """Quantizes a checkpoint into blocks, whose weights are in files of a folder."""
    spec, store = checkpoint.spec, ArrayStore(folder)
    shape = _choose_calibration(manifest)
    quantizer = BlockQuantizer(spec, manifest.shapes, shape, manifest.kv_bits, store)
    groups = _group_tensors(quantize_checkpoint(checkpoint, recipe, texts), store)
    table = next(groups)[EMBEDDING]
    assert isinstance(table, RowTable)
    quantizer.measure_embedding(table)
    made = MadeModel(spec, table, quantizer.find_entry(EMBEDDINGS))
    if manifest.embedding == INSIDE:
        made.blocks[-1] = [quantizer.quantize_embedding(table)]
    run = CalibrationRun(spec, shape, texts[:MOST_TEXTS], table)
    for number in range(spec.layers):
        made.blocks[number] = [quantizer.quantize_layer(number, next(groups), run)]
    made.blocks[spec.layers] = list(_make_head(checkpoint, quantizer, next(groups), made, run))
    return made


def _make_head(
    checkpoint: Checkpoint,
    quantizer: BlockQuantizer,
    tensors: dict[str, Any],
    made: MadeModel,
    run: CalibrationRun,
) -> Iterator[QuantizedBlock]:
    gain, pieces = tensors[FINAL_NORM], cut_head(checkpoint.spec)
    rows = made.table if checkpoint.spec.is_tied else tensors[checkpoint.head]
    yield quantizer.quantize_norm(gain, run)
    quantizer.measure_logits(pieces, rows, gain, run)
    for piece in pieces:
        yield quantizer.quantize_head(piece, rows.read(piece.rows))
    if len(pieces) > 1:
        yield quantizer.quantize_join(pieces)


def _choose_calibration(manifest: Manifest) -> GraphShape:
    """A short context: long ones would be empty places for the most part."""
    shape = manifest.shapes[PREFILL]
    return GraphShape(shape.tokens, min(shape.context, max(CALIBRATION_CONTEXT, 2 * shape.tokens)))


def _group_tensors(tensors: Iterator[Quantized], store: ArrayStore) -> Iterator[dict[str, Any]]:
    """The embedding, each layer, and what comes after the last."""
    for key, group in groupby(tensors, key=lambda tensor: _find_group(tensor.name)):
        if key.startswith(LAYER):
            yield {tensor.name: join_pieces(list(tensor.pieces)) for tensor in group}
        else:
            yield {tensor.name: _read_table(tensor, store) for tensor in group}


def _find_group(name: str) -> str:
    if name == EMBEDDING:
        return name
    return ".".join(name.split(".")[:3]) if name.startswith(LAYER) else "head"


def _read_table(tensor: Quantized, store: ArrayStore) -> RowTable | Array:
    pieces = [store.keep_tensor(piece) for piece in tensor.pieces]
    first = pieces[0]
    return first if not isinstance(first, Codes) and first.ndim == 1 else RowTable(pieces)

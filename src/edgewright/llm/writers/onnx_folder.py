"""A language model as a folder for ONNX Runtime and ONNX Runtime GenAI."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from onnx import helper

from edgewright.core.files import write_folder
from edgewright.core.numbers import Array
from edgewright.core.version import VERSION
from edgewright.llm.load.checkpoint import EMBEDDING, Checkpoint
from edgewright.llm.load.spec import SHORT_CONTEXT, ModelSpec
from edgewright.llm.quantize_checkpoint import Quantized, quantize_checkpoint
from edgewright.llm.recipe import Recipe
from edgewright.llm.rotary import make_rotary_tables
from edgewright.llm.writers.companions import list_companions, make_genai_config
from edgewright.llm.writers.onnx_graph import COSINES, RUNTIME, SINES, DecoderGraph
from edgewright.llm.writers.onnx_weights import ExternalWeights, add_matrix

MODEL, DATA, SETTINGS = "model.onnx", "model.onnx.data", "genai_config.json"
OPSET, RUNTIME_OPSET, IR_VERSION = 21, 1, 10


def write_onnx(checkpoint: Checkpoint, recipe: Recipe, path: Path, texts: Sequence[Array] = ()) -> None:
    """Quantizes a checkpoint into a folder."""
    writer = _OnnxModel(checkpoint, recipe.widen_ends(checkpoint.head, "onnx"))
    # In this order: the model names the places that the weights got.
    write_folder(
        path,
        {
            DATA: writer.iterate_weights(texts),
            MODEL: writer.iterate_model(),
            SETTINGS: [make_genai_config(checkpoint.spec, MODEL)],
            **list_companions(checkpoint.folder),
        },
    )


class _OnnxModel:
    def __init__(self, checkpoint: Checkpoint, recipe: Recipe) -> None:
        self._checkpoint, self._recipe = checkpoint, recipe
        self._weights = ExternalWeights(DATA)
        self._graph = DecoderGraph(checkpoint.spec, recipe)
        self._graph.build()

    def iterate_weights(self, texts: Sequence[Array]) -> Iterator[bytes]:
        """The bytes of all weights, each made when it is written."""
        for name, array in list_rotary_tables(self._checkpoint.spec).items():
            yield from self._weights.add(name, array)
        for tensor in quantize_checkpoint(self._checkpoint, self._recipe, texts):
            yield from self._add(tensor)

    def iterate_model(self) -> Iterator[bytes]:
        """The model, once all weights have their places."""
        graph = self._graph
        main = helper.make_graph(
            graph.nodes,
            self._checkpoint.spec.architecture,
            graph.list_inputs(),
            graph.list_outputs(),
            [*self._weights.initializers, *graph.constants],
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, RUNTIME_OPSET)]
        model = helper.make_model(
            main,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="edgewright",
            producer_version=VERSION,
        )
        short = self._checkpoint.spec.rope.short_context
        helper.set_model_props(model, {} if short is None else {SHORT_CONTEXT: str(short)})
        yield model.SerializeToString(deterministic=True)

    def _add(self, tensor: Quantized) -> Iterator[bytes]:
        shape = self._checkpoint.find(tensor.name).shape
        grid = self._recipe.find_grid(tensor.name) if len(shape) == 2 else None
        if grid is not None:
            yield from add_matrix(self._weights, tensor, (shape[0], shape[1]), grid)
            self._name_rows(tensor.name, (shape[0], shape[1] * grid.bits // 8))
            return
        is_half = len(shape) == 2 and self._recipe.find_precision(tensor.name) == "fp16"
        dtype = np.dtype(np.float16 if is_half else np.float32)
        pieces = (np.asarray(piece, dtype) for piece in tensor.pieces)
        yield from self._weights.add_pieces(tensor.name, dtype.name, shape, pieces)

    def _name_rows(self, name: str, shape: tuple[int, int]) -> None:
        """Rows are looked up in the bytes that a tied head multiplies with, in another shape."""
        if name == EMBEDDING:
            self._weights.share(f"{name}.rows", f"{name}.codes", shape, keep=self._checkpoint.spec.is_tied)


def list_rotary_tables(spec: ModelSpec) -> dict[str, Array]:
    """Cosines and sines of every position that a text may have."""
    lengths = {"": spec.context}
    if spec.rope.short_factors:
        original = min(spec.rope.original_context, spec.context)
        lengths = {".short": original, ".long": max(spec.context, spec.rope.original_context + 1)}
    tables: dict[str, Array] = {}
    for suffix, length in lengths.items():
        cosines, sines = make_rotary_tables(spec, length)
        tables |= {f"{COSINES}{suffix}": cosines, f"{SINES}{suffix}": sines}
    return tables

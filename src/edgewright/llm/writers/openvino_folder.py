"""A language model as a folder for OpenVINO and OpenVINO GenAI."""

import logging
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.files import find_existing_folder, write_folder
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.load.config import CONFIG
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.quantize_checkpoint import Quantized, quantize_checkpoint
from edgewright.llm.recipe import FLOAT_ACTIVATIONS, INT8_ACTIVATIONS, Recipe
from edgewright.llm.rounding.codes import Codes, Grid, pack_bytes
from edgewright.llm.writers.companions import list_companions
from edgewright.llm.writers.openvino_graph import OpenvinoDecoder
from edgewright.llm.writers.openvino_tokenizer import spell_settings, write_tokenizer_models

log = logging.getLogger(__name__)
MODEL, DATA = "openvino_model.xml", "openvino_model.bin"
# Values of an activation that share a scale when they are rounded; 0: they are not.
ACTIVATION_GROUPS = {INT8_ACTIVATIONS: "32", FLOAT_ACTIVATIONS: "0"}
# Where a model says what its weights are in.
PRECISION_PLACE = ("edgewright", "precision")
# Of a file that is copied at a time.
CHUNK = 1 << 24


def write_openvino(checkpoint: Checkpoint, recipe: Recipe, path: Path, texts: Sequence[Array] = ()) -> None:
    """Quantizes a checkpoint into a folder."""
    _tell_of_factors(checkpoint.spec)
    # Before minutes of work: the settings may be no JSON.
    settings = spell_settings(checkpoint.folder)
    model = _make_model(checkpoint, recipe.widen_ends(checkpoint.head), texts)
    ground = find_existing_folder(path.resolve().parent)
    with tempfile.TemporaryDirectory(prefix=f".{path.name[:64]}.", dir=ground) as part:
        # OpenVINO writes files by their names only.
        require("openvino", to="write OpenVINO models").serialize(model, Path(part, MODEL), Path(part, DATA))
        write_tokenizer_models(checkpoint.folder, Path(part))
        write_folder(
            path,
            {
                **{file.name: _iterate_file(file) for file in sorted(Path(part).iterdir())},
                CONFIG: [(checkpoint.folder / CONFIG).read_bytes()],
                **list_companions(checkpoint.folder),
                **settings,
            },
        )


def _tell_of_factors(spec: ModelSpec) -> None:
    """What happens to a text that grows beyond LongRoPE's original context."""
    short = spec.rope.short_context
    if short is not None and short < spec.context:
        log.warning(
            "OpenVINO GenAI keeps the keys of a text that grows beyond %d tokens as the short factors made "
            "them; `edgewright llm run` and `chat` read the text anew there",
            short,
        )


def _make_model(checkpoint: Checkpoint, recipe: Recipe, texts: Sequence[Array]) -> Any:
    factory = _Constants()
    weights = {}
    for tensor in quantize_checkpoint(checkpoint, recipe, texts):
        is_matrix = len(checkpoint.find(tensor.name).shape) == 2
        is_half = is_matrix and recipe.find_precision(tensor.name) == "fp16"
        weights[tensor.name] = factory.make(tensor, "float16" if is_half else "float32")
    model = OpenvinoDecoder(checkpoint.spec, weights).build()
    model.set_rt_info(recipe.width, list(PRECISION_PLACE))
    if recipe.activations:
        group = ACTIVATION_GROUPS[recipe.activations]
        model.set_rt_info(group, ["runtime_options", "DYNAMIC_QUANTIZATION_GROUP_SIZE"])
    return model


class _Constants:
    """Nodes that give the weights in single precision, whatever they are stored in."""

    def __init__(self) -> None:
        self._ov = require("openvino", to="write OpenVINO models")
        self._ops = self._ov.opset13

    def make(self, tensor: Quantized, dtype: str) -> Any:
        """The node of a tensor."""
        pieces = list(tensor.pieces)
        codes = [piece for piece in pieces if isinstance(piece, Codes)]
        if codes:
            return self._decode(codes)
        values = np.concatenate([np.asarray(piece, dtype) for piece in pieces])
        return self._widen(self._ops.constant(values)) if dtype == "float16" else self._ops.constant(values)

    def _decode(self, pieces: Sequence[Codes]) -> Any:
        """Codes, less their zero points, times their scales, block by block."""
        ops, grid = self._ops, pieces[0].grid
        nesting = grid.nesting
        # Multiples of units in single precision are no numbers of half precision.
        dtype = "float16" if nesting is None or nesting.is_half else "float32"
        scales = np.concatenate([piece.scales for piece in pieces]).astype(dtype)
        rows, blocks = scales.shape
        columns = pieces[0].codes.shape[1]
        shape = [rows, blocks, columns // blocks]
        packed = np.concatenate([pack_openvino_codes(piece) for piece in pieces])
        values = ops.convert(self._store(packed, shape, grid), "f16" if dtype == "float16" else "f32")
        if pieces[0].zeros is not None:
            zeros = np.concatenate([piece.zeros for piece in pieces if piece.zeros is not None])
            values = ops.subtract(values, ops.constant(zeros.astype(np.float16)[..., None]))
        values = ops.multiply(values, ops.constant(scales[..., None]))
        whole = ops.reshape(values, ops.constant(np.array([rows, columns], np.int64)), False)
        return self._widen(whole) if dtype == "float16" else whole

    def _store(self, packed: Array, shape: Sequence[int], grid: Grid) -> Any:
        kind = f"{'i' if grid.is_symmetric else 'u'}{grid.bits}"
        tensor = self._ov.Tensor(packed.reshape(-1), list(shape), getattr(self._ov.Type, kind))
        # The bytes are copied: the array that the tensor looks at does not live as long as the model.
        return self._ov.op.Constant(tensor, shared_memory=False)

    def _widen(self, values: Any) -> Any:
        return self._ops.convert(values, "f32")


def pack_openvino_codes(codes: Codes) -> Array:
    """As ONNX has them, but signed where codes are symmetric."""
    if codes.grid.bits == 8:
        return codes.codes.view(np.uint8)
    return pack_bytes(codes) ^ np.uint8(0x88 if codes.grid.is_symmetric else 0)


def _iterate_file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk

"""A language model as plain safetensors for PyTorch: what the codes stand for, in floats."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.files import read_limited, write_folder
from edgewright.core.numbers import Array
from edgewright.llm.load.checkpoint import SINGLE, Checkpoint
from edgewright.llm.load.config import CONFIG, LARGEST_CONFIG
from edgewright.llm.quantize_checkpoint import list_tensor_names, quantize_checkpoint
from edgewright.llm.recipe import Recipe
from edgewright.llm.rounding.codes import Codes
from edgewright.llm.safetensors_format import WrittenTensor, iterate_safetensors
from edgewright.llm.writers.companions import list_companions
from edgewright.llm.writers.weight_encodings import ENCODINGS, WeightEncodings


def write_safetensors(
    checkpoint: Checkpoint, recipe: Recipe, path: Path, texts: Sequence[Array] = ()
) -> None:
    """Quantizes a checkpoint into a folder that any framework reads, as large as a float one.

    The encodings of what QNN can hold (LPBQ, 8 bits with a scale for each row) are in a file beside.
    """
    is_lpbq = recipe.has_precision("lpbq")
    # QNN has no blocks of 8 bits.
    recipe = replace(recipe, block=0) if recipe.precision == "lpbq" else recipe
    recipe = recipe.widen_ends(checkpoint.head)
    dtype = "float32" if recipe.precision == "fp32" else "float16"
    tensors = [
        WrittenTensor(name, dtype, checkpoint.find(name).shape) for name in list_tensor_names(checkpoint)
    ]
    encodings = WeightEncodings()
    contents = _iterate_contents(checkpoint, recipe, texts, dtype, encodings if is_lpbq else None)
    write_folder(
        path,
        {
            SINGLE: iterate_safetensors(tensors, contents),
            CONFIG: [_make_config(checkpoint, dtype)],
            **({ENCODINGS: encodings.iterate_file()} if is_lpbq else {}),
            **list_companions(checkpoint.folder),
        },
    )


def _iterate_contents(
    checkpoint: Checkpoint,
    recipe: Recipe,
    texts: Sequence[Array],
    dtype: str,
    encodings: WeightEncodings | None,
) -> Iterator[Iterable[bytes]]:
    for tensor in quantize_checkpoint(checkpoint, recipe, texts):
        pieces = tensor.pieces if encodings is None else encodings.watch(tensor)
        values = (piece.decode() if isinstance(piece, Codes) else piece for piece in pieces)
        yield (np.asarray(part, dtype).tobytes() for part in values)


def _make_config(checkpoint: Checkpoint, dtype: str) -> bytes:
    config: dict[str, Any] = json.loads(read_limited(checkpoint.folder / CONFIG, LARGEST_CONFIG))
    return json.dumps({**config, "torch_dtype": dtype}, indent=2).encode() + b"\n"

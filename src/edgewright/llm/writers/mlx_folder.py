"""A language model as a folder for mlx-lm: codes in words of 32 bits, blocks with scales and biases."""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import UnsupportedFeature
from edgewright.core.files import read_limited, write_folder
from edgewright.core.numbers import Array
from edgewright.llm.load.checkpoint import SINGLE, Checkpoint
from edgewright.llm.load.config import CONFIG, LARGEST_CONFIG
from edgewright.llm.load.spec import RopeSpec
from edgewright.llm.quantize_checkpoint import Quantized, list_tensor_names, quantize_checkpoint
from edgewright.llm.recipe import Recipe
from edgewright.llm.rotary import list_factors
from edgewright.llm.rounding.codes import Codes, Grid
from edgewright.llm.safetensors_format import WrittenTensor, iterate_safetensors
from edgewright.llm.writers.companions import list_companions

log = logging.getLogger(__name__)
BLOCKS = (32, 64, 128)
WORD = 32


def write_mlx(checkpoint: Checkpoint, recipe: Recipe, path: Path, texts: Sequence[Array] = ()) -> None:
    """Quantizes a checkpoint into a folder."""
    writer = _MlxModel(checkpoint, recipe.widen_ends(checkpoint.head))
    write_folder(
        path,
        {
            SINGLE: iterate_safetensors(writer.list_tensors(), writer.iterate_contents(texts), "mlx"),
            CONFIG: [writer.make_config()],
            **list_companions(checkpoint.folder),
        },
    )


class _MlxModel:
    def __init__(self, checkpoint: Checkpoint, recipe: Recipe) -> None:
        self._checkpoint, self._recipe = checkpoint, recipe
        # Everything that is not a code is in one precision, which is that of the activations too.
        self._dtype = "float32" if recipe.precision == "fp32" else "float16"

    def list_tensors(self) -> list[WrittenTensor]:
        """In the order in which they are made."""
        return [
            tensor
            for name in list_tensor_names(self._checkpoint)
            for tensor in self._describe(name, self._checkpoint.find(name).shape)
        ]

    def iterate_contents(self, texts: Sequence[Array]) -> Iterator[Iterable[bytes]]:
        """The bytes of each tensor."""
        for tensor in quantize_checkpoint(self._checkpoint, self._recipe, texts):
            if self._find_grid(tensor.name) is None:
                yield (np.asarray(piece, self._dtype).tobytes() for piece in tensor.pieces)
            else:
                yield from self._pack(tensor)

    def make_config(self) -> bytes:
        """The checkpoint's own, and the widths of matrices."""
        path = self._checkpoint.folder / CONFIG
        config: dict[str, Any] = json.loads(read_limited(path, LARGEST_CONFIG))
        config["torch_dtype"] = self._dtype
        # Where nothing is said, mlx-lm takes other values than Hugging Face does.
        config["tie_word_embeddings"] = self._checkpoint.spec.is_tied
        config |= self._describe_positions()
        config.pop("rope_parameters", None)
        widths = self._list_widths()
        if widths:
            config["quantization"] = config["quantization_config"] = widths
        return json.dumps(config, indent=2).encode() + b"\n"

    def _describe_positions(self) -> dict[str, Any]:
        """In the dialect of transformers 4, which is all that mlx-lm reads for most architectures."""
        spec, rope = self._checkpoint.spec, self._checkpoint.spec.rope
        fields = {"rope_theta": rope.theta, "partial_rotary_factor": rope.dims / spec.head_dim}
        if rope.original_context:
            fields["original_max_position_embeddings"] = rope.original_context
        return {**fields, "rope_scaling": describe_scaling(rope, self._recipe.context or spec.context)}

    def _list_widths(self) -> dict[str, Any]:
        """The width of most, and of each one that differs; False stands for floats."""
        base = self._recipe.find_grid("*")
        names = [name for name in list_tensor_names(self._checkpoint) if self._is_matrix(name)]
        grids = {name.removesuffix(".weight"): self._find_grid(name) for name in names}
        if not any(grids.values()):
            return {}
        common = base or next(grid for grid in grids.values() if grid)
        others = {
            name: False if grid is None else _describe_grid(grid)
            for name, grid in grids.items()
            if grid != common
        }
        return {**_describe_grid(common), **others}

    def _is_matrix(self, name: str) -> bool:
        return len(self._checkpoint.find(name).shape) == 2

    def _find_grid(self, name: str) -> Grid | None:
        grid = self._recipe.find_grid(name) if self._is_matrix(name) else None
        if grid is not None and grid.block not in BLOCKS:
            raise UnsupportedFeature(
                f"MLX has no blocks of {grid.block or 'whole rows'}", do="choose --block 32, 64 or 128"
            )
        return grid

    def _describe(self, name: str, shape: tuple[int, ...]) -> list[WrittenTensor]:
        grid = self._find_grid(name)
        if grid is None:
            return [WrittenTensor(name, self._dtype, shape)]
        rows, columns = shape
        base, blocks = name.removesuffix(".weight"), columns // grid.find_block(columns)
        return [
            WrittenTensor(name, "uint32", (rows, columns * grid.bits // WORD)),
            WrittenTensor(f"{base}.scales", self._dtype, (rows, blocks)),
            WrittenTensor(f"{base}.biases", self._dtype, (rows, blocks)),
        ]

    def _pack(self, tensor: Quantized) -> Iterator[Iterable[bytes]]:
        scales: list[Array] = []
        biases: list[Array] = []

        def pack_pieces() -> Iterator[bytes]:
            for piece in tensor.pieces:
                assert isinstance(piece, Codes)
                scales.append(piece.scales)
                zeros = -piece.grid.lowest if piece.zeros is None else piece.zeros
                biases.append(-piece.scales * zeros)
                yield pack_words(piece).tobytes()

        yield pack_pieces()
        for parts in (scales, biases):
            yield [np.concatenate(parts).astype(self._dtype).tobytes()]


def describe_scaling(rope: RopeSpec, context: int) -> dict[str, Any] | None:
    """rope_scaling of config.json; of LongRoPE, mlx-lm takes the long factors for texts of every length."""
    if rope.short_factors:
        factors = list_factors(rope, context)
        if factors != rope.short_factors:
            log.warning(
                "mlx-lm takes the factors of long texts for all: those of up to %d tokens are answered "
                "otherwise than in PyTorch; --context %d writes their factors instead",
                *(rope.original_context, rope.original_context),
            )
        both = {"short_factor": list(rope.short_factors), "long_factor": list(factors)}
        return _name_scaling("longrope", rope, both)
    if rope.llama3:
        names = ("factor", "low_freq_factor", "high_freq_factor")
        return _name_scaling("llama3", rope, dict(zip(names, rope.llama3, strict=True)))
    return None if rope.linear_factor == 1 else _name_scaling("linear", rope, {"factor": rope.linear_factor})


def _name_scaling(kind: str, rope: RopeSpec, fields: dict[str, Any]) -> dict[str, Any]:
    original = {"original_max_position_embeddings": rope.original_context} if rope.original_context else {}
    return {"type": kind, "rope_type": kind, **original, **fields}


def pack_words(codes: Codes) -> Array:
    """Rows of words, the first code in the lowest bits."""
    values: Array = (codes.codes.astype(np.int16) - codes.grid.lowest).astype(np.uint8)
    if codes.grid.bits == 4:
        values = values[:, ::2] | values[:, 1::2] << 4
    return np.ascontiguousarray(values).view("<u4")


def _describe_grid(grid: Grid) -> dict[str, Any]:
    return {"group_size": grid.block, "bits": grid.bits, "mode": "affine"}

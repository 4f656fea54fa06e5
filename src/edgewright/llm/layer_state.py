"""Finished layers of a quantization, kept on disk: a run that was killed goes on where it was."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgewright.core.files import write_whole
from edgewright.core.numbers import Array
from edgewright.core.version import VERSION
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.load.safetensors_file import list_stored_tensors
from edgewright.llm.recipe import Recipe
from edgewright.llm.rounding.codes import Codes, Grid, Nested, pack_bytes
from edgewright.llm.safetensors_format import WrittenTensor, iterate_safetensors

# Counts changes of what is kept.
FORM = 2
ARRAYS = ("codes", "scales", "zeros")
NESTED = ("units", "steps", "minimum_units", "minimum_steps")


class LayerState:
    """The layers of one quantization: of this checkpoint, recipe and text, by this engine.

    Args:
        folder: where they are kept.
        key: what tells this quantization from all others.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._folder, self._key = folder, key

    def count_layers(self, texts: int) -> int:
        """How many are finished, with what they make of the texts."""
        count = 0
        while self._find("layer", count).is_file():
            count += 1
        while texts and count and not self._find("states", count - 1).is_file():
            count -= 1
        return count

    def read_layer(self, number: int, grids: Mapping[str, Grid | None]) -> dict[str, Codes | Array]:
        """The tensors of a layer."""
        stored = list_stored_tensors(self._find("layer", number))
        arrays = {name: np.array(tensor.read()) for name, tensor in stored.items()}
        return {name: _restore(name, grid, arrays) for name, grid in grids.items()}

    def read_states(self, number: int, texts: int) -> list[Array]:
        """What the texts are after a layer."""
        stored = list_stored_tensors(self._find("states", number))
        return [np.array(stored[str(text)].read()) for text in range(texts)]

    def write_layer(self, number: int, tensors: Mapping[str, Codes | Array], states: Sequence[Array]) -> None:
        """Keeps a layer; the states of the one before are not needed any more."""
        if states:
            _write_arrays(self._find("states", number), {str(n): state for n, state in enumerate(states)})
        arrays: dict[str, Array] = {}
        for name, piece in tensors.items():
            arrays |= _take_apart(name, piece)
        _write_arrays(self._find("layer", number), arrays)
        if number:
            self._find("states", number - 1).unlink(missing_ok=True)

    def _find(self, what: str, number: int) -> Path:
        return self._folder / f"{self._key}-{what}-{number:05}.safetensors"


def open_layer_state(
    checkpoint: Checkpoint, recipe: Recipe, texts: Sequence[Array], engine: str
) -> LayerState | None:
    """Where the recipe keeps layers; None where it does not."""
    if recipe.state is None:
        return None
    tokens = hashlib.sha256(b"".join(np.ascontiguousarray(text, np.int64).tobytes() for text in texts))
    source = checkpoint.source
    files = sorted(source.glob("*.safetensors")) if source.is_dir() else [source]
    facts = [
        FORM,
        VERSION,
        repr(replace(recipe, state=None)),
        repr(checkpoint.spec),
        [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files],
        tokens.hexdigest(),
        engine,
    ]
    return LayerState(recipe.state, hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16])


def name_state_folder(output: Path) -> Path:
    """Beside what is written."""
    return output.with_name(f".{output.name[:64]}.layers")


def remove_layer_state(folder: Path) -> None:
    """All that is kept there."""
    shutil.rmtree(folder, ignore_errors=True)


def _take_apart(name: str, piece: Codes | Array) -> dict[str, Array]:
    if not isinstance(piece, Codes):
        return {name: piece}
    fields = {field: getattr(piece, field) for field in ARRAYS}
    if piece.grid.bits == 4:
        fields["codes"] = pack_bytes(piece)
    if piece.nested is not None:
        fields |= {field: getattr(piece.nested, field) for field in NESTED}
    return {f"{name}:{field}": array for field, array in fields.items() if array is not None}


def _restore(name: str, grid: Grid | None, arrays: Mapping[str, Array]) -> Codes | Array:
    if grid is None:
        return arrays[name]
    codes, scales, zeros = (arrays.get(f"{name}:{field}") for field in ARRAYS)
    assert codes is not None
    assert scales is not None
    if grid.bits == 4:
        pairs = np.stack([codes & 15, codes >> 4], axis=-1).reshape(len(codes), -1)
        codes = (pairs.astype(np.int16) + grid.lowest).astype(np.int8 if grid.is_symmetric else np.uint8)
    units, steps, *minima = (arrays.get(f"{name}:{field}") for field in NESTED)
    nested = None if units is None or steps is None else Nested(units, steps, *minima)
    return Codes(grid, codes, scales, zeros, nested)


def _write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    tensors = [WrittenTensor(name, array.dtype.name, array.shape) for name, array in arrays.items()]
    contents = ([np.ascontiguousarray(array).data.cast("B")] for array in arrays.values())
    write_whole(path, iterate_safetensors(tensors, contents))

"""Encodings of weights for QNN's tools: of LPBQ, and of 8 bits with a scale for each row."""

import json
from collections.abc import Iterator

import numpy as np

from edgewright.artifacts.encodings.writer import describe_encodings
from edgewright.core.numbers import Array
from edgewright.llm.quantize_checkpoint import Piece, Quantized
from edgewright.llm.rounding.codes import LPBQ, ROWS_8, Codes, Grid
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding

ENCODINGS = "model.encodings"


class WeightEncodings:
    """Scales of matrices, noted while their rows pass by: a byte for each block of LPBQ."""

    def __init__(self) -> None:
        self._grids: dict[str, Grid] = {}
        self._units: dict[str, list[Array]] = {}
        self._steps: dict[str, list[Array]] = {}

    def watch(self, tensor: Quantized) -> Iterator[Piece]:
        """The pieces of a tensor."""
        for piece in tensor.pieces:
            if isinstance(piece, Codes) and piece.grid in {LPBQ, ROWS_8} and piece.nested is not None:
                self._grids[tensor.name] = piece.grid
                self._units.setdefault(tensor.name, []).append(piece.nested.units[:, 0])
                self._steps.setdefault(tensor.name, []).append(piece.nested.steps.astype(np.uint8))
            yield piece

    def iterate_file(self) -> Iterator[bytes]:
        """The file in version 1.0.0, one matrix at a time."""
        yield b'{"activation_encodings": [], "param_encodings": ['
        for place, name in enumerate(self._grids):
            described = describe_encodings(EncodingSet((self._make_entry(name),)))["param_encodings"]
            yield (",\n" if place else "\n").encode() + json.dumps(described[0]).encode()
        yield b'\n], "version": "1.0.0"}\n'

    def _make_entry(self, name: str) -> TensorEncoding:
        grid, units = self._grids[name], np.concatenate(self._units[name])
        factors = np.concatenate(self._steps[name]).reshape(-1).tolist() if grid == LPBQ else ()
        return TensorEncoding(
            name,
            grid.bits,
            is_param=True,
            scales=tuple(units.astype(float).tolist()),
            offsets=(grid.lowest,) * len(units),
            is_symmetric=True,
            is_signed=True,
            block_size=grid.block,
            block_scales=tuple(factors),
            expanded_bits=2 * grid.bits if factors else 0,
        )

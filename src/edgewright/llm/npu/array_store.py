"""Large arrays in files, so that memory holds only what is at hand."""

import hashlib
import json
import mmap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.llm.npu.matrices import Tensor, decode
from edgewright.llm.rounding.codes import Codes, join_codes, pick_rows

# Smaller arrays stay in memory.
SMALLEST = 1 << 16


class ArrayStore:
    """Arrays by their content: what two graphs share is kept once.

    Args:
        folder: where the files are; it is the caller's to remove.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, array: Array) -> Array:
        """The array as a view of a file."""
        if array.nbytes < SMALLEST:
            return array
        whole = np.ascontiguousarray(array)
        content = whole.reshape(-1).view(np.uint8).data
        file = self._folder / hashlib.blake2b(content, digest_size=20).hexdigest()
        if not file.exists():
            file.write_bytes(content)
        # Never written to, but compiled loops take no arrays that are read-only.
        return np.memmap(file, whole.dtype, "c", shape=whole.shape)

    def keep_constants(self, graph: Graph) -> Graph:
        """The graph, its weights in files."""
        for name, array in graph.constants.items():
            graph.constants[name] = self.keep(array)
        return graph

    def keep_record(self, record: dict[str, Any]) -> Path:
        """A file of what JSON can say."""
        content = json.dumps(record).encode()
        file = self._folder / f"{hashlib.blake2b(content, digest_size=20).hexdigest()}.json"
        file.write_bytes(content)
        return file

    def keep_tensor(self, tensor: Tensor) -> Tensor:
        """Codes or values of a matrix."""
        if not isinstance(tensor, Codes):
            return self.keep(tensor)
        return replace(tensor, codes=self.keep(tensor.codes))


def release_pages(array: Array) -> None:
    """Gives back the memory in which a kept array was read; it is read from its file again where needed."""
    base: Any = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


class RowTable:
    """A tall matrix in pieces of rows, of which some are in memory at a time.

    Args:
        pieces: in their order.
    """

    def __init__(self, pieces: list[Tensor]) -> None:
        self._pieces = pieces
        self._starts = np.cumsum([0, *(_count_rows(piece) for piece in pieces)]).tolist()

    def read(self, rows: slice) -> Tensor:
        """Some rows, as codes where the table has codes."""
        parts = [
            _take_rows(piece, slice(max(rows.start - start, 0), rows.stop - start))
            for piece, start, stop in zip(self._pieces, self._starts, self._starts[1:], strict=False)
            if start < rows.stop and stop > rows.start
        ]
        joined = join_pieces(parts)
        self._release()
        return joined

    def iterate(self) -> Iterator[Array]:
        """The values of all rows, piece by piece."""
        for piece in self._pieces:
            yield decode(piece)
            self._release()

    def pick(self, numbers: Array) -> Array:
        """The values of single rows."""
        places = np.searchsorted(self._starts, numbers, side="right") - 1
        result: Array | None = None
        for place in np.unique(places):
            is_here = places == place
            rows = decode(_take_rows(self._pieces[place], numbers[is_here] - self._starts[place]))
            result = np.empty((len(numbers), rows.shape[1]), np.float32) if result is None else result
            result[is_here] = rows
        self._release()
        assert result is not None
        return result

    def _release(self) -> None:
        for piece in self._pieces:
            release_pages(piece.codes if isinstance(piece, Codes) else piece)


def join_pieces(pieces: list[Tensor]) -> Tensor:
    """A matrix from pieces of its rows."""
    codes = [piece for piece in pieces if isinstance(piece, Codes)]
    if codes:
        return join_codes(codes)
    return np.concatenate([piece for piece in pieces if not isinstance(piece, Codes)])


def _count_rows(piece: Tensor) -> int:
    return len(piece.codes if isinstance(piece, Codes) else piece)


def _take_rows(piece: Tensor, rows: slice | Array) -> Tensor:
    return pick_rows(piece, rows) if isinstance(piece, Codes) else np.asarray(piece[rows], np.float32)

"""Codes and values as initializers of an ONNX model whose bytes are in a file beside it."""

from collections.abc import Iterable, Iterator

import numpy as np
from onnx import TensorProto
from onnx.external_data_helper import ExternalDataInfo, set_external_data

from edgewright.core.errors import UnsupportedFeature
from edgewright.core.numbers import Array
from edgewright.llm.quantize_checkpoint import Piece, Quantized
from edgewright.llm.rounding.codes import Codes, Grid, pack_bits, pack_bytes

# Where the bytes of a tensor may begin: vectors are read from there.
ALIGNMENT = 64
SMALLEST_BLOCK, LARGEST_BLOCK = 16, 256
DTYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "uint8": TensorProto.UINT8}


def check_grid(grid: Grid, columns: int) -> int:
    """The block of a grid that MatMulNBits can hold."""
    block = grid.find_block(columns)
    if block & (block - 1) or not SMALLEST_BLOCK <= block <= LARGEST_BLOCK:
        raise UnsupportedFeature(
            f"ONNX Runtime has no blocks of {block} weights",
            do="choose --block 16, 32, 64, 128 or 256",
        )
    return block


class ExternalWeights:
    """The tensors of a model in the order in which their bytes are made."""

    def __init__(self, file: str) -> None:
        self._file, self._offset = file, 0
        self.initializers: list[TensorProto] = []

    def add(self, name: str, array: Array) -> Iterator[bytes]:
        """A tensor that is whole in memory."""
        yield from self.add_pieces(name, array.dtype.name, array.shape, [array])

    def add_pieces(
        self, name: str, dtype: str, shape: Iterable[int], pieces: Iterable[Array]
    ) -> Iterator[bytes]:
        """A tensor of which the rows come piece by piece."""
        padding = bytes(-self._offset % ALIGNMENT)
        start, size = self._offset + len(padding), 0
        yield padding
        for piece in pieces:
            data = np.ascontiguousarray(piece).tobytes()
            size += len(data)
            yield data
        self._offset = start + size
        self._announce(name, DTYPES[dtype], shape, (start, size))

    def share(self, name: str, other: str, shape: Iterable[int], *, keep: bool) -> None:
        """Another tensor over the bytes of one that was added, which is kept beside it or not."""
        source = next(tensor for tensor in self.initializers if tensor.name == other)
        place = ExternalDataInfo(source)
        self._announce(name, source.data_type, shape, (place.offset or 0, place.length or 0))
        if not keep:
            self.initializers.remove(source)

    def _announce(self, name: str, dtype: int, shape: Iterable[int], place: tuple[int, int]) -> None:
        tensor = TensorProto(name=name, data_type=dtype, dims=list(shape), raw_data=b"")
        set_external_data(tensor, self._file, offset=place[0], length=place[1])
        tensor.ClearField("raw_data")
        self.initializers.append(tensor)


def add_matrix(
    weights: ExternalWeights, tensor: Quantized, shape: tuple[int, int], grid: Grid
) -> Iterator[bytes]:
    """Codes as MatMulNBits and GatherBlockQuantized read them, then scales and zero points."""
    rows, columns = shape
    block = check_grid(grid, columns)
    scales: list[Array] = []
    zeros: list[Array] = []

    def pack_pieces() -> Iterator[Array]:
        for piece in tensor.pieces:
            codes = _expect_codes(piece)
            scales.append(codes.scales)
            if codes.zeros is not None:
                zeros.append(pack_bits(codes.zeros, grid.bits))
            yield pack_bytes(codes)

    width = block * grid.bits // 8
    yield from weights.add_pieces(
        f"{tensor.name}.codes", "uint8", (rows, columns // block, width), pack_pieces()
    )
    yield from weights.add(f"{tensor.name}.scales", np.concatenate(scales).astype(np.float32))
    if zeros:
        yield from weights.add(f"{tensor.name}.zeros", np.concatenate(zeros))


def _expect_codes(piece: Piece) -> Codes:
    assert isinstance(piece, Codes)
    return piece

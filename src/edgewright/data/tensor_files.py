"""Tensors in files (.raw, .npy, .npz, images), and their values as a model wants them."""

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.arrays import is_numeric
from edgewright.core.errors import BadInput, ShapeMismatch, TypeMismatch, UnsupportedFeature, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array, DType
from edgewright.data.images import ImageReader, is_image
from edgewright.data.numpy_files import list_array_names, read_header, read_numpy_array
from edgewright.data.preparation import ArrayPreparation
from edgewright.ir.contract import dtype_word
from edgewright.ir.shape_advice import advise_shape
from edgewright.ir.types import TensorType
from edgewright.lower.names import sanitize_name

_SUFFIXES = (".npy", ".npz")
LARGEST_ITEM = 16  # bytes; a complex128


@dataclass(frozen=True)
class ExpectedTensor:
    """What the file of one input must hold; a raw file holds float32 unless it is native."""

    name: str
    tensor_type: TensorType
    is_native: bool = False
    # Where there is none, a file of an image's name is one of raw values.
    images: ImageReader | None = None
    # What is done to values of arrays before they get the model's type.
    preparation: ArrayPreparation | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape as numbers."""
        return self.tensor_type.static_shape()

    @property
    def stored(self) -> np.dtype[Any]:
        """The type of one element in a raw file."""
        return self.tensor_type.dtype.numpy if self.is_native else np.dtype(np.float32)

    @property
    def word(self) -> str:
        """The type in a raw file, for messages."""
        return dtype_word(self.tensor_type.dtype) if self.is_native else "float32"


def count_batch_files(path: Path, expected: ExpectedTensor) -> int:
    """How many such files fill the input: 1, or the batch where the file holds one element of it.

    Only sizes and headers are looked at; a file that does not fit is an error with both sizes.
    """
    if expected.images is not None and is_image(path):
        expected.images.check(path)
        return max(expected.shape[0], 1)
    if not is_raw(path):
        shape, dtype = read_array_header(path, expected.name)
        if not is_numeric(dtype) or dtype.itemsize > LARGEST_ITEM:
            raise TypeMismatch(
                f"the array holds {shown(dtype)}, expected numbers",
                Where(file=str(path), tensor=expected.name),
                do="save an array of numbers",
            )
        if expected.preparation is not None:
            shape = expected.preparation.transpose(np.broadcast_to(np.uint8(0), shape)).shape
        return _count_files_by_shape(shape, expected, path)
    size, item = measure_file(path), expected.stored.itemsize
    whole = prod(expected.shape) * item
    if size == whole:
        return 1
    batch = expected.shape[0] if expected.shape else 1
    if batch > 1 and size * batch == whole:
        return batch
    raise ShapeMismatch(
        f"the file has {size} bytes, expected {whole} for {expected.word} {list(expected.shape)}",
        Where(file=str(path), tensor=expected.name),
        do=_suggest_for_size(size, expected),
    )


def is_raw(path: Path) -> bool:
    """Whether a file holds nothing but values."""
    return path.suffix not in _SUFFIXES


def read_tensor(path: Path, expected: ExpectedTensor) -> Array:
    """The values of a checked file in the model's own type: the whole input, or one element of its batch."""
    if expected.images is not None and is_image(path):
        return convert_to_model_type(expected.images.read(path), expected.tensor_type)
    if not is_raw(path):
        array = read_array(path, expected.name)
        return convert_to_model_type(_prepare_array(array, expected), expected.tensor_type)
    if expected.tensor_type.dtype == DType.STRING:
        raise UnsupportedFeature("raw files cannot hold text", Where(file=str(path), tensor=expected.name))
    try:
        stored: Array = np.fromfile(path, expected.stored)
    except OSError as problem:
        raise BadInput(
            f"the file could be read when it was checked, now it cannot: {problem.strerror}",
            Where(file=str(path), tensor=expected.name),
            do="do not move or change input files while they are read",
        ) from problem
    if expected.is_native:
        return stored
    if expected.preparation is not None:
        # Raw files are flat: a whole input, or one element of its batch.
        stored = _prepare_array(stored.reshape(-1, *expected.shape[1:]), expected).reshape(-1)
    return convert_to_model_type(stored, expected.tensor_type)


def _prepare_array(array: Array, expected: ExpectedTensor) -> Array:
    preparation = expected.preparation
    return array if preparation is None else preparation.normalize_values(preparation.transpose(array))


def convert_to_model_type(array: Array, tensor_type: TensorType) -> Array:
    """Numbers in the type of a model's tensor; those that already have it are stored values."""
    dtype, numpy_type = tensor_type.dtype, tensor_type.dtype.numpy
    if array.dtype == numpy_type:
        return array
    # numpy has no name for bfloat16 and the like: its files call them two anonymous bytes.
    if array.dtype.kind == "V" and array.dtype.itemsize == numpy_type.itemsize:
        return array.view(numpy_type)
    is_odd = array.dtype.kind in "OUSV" or (array.dtype.kind == "c" and not dtype.is_complex)
    if dtype == DType.STRING or is_odd:
        raise TypeMismatch(f"values are {array.dtype}, expected {dtype_word(dtype)}")
    if tensor_type.encoding is not None:
        return tensor_type.encoding.encode(array.astype(np.float32), dtype)
    if numpy_type.kind in "iu" and array.dtype.kind == "f":
        return _truncate_to_integer(array, numpy_type)
    converted: Array = array.astype(numpy_type)
    return converted


def convert_to_file_type(array: Array, tensor_type: TensorType, *, is_native: bool) -> Array:
    """What an output file holds: the stored values, or all of them as float32."""
    if tensor_type.dtype == DType.STRING or tensor_type.dtype.is_complex:
        raise UnsupportedFeature(
            f"{dtype_word(tensor_type.dtype)} has no form as a raw file", do="cut the graph before it"
        )
    if is_native:
        return np.ascontiguousarray(array)
    if tensor_type.encoding is not None:
        array = tensor_type.encoding.decode(array)
    return np.ascontiguousarray(array.astype(np.float32))


def _truncate_to_integer(array: Array, dtype: np.dtype[Any]) -> Array:
    """Whole numbers as a cast in C gives them, but never wrapped around."""
    limits = np.iinfo(dtype)
    # The largest 64-bit integer is no double; the double above it would wrap.
    high = float(limits.max) if float(limits.max) == limits.max else float(np.nextafter(float(limits.max), 0))
    bounded: Array = np.clip(np.trunc(np.nan_to_num(array.astype(np.float64))), float(limits.min), high)
    return bounded.astype(dtype)


def _suggest_for_size(size: int, expected: ExpectedTensor) -> str:
    native = prod(expected.shape) * expected.tensor_type.dtype.numpy.itemsize
    word = dtype_word(expected.tensor_type.dtype)
    if not expected.is_native and size == native:
        return f"the size fits {word}: add --use_native_input_files"
    if expected.is_native and size == prod(expected.shape) * 4:
        return "the size fits float32: leave the native input options out"
    return "write the file again in this type and shape, or use .npy, which holds both"


def _count_files_by_shape(shape: tuple[int, ...], expected: ExpectedTensor, path: Path) -> int:
    full_shape = expected.shape
    if shape == full_shape or (full_shape[:1] == (1,) and shape == full_shape[1:]):
        return 1
    if full_shape and full_shape[0] > 1 and shape in {(1, *full_shape[1:]), full_shape[1:]}:
        return full_shape[0]
    raise ShapeMismatch(
        f"the array has the shape {list(shape)}, expected {list(full_shape)}",
        Where(file=str(path), tensor=expected.name),
        do=advise_shape(shape, full_shape),
    )


def read_array_header(path: Path, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of what `read_array` reads."""
    return read_header(path, _find_member(path, name))


def read_array(path: Path, name: str) -> Array:
    """The array of an .npy file, or the one of an .npz file that belongs to an input."""
    return read_numpy_array(path, _find_member(path, name))


def _find_member(path: Path, name: str) -> str:
    """What the array of an input is called in its file."""
    members = list_array_names(path)
    for spelled in (name, sanitize_name(name)):
        if spelled in members:
            return spelled
    if len(members) == 1:
        return members[0]
    arrays = ", ".join(f"'{shown(member, 60)}'" for member in members[:10])
    raise BadInput(
        f"the file has no array '{shown(name)}', found {arrays or 'none'}",
        Where(file=str(path), tensor=name),
        do="name the arrays after the inputs",
    )

"""Where the arrays of a run come from: named files, an input list, or a random generator."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.config.umbrella import RunInputs
from edgewright.core.errors import EdgewrightError, Problems, ShapeMismatch, UsageError, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.core.words import did_you_mean
from edgewright.data.input_list import read_input_list
from edgewright.data.tensor_files import (
    ExpectedTensor,
    convert_to_model_type,
    count_batch_files,
    is_raw,
    read_array,
    read_tensor,
)
from edgewright.ir.contract import dtype_word
from edgewright.ir.dims import symbol
from edgewright.ir.symbols import batch_symbols
from edgewright.ir.types import TensorType
from edgewright.lower.names import NameTable
from edgewright.model.model import Model, TensorInfo

Feed = dict[str, Array]
_DTYPES = {word: dtype for dtype in DType for word in (dtype.name.lower(), dtype_word(dtype))}


def open_input_sets(model: Model, chosen: RunInputs) -> list["InputSet"]:
    """The sets that the options describe; their files are read when a set is used."""
    names = [item.name for item in model.inputs]
    if chosen.random is not None:
        return [InputSet(_with_batch_1(model.inputs), {}, chosen.random)]
    if chosen.input_list is not None:
        table = NameTable(names)
        listed = read_input_list(chosen.input_list, names, {table(name): name for name in names})
        files = [{name: line.files.get(name) or line.files[""] for name in names} for line in listed.lines]
        return [InputSet(model.inputs, item) for item in files]
    return [InputSet(model.inputs, _match_named_files(names, chosen))]


class InputSet:
    """The inputs of one run."""

    def __init__(self, inputs: Sequence[TensorInfo], files: dict[str, Path], seed: int = 0) -> None:
        self._inputs = inputs
        self._files = files
        self._seed = seed

    def feed(self) -> Feed:
        """The arrays by input name; all files that do not fit are reported at once."""
        generator = np.random.default_rng(self._seed)
        arrays: Feed = {}
        problems: list[EdgewrightError] = []
        for item in self._inputs:
            try:
                file = self._files.get(item.name)
                arrays[item.name] = _make_random_array(item, generator) if file is None else _read(item, file)
            except EdgewrightError as problem:
                problems.append(problem)
        if problems:
            raise Problems(problems)
        return arrays


def _match_named_files(names: Sequence[str], chosen: RunInputs) -> dict[str, Path]:
    files = {name: Path(file) for name, file in chosen.inputs}
    problems: list[EdgewrightError] = [
        UsageError(
            f"--input names '{shown(name)}', which is not an input of the model", do=did_you_mean(name, names)
        )
        for name in files
        if name not in names
    ]
    missing = [name for name in names if name not in files]
    if missing and not problems:
        listed = " ".join(f"--input '{shown(name, 60)}=FILE'" for name in missing[:10])
        problems.append(
            UsageError(
                f"{len(missing)} of {len(names)} inputs have no file",
                do=f"add {listed}; or use --random",
            )
        )
    if problems:
        raise Problems(problems)
    return files


def _with_batch_1(inputs: Sequence[TensorInfo]) -> list[TensorInfo]:
    batches = batch_symbols({item.name: _make_tensor_type(item) for item in inputs})
    return [replace(item, shape=tuple(1 if dim in batches else dim for dim in item.shape)) for item in inputs]


def _make_random_array(item: TensorInfo, generator: np.random.Generator) -> Array:
    input_type = _make_tensor_type(item)
    if not input_type.is_static:
        raise UsageError(
            f"input '{shown(item.name)}' has the symbolic shape {input_type}, random values need fixed sizes",
            do=f"add {_spell_shape(item.name)} or {spell_option('batch')} and {spell_option('symbols')} for "
            "its dimensions",
        )
    if input_type.dtype == DType.STRING:
        raise UsageError(f"input '{shown(item.name)}' is text", do="give it with --input")
    shape = input_type.static_shape()
    if input_type.dtype.is_float or input_type.dtype.is_complex:
        return generator.random(shape).astype(input_type.dtype.numpy)
    # Small on purpose: a large number may be an index out of range.
    return generator.integers(0, 2, shape).astype(input_type.dtype.numpy)


def _read(item: TensorInfo, file: Path) -> Array:
    input_type = _make_tensor_type(item)
    if not is_raw(file):
        array = convert_to_model_type(read_array(file, item.name), input_type)
        if input_type.is_static and array.shape != input_type.static_shape():
            count_batch_files(file, ExpectedTensor(item.name, input_type))
            return array.reshape(input_type.static_shape())
        return array
    if not input_type.is_static:
        raise ShapeMismatch(
            f"a raw file does not record the symbolic dimensions of {input_type}",
            Where(file=str(file), tensor=item.name),
            do=f"give a .npy file, or the shape with {_spell_shape(item.name)}",
        )
    return _read_raw(item, input_type, file)


def _read_raw(item: TensorInfo, input_type: TensorType, file: Path) -> Array:
    """Values in the model's own type, or float32 where only that fits the size."""
    problem: EdgewrightError | None = None
    for is_native in (True, False):
        expected = ExpectedTensor(item.name, input_type, is_native)
        try:
            if count_batch_files(file, expected) == 1:
                return read_tensor(file, expected).reshape(input_type.static_shape())
        except ShapeMismatch as found:
            problem = problem or found
    raise problem or ShapeMismatch(
        f"the file holds one element of the batch, expected {input_type}",
        Where(file=str(file), tensor=item.name),
    )


def _make_tensor_type(item: TensorInfo) -> TensorType:
    shape = tuple(dim if isinstance(dim, int) else symbol(dim) for dim in item.shape)
    return TensorType(shape, _DTYPES[item.dtype])


def _spell_shape(name: str) -> str:
    return spell_option("input_shapes", {shown(name, 60): ("N", "N", "...")})

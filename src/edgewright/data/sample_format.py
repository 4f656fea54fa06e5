"""Brings samples into the names, types and shapes of a graph's inputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgewright.config.preprocessing import Preprocessing
from edgewright.config.spelling import has_option, spell_option
from edgewright.core.arrays import is_array, is_numeric, to_array
from edgewright.core.errors import EdgewrightError, ShapeMismatch, TypeMismatch, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.core.words import did_you_mean, quote_names
from edgewright.data.preparation import make_preparations
from edgewright.data.tensor_files import convert_to_model_type
from edgewright.ir.dims import Dim
from edgewright.ir.graph import Graph
from edgewright.ir.shape_advice import advise_shape, is_matching_shape
from edgewright.ir.types import TensorType
from edgewright.lower.names import NameTable, spell_io_names

# Arrays by input name, arrays in the order of the inputs, or the array of the only input.
RunInputs = Mapping[str, Any] | Sequence[Any] | Any


class SampleFormat:
    """What the samples of a graph must look like."""

    def __init__(self, graph: Graph, preprocessing: Preprocessing | None = None) -> None:
        self.types: dict[str, TensorType] = {name: graph.types[name] for name in graph.inputs}
        table = NameTable(graph.inputs)
        self.spellings = {table(name): name for name in graph.inputs}
        self.preparations = make_preparations(self.types, preprocessing)

    def convert_sample(self, item: Any, number: int, file: str | None = None) -> dict[str, Array]:
        """One sample by input name; what does not fit is an error with its number."""
        try:
            given = self.match_inputs(item)
            return {name: self._convert_array(name, given[name]) for name in self.types}
        except EdgewrightError as problem:
            tensor = problem.where.tensor if problem.where else None
            where = Where(file=file, tensor=tensor, detail=None if file else f"sample {number}")
            raise type(problem)(problem.what, where, problem.do) from None

    def match_inputs(self, item: Any) -> dict[str, Array]:
        """Arrays by input name: from a mapping, from an array, from arrays in the order of the inputs."""
        names = list(self.types)
        given = name_arrays(item, names)
        if isinstance(item, Mapping):
            given = {self._find_input(name): array for name, array in given.items()}
        missing = [name for name in names if name not in given]
        if missing:
            raise UsageError(
                f"{len(given)} of {len(names)} inputs are given, missing: {quote_names(missing)}",
                do=_advise_missing(missing[0]),
            )
        return given

    def _find_input(self, name: str) -> str:
        input_name = name if name in self.types else self.spellings.get(name)
        if input_name is None:
            raise UsageError(
                f"'{shown(name)}' is no input of the model, which has {quote_names(list(self.types))}",
                do=did_you_mean(name, list(self.types)),
            )
        return input_name

    def _convert_array(self, name: str, array: Array) -> Array:
        """The array in the type of an input; a batch of one may be left out."""
        expected = self.types[name]
        if not is_numeric(array.dtype):
            raise TypeMismatch(f"values are {array.dtype}, expected numbers", Where(tensor=name))
        if name in self.preparations:
            array = self.preparations[name].normalize_values(self.preparations[name].transpose(array))
        if not is_matching_shape(array.shape, expected.shape):
            batch = expected.shape[0] if expected.shape else 0
            is_single = batch == 1 or not isinstance(batch, int)
            if not (is_single and is_matching_shape(array.shape, expected.shape[1:])):
                raise make_shape_error(name, array, expected)
            array = array[None]
        return np.ascontiguousarray(convert_to_model_type(array, expected)).reshape(array.shape)


def _advise_missing(name: str) -> str:
    """Samples have all inputs but those that are made constants."""
    advice = f"give each sample an array '{shown(name)}', as a .npz or a dictionary has them"
    constant = spell_option("input_values", {shown(name): "VALUE"})
    return f"{advice}, or make it a constant: {constant}" if has_option("input_values") else advice


def name_arrays(inputs: RunInputs, names: Sequence[str]) -> dict[str, Array]:
    """Arrays by input name: from a mapping, from arrays in the order of the inputs, from one array.

    A mapping may spell names as files that were written do, which know no signs.
    """
    if isinstance(inputs, Mapping):
        given = {str(name): to_array(value) for name, value in inputs.items()}
        if given.keys() <= set(names):
            return given
        spelled = {written: name for name, written in spell_io_names(names, ()).items()}
        return {name if name in names else spelled.get(name, name): array for name, array in given.items()}
    parts = inputs if isinstance(inputs, tuple | list) and inputs and all(map(is_array, inputs)) else [inputs]
    if len(parts) != len(names):
        word = "array is" if len(parts) == 1 else "arrays are"
        raise UsageError(
            f"{len(parts)} {word} given for {len(names)} inputs: {quote_names(names)}",
            do="give the inputs alone, without labels, or a dictionary {input name: array}",
        )
    return dict(zip(names, map(to_array, parts), strict=True))


def make_shape_error(
    name: str, array: Array, expected: TensorType, advised: Sequence[Dim] | None = None
) -> ShapeMismatch:
    """The error for an array of another shape, and how it gets the one that is advised."""
    dims = ",".join(str(dim) for dim in expected.shape)
    return ShapeMismatch(
        f"the array has the shape {list(array.shape)}, expected [{dims}]",
        Where(tensor=name),
        do=advise_shape(array.shape, advised or expected.shape),
    )

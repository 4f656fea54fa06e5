"""What a user says about a model's inputs and outputs, held against what the model says."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from edgewright.config.group import OptionGroup
from edgewright.config.spelling import spell_option
from edgewright.core.errors import EdgewrightError, ShapeMismatch, TypeMismatch, UsageError, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.core.words import did_you_mean
from edgewright.ir.dims import Dim, Expr
from edgewright.ir.symbols import resolve
from edgewright.ir.types import TensorType

NAMES_LISTED = 10


@dataclass(frozen=True)
class InputSpec:
    """What the user says about a model's inputs and outputs in place of the model itself."""

    input_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    batch: int | None = None
    symbols: Mapping[str, int] = field(default_factory=dict)
    input_dtypes: Mapping[str, DType] = field(default_factory=dict)
    # Types of inputs for formats that do not store them.
    dtype_hints: Mapping[str, DType] = field(default_factory=dict)
    # Inputs that become constants.
    input_values: Mapping[str, Any] = field(default_factory=dict)
    # Any values of the graph; the model's own outputs where none is named.
    outputs: Sequence[str] = ()
    keep_disconnected: bool = False
    # Which of a model's signatures is converted; the first where none is named.
    signature: str | None = None
    # Which of the graphs of a SavedModel is converted.
    tag: str | None = None
    # Whether states of recurrent layers become inputs and outputs.
    expose_states: bool = False
    # The inputs that the user named; None: those that have a shape or a datatype above.
    named: Sequence[str] | None = None

    def list_named(self) -> Sequence[str]:
        """The inputs that the user named."""
        return (*self.input_shapes, *self.input_dtypes) if self.named is None else self.named

    @classmethod
    def from_options(cls, *groups: OptionGroup) -> "InputSpec":
        """Filled from the options that are called like a field, or say that they fill it."""
        values: dict[str, Any] = {}
        for group in groups:
            for attribute, option in group.options().items():
                value, name = getattr(group, attribute), option.fills or attribute
                if name in _FILLED and value != option.default:
                    values[name] = dict(value) if option.keyed else value
        return cls(**values)


# Options give data types by words and mean different things by them: their tools read those.
_FILLED = {item.name for item in fields(InputSpec)} - {"input_dtypes", "dtype_hints", "named"}


def decide_types(types: Mapping[str, TensorType], file: str, spec: InputSpec) -> dict[str, TensorType]:
    """Input types with the wished numbers for symbols and the wished datatypes."""
    known = sorted({symbol for tensor_type in types.values() for symbol in tensor_type.symbols})
    check_names(file, "symbols", spec.symbols, known, "symbolic dimension")
    _check_positive(spec.symbols)
    return {
        name: replace(
            tensor_type,
            shape=resolve(tensor_type.shape, spec.symbols),
            dtype=spec.input_dtypes.get(name, tensor_type.dtype),
        )
        for name, tensor_type in types.items()
    }


def shape_input(name: str, declared: TensorType, file: str, spec: InputSpec) -> TensorType:
    """The type of an input with the shape or the batch that is wished for."""
    dims, batch = spec.input_shapes.get(name), spec.batch
    where = Where(file=file, tensor=name)
    if dims is not None:
        if len(dims) != declared.rank or any(isinstance(d, bool) or d < 0 for d in dims):
            raise ShapeMismatch(
                f"shape {list(dims)} is given for an input of shape {_format_shape(declared.shape)}",
                where,
                do=f"give {declared.rank} dimensions, none below 0",
            )
        return declared.with_shape(dims)
    if batch is not None and declared.rank:
        if batch < 1:
            raise UsageError(f"batch {batch} is given, expected 1 or more", where)
        return declared.with_shape((batch, *declared.shape[1:]))
    return declared


def bind_values(
    file: str, spec: InputSpec, declared: Mapping[str, TensorType]
) -> dict[str, tuple[TensorType, Array]]:
    """The values that inputs are fixed to, in the declared types."""
    check_names(file, "input_values", spec.input_values, list(declared), "input")
    values: dict[str, tuple[TensorType, Array]] = {}
    for name, given in spec.input_values.items():
        value = _reshape_listed(_cast_value(name, given, declared[name].dtype), declared[name])
        check_array(name, declared[name], {name: value})
        values[name] = (declared[name].with_shape(value.shape), value)
    return values


def check_names(
    file: str, field: str, given: Mapping[str, object] | Sequence[str], known: Sequence[str], kind: str
) -> None:
    """Raises for the first name that the model does not have."""
    for problem in list_unknown_names(field, given, known, kind, file):
        raise problem


def list_unknown_names(
    field: str, names: Iterable[str], known: Sequence[str], kind: str, file: str | None = None
) -> list[EdgewrightError]:
    """A problem for each name that the option for a field gives and the model does not have."""
    listed = ", ".join(f"'{shown(name, 60)}'" for name in known[:NAMES_LISTED])
    return [
        UsageError(
            f"{spell_option(field)} names the {kind} '{shown(name)}', which the model does not have",
            Where(file=file) if file else None,
            do=did_you_mean(name, known, f"use one of {listed}" if known else f"the model has no {kind}"),
        )
        for name in names
        if name not in known
    ]


def check_array(name: str, declared: TensorType, values: Mapping[str, Array]) -> None:
    """The arrays of a run against the declared types, before a graph is built for them."""
    if name not in values:
        raise UsageError(f"input '{shown(name)}' is missing", do="give all inputs of the model")
    shape = values[name].shape
    fits = len(shape) == declared.rank and all(
        isinstance(dim, Expr) or dim == size for dim, size in zip(declared.shape, shape, strict=True)
    )
    if not fits:
        raise ShapeMismatch(
            f"shape {list(shape)} does not fit {_format_shape(declared.shape)}",
            Where(tensor=name),
            do="give the input in the expected shape",
        )


def _reshape_listed(value: Array, declared: TensorType) -> Array:
    """Numbers that are given in their order, or one as a list, in the shape of their input."""
    is_listed = value.ndim <= 1 and value.ndim != declared.rank
    fits = is_listed and declared.is_static and declared.count == value.size
    return value.reshape(declared.static_shape()) if fits else value


def _cast_value(name: str, given: object, dtype: DType) -> Array:
    """A value in the datatype of its input, where that holds it."""
    array: Array = np.asarray(given)
    if array.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            value: Array = array.astype(dtype.numpy)
        if dtype.is_float or np.array_equal(value, array):
            return value
    raise TypeMismatch(
        f"the value {shown(str(given), 60)} is not one of {dtype.numpy.name}",
        Where(tensor=name),
        do=f"give it as {dtype.numpy.name}",
    )


def _check_positive(symbols: Mapping[str, int]) -> None:
    for name, size in symbols.items():
        if size < 1:
            raise UsageError(
                f"{spell_option('symbols')} gives '{shown(name)}' the size {size}, expected 1 or more"
            )


def _format_shape(shape: Sequence[Dim]) -> str:
    return "[" + ",".join(str(dim) for dim in shape) + "]"

"""From an ONNX model and the user's wishes for its inputs and outputs to an import."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx

from edgewright.core.errors import (
    BadInput,
    Problems,
    ShapeMismatch,
    TypeMismatch,
    UnsupportedOp,
    UsageError,
    Where,
    shown,
)
from edgewright.core.numbers import Array, DType
from edgewright.core.words import did_you_mean
from edgewright.frontends.onnx.declared import input_type
from edgewright.frontends.onnx.faults import guarded
from edgewright.frontends.onnx.importer import Imported, Importer, InputSpec
from edgewright.frontends.onnx.reader import OnnxFile
from edgewright.ir.dims import Dim, Expr
from edgewright.ir.graph import Graph
from edgewright.ir.symbols import resolve
from edgewright.ir.types import TensorType, type_of

__all__ = ["OnnxSource", "Overrides"]

NAMES_LISTED = 10


@dataclass(frozen=True)
class Overrides:
    """What the user says about a model's inputs and outputs in place of the model itself."""

    input_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    batch: int | None = None
    symbols: Mapping[str, int] = field(default_factory=dict)
    input_dtypes: Mapping[str, DType] = field(default_factory=dict)
    # Inputs that become constants.
    input_values: Mapping[str, Array] = field(default_factory=dict)
    # Any values of the graph; the model's own outputs where none is named.
    outputs: Sequence[str] = ()
    keep_disconnected: bool = False


class OnnxSource:
    """An opened model with the types of its inputs decided."""

    def __init__(self, file: OnnxFile, overrides: Overrides | None = None) -> None:
        wishes = overrides or Overrides()
        self.file = file
        self._keep_all = wishes.keep_disconnected
        with guarded(file.name):
            declared = _input_types(file, wishes)
            self._known = {n: InputSpec(t, v) for n, (t, v) in _input_values(file, wishes, declared).items()}
            self.inputs = {name: t for name, t in declared.items() if name not in self._known}
            self.outputs = _outputs(file, wishes)

    @classmethod
    def open(
        cls,
        source: str | Path | bytes | onnx.ModelProto,
        overrides: Overrides | None = None,
        *,
        folder: str | Path | None = None,
    ) -> "OnnxSource":
        """From a path, or from a model in memory with the folder of its external data."""
        beside = Path(folder) if folder is not None else None
        if isinstance(source, onnx.ModelProto):
            return cls(OnnxFile(source, folder=beside), overrides)
        if isinstance(source, bytes):
            return cls(OnnxFile.from_bytes(source, beside), overrides)
        return cls(OnnxFile.open(Path(source)), overrides)

    @property
    def tensors(self) -> frozenset[str]:
        """Names of all tensors of the main graph."""
        made = {name for node in self.file.graph.node for name in node.output if name}
        stored = {tensor.name for tensor in self.file.graph.initializer}
        return frozenset(made | stored | self.inputs.keys())

    def build(self, values: Mapping[str, Array]) -> Imported:
        """Imports the graph with some inputs bound to values."""
        specs = {
            name: InputSpec(type_of(values[name]), values[name]) if name in values else InputSpec(t)
            for name, t in self.inputs.items()
        }
        return self._import(specs)

    def specialise(self, values: Mapping[str, Array], bound: tuple[str, ...]) -> Graph:
        """The graph for one set of inputs: bound ones become constants, the others get their shapes."""
        names = set(bound)
        for name, declared in self.inputs.items():
            _check_given(name, declared, values)
        while True:
            specs = {
                name: InputSpec(type_of(values[name]), values[name] if name in names else None)
                for name in self.inputs
            }
            imported = self._import(specs)
            if imported.problems:
                raise Problems(imported.problems)
            if imported.is_complete:
                return imported.graph
            if imported.shapes_for or names.issuperset(imported.bound):
                label = imported.shapes_for or next(iter(imported.bound.values()))
                raise UnsupportedOp(
                    "a parameter depends on a size that only exists at run time",
                    Where(file=self.file.name, node=label),
                    do="make the parameter a constant in the source model",
                )
            names |= set(imported.bound)

    def _import(self, specs: Mapping[str, InputSpec]) -> Imported:
        given = {**specs, **self._known}
        return Importer(self.file, given, self.outputs, keep_all=self._keep_all).run()


def _input_types(file: OnnxFile, wishes: Overrides) -> dict[str, TensorType]:
    stored = {tensor.name for tensor in file.graph.initializer}
    stored |= {sparse.values.name for sparse in file.graph.sparse_initializer}
    declared = {item.name: item for item in file.graph.input if item.name not in stored}
    for option, names in (("--input_dim", wishes.input_shapes), ("--input_dtype", wishes.input_dtypes)):
        _check_names(file, option, names, list(declared), "input")
    types = {
        name: _shaped(_with_shape(item, wishes), file, wishes.input_shapes.get(name), wishes.batch)
        for name, item in declared.items()
    }
    known = sorted({symbol for tensor_type in types.values() for symbol in tensor_type.symbols})
    _check_names(file, "--define_symbol", wishes.symbols, known, "symbolic dimension")
    _check_positive(wishes.symbols)
    return {
        name: replace(
            tensor_type,
            shape=resolve(tensor_type.shape, wishes.symbols),
            dtype=wishes.input_dtypes.get(name, tensor_type.dtype),
        )
        for name, tensor_type in types.items()
    }


def _with_shape(item: onnx.ValueInfoProto, wishes: Overrides) -> onnx.ValueInfoProto:
    """An input that the model gives no rank, in the rank of the user's shape."""
    wanted = wishes.input_shapes.get(item.name)
    if wanted is None or not item.type.HasField("tensor_type") or item.type.tensor_type.HasField("shape"):
        return item
    copy = onnx.ValueInfoProto()
    copy.CopyFrom(item)
    for dim in wanted:
        copy.type.tensor_type.shape.dim.add(dim_value=dim)
    return copy


def _shaped(
    item: onnx.ValueInfoProto, file: OnnxFile, wanted: Sequence[int] | None, batch: int | None
) -> TensorType:
    declared = input_type(item, file.name)
    where = Where(file=file.name, tensor=item.name)
    if wanted is not None:
        if len(wanted) != declared.rank or any(isinstance(d, bool) or d < 0 for d in wanted):
            raise ShapeMismatch(
                f"shape {list(wanted)} is given for an input of shape {_text(declared.shape)}",
                where,
                do=f"give {declared.rank} dimensions, none below 0",
            )
        return declared.with_shape(wanted)
    if batch is not None and declared.rank:
        if batch < 1:
            raise UsageError(f"batch {batch} is given, expected 1 or more", where)
        return declared.with_shape((batch, *declared.shape[1:]))
    return declared


def _input_values(
    file: OnnxFile, wishes: Overrides, declared: Mapping[str, TensorType]
) -> dict[str, tuple[TensorType, Array]]:
    """The values that inputs are fixed to, in the declared types."""
    _check_names(file, "input_values", wishes.input_values, list(declared), "input")
    values: dict[str, tuple[TensorType, Array]] = {}
    for name, given in wishes.input_values.items():
        value = _in_type(name, given, declared[name].dtype)
        _check_given(name, declared[name], {name: value})
        values[name] = (declared[name].with_shape(value.shape), value)
    return values


def _in_type(name: str, given: object, dtype: DType) -> Array:
    """A value in the datatype of its input, where that holds it."""
    found: Array = np.asarray(given)
    if found.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            value: Array = found.astype(dtype.numpy)
        if dtype.is_float or np.array_equal(value, found):
            return value
    raise TypeMismatch(
        f"the value {shown(str(given), 60)} is not one of {dtype.numpy.name}",
        Where(tensor=name),
        do=f"give it as {dtype.numpy.name}",
    )


def _outputs(file: OnnxFile, wishes: Overrides) -> list[str]:
    if not wishes.outputs:
        if not file.graph.output:
            raise BadInput(
                "the model has no outputs" if file.graph.node else "not an ONNX model: it holds no graph",
                Where(file=file.name),
                do="check the file, or name outputs with --out_node",
            )
        return [item.name for item in file.graph.output]
    made = {name for node in file.graph.node for name in node.output if name}
    made |= {item.name for item in file.graph.input} | {item.name for item in file.graph.initializer}
    _check_names(file, "--out_node", wishes.outputs, sorted(made), "value")
    return list(dict.fromkeys(wishes.outputs))


def _check_names(
    file: OnnxFile, option: str, found: Mapping[str, object] | Sequence[str], known: Sequence[str], kind: str
) -> None:
    for name in found:
        if name not in known:
            listed = ", ".join(f"'{shown(k, 60)}'" for k in known[:NAMES_LISTED])
            raise UsageError(
                f"{option} names the {kind} '{shown(name)}', which the model does not have",
                Where(file=file.name),
                do=did_you_mean(name, known, f"use one of {listed}" if known else f"the model has no {kind}"),
            )


def _check_positive(symbols: Mapping[str, int]) -> None:
    for name, size in symbols.items():
        if size < 1:
            raise UsageError(f"--define_symbol gives '{shown(name)}' the size {size}, expected 1 or more")


def _check_given(name: str, declared: TensorType, values: Mapping[str, Array]) -> None:
    """The arrays of a run against the declared types, before a graph is built for them."""
    if name not in values:
        raise UsageError(f"input '{shown(name)}' is missing", do="give all inputs of the model")
    shape = values[name].shape
    fits = len(shape) == declared.rank and all(
        isinstance(dim, Expr) or dim == size for dim, size in zip(declared.shape, shape, strict=True)
    )
    if not fits:
        raise ShapeMismatch(
            f"shape {list(shape)} does not fit {_text(declared.shape)}",
            Where(tensor=name),
            do="give the input in the expected shape",
        )


def _text(shape: Sequence[Dim]) -> str:
    return "[" + ",".join(str(dim) for dim in shape) + "]"

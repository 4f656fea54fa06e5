"""From a TFLite model and the user's spec for its inputs and outputs to an import."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.core.words import did_you_mean
from edgewright.frontends._common.faults import guard_reading
from edgewright.frontends._common.imported import BoundInput, Imported, NodeNames
from edgewright.frontends._common.input_spec import (
    InputSpec,
    bind_values,
    check_names,
    decide_types,
    shape_input,
)
from edgewright.frontends._common.source_model import SourceModel
from edgewright.frontends.tflite.encoded import type_in_graph
from edgewright.frontends.tflite.importer import Importer, list_node_names
from edgewright.frontends.tflite.reader import Signature, Tensor, TfliteFile
from edgewright.ir.dims import symbol
from edgewright.ir.types import TensorType


class TfliteSource(SourceModel):
    """An opened model with the types of its inputs decided; one signature's subgraph, or the first."""

    framework = "TFLite"
    is_channel_last = True
    keeps_integers = True

    def __init__(self, file: TfliteFile, spec: InputSpec | None = None) -> None:
        with guard_reading(file.name):
            spec = spec or InputSpec()
            self.file = file
            self._signature = _find_signature(file, spec.signature)
            self._place = self._signature.subgraph if self._signature else 0
            self._graph = file.subgraphs[self._place]
            self._by_name = {tensor.name: tensor for tensor in self._graph.tensors}
            self._known_as = _list_aliases(self._graph.tensors, self._signature)
            spec = _rename_overrides(spec, self._known_as)
            self._keep_all = spec.keep_disconnected
            declared = self._choose_input_types(spec)
            known = bind_values(file.name, spec, declared)
            self._known = {name: BoundInput(t, value) for name, (t, value) in known.items()}
            inputs = {name: t for name, t in declared.items() if name not in self._known}
            super().__init__(file.name, inputs, self._choose_outputs(spec))

    @classmethod
    def open(cls, path: str | Path, spec: InputSpec | None = None) -> "TfliteSource":
        """From a path."""
        return cls(TfliteFile.open(Path(path)), spec)

    @property
    def format(self) -> str:
        """TFLite and the signature that is read, where there are several."""
        named = f", signature '{shown(self._signature.key)}'" if self._signature else ""
        return f"TFLite{named if len(self.file.signatures) > 1 else ''}"

    @property
    def own_outputs(self) -> Sequence[str]:
        """The subgraph's outputs."""
        return list(dict.fromkeys(self._graph.tensors[index].name for index in self._graph.outputs))

    @property
    def tensors(self) -> frozenset[str]:
        """Names of all tensors of the subgraph."""
        return frozenset(self._by_name)

    def complete_name(self, name: str) -> str:
        """The tensor's name for what may be the signature's."""
        return self._known_as.get(name, name)

    def nodes(self) -> list[NodeNames]:
        """All operators of the subgraph."""
        return [list_node_names(self._graph, operator) for operator in self._graph.operators]

    def list_parameters(self) -> list[dict[str, Any]]:
        """The options of all operators; of a custom one only how many bytes it has."""
        return [
            {"custom_options": f"{operator.custom_options.size} bytes"}
            if operator.is_custom
            else operator.options
            for operator in self._graph.operators
        ]

    def read_stored(self, name: str) -> Array | None:
        """The buffer of a tensor."""
        tensor = self._by_name.get(name)
        return None if tensor is None else self.file.array(tensor)

    def _starts(self) -> Collection[str]:
        handles = [operator for operator in self._graph.operators if operator.op == "VAR_HANDLE"]
        names = [name for operator in handles for name in list_node_names(self._graph, operator).outputs]
        return [*self.inputs, *names]

    def find_declared_type(self, name: str) -> TensorType | None:
        """As the file has it."""
        tensor = self._by_name.get(name)
        return None if tensor is None or tensor.dtype is None else type_in_graph(tensor)

    def _import(self, bindings: Mapping[str, BoundInput]) -> Imported:
        given = {**bindings, **self._known}
        found = Importer(self.file, self._place, given, self.outputs, keep_all=self._keep_all).run()
        self.states = found.states
        return found

    def _choose_input_types(self, spec: InputSpec) -> dict[str, TensorType]:
        names = [self._graph.tensors[index].name for index in dict.fromkeys(self._graph.inputs)]
        for field, given in (("input_shapes", spec.input_shapes), ("input_dtypes", spec.input_dtypes)):
            check_names(self.file.name, field, given, names, "input")
        types = {
            name: shape_input(name, _open_type(self._by_name[name]), self.file.name, spec) for name in names
        }
        return decide_types(types, self.file.name, spec)

    def _choose_outputs(self, spec: InputSpec) -> list[str]:
        if spec.outputs:
            check_names(self.file.name, "outputs", spec.outputs, sorted(self._by_name), "tensor")
            return list(dict.fromkeys(spec.outputs))
        if not self._graph.outputs:
            raise BadInput(
                "the model has no outputs",
                Where(file=self.file.name),
                do=f"name outputs with {spell_option('outputs')}",
            )
        return list(self.own_outputs)


def _open_type(tensor: Tensor) -> TensorType:
    """The type of an input: open dimensions are symbols, but the batch is what the file has, mostly 1."""
    found = type_in_graph(tensor)
    # Only the channels of a constant may have a scale of 0: they hold zeros.
    if found.encoding is not None and min(found.encoding.scales) <= 0:
        raise BadInput(
            f"a scale is {min(found.encoding.scales)}, expected more than 0",
            Where(tensor=tensor.name),
            do="export the model again",
        )
    if len(tensor.signature) != len(tensor.shape):
        return found
    dims = [
        symbol(f"{tensor.name}_{axis}") if axis and size == -1 else dim
        for axis, (size, dim) in enumerate(zip(tensor.signature, tensor.shape, strict=True))
    ]
    return found.with_shape(dims)


def _find_signature(file: TfliteFile, wanted: str | None) -> Signature | None:
    if wanted is None:
        return file.signatures[0] if file.signatures else None
    keys = [item.key for item in file.signatures]
    if wanted not in keys:
        listed = ", ".join(f"'{shown(key, 60)}'" for key in keys[:10])
        raise UsageError(
            f"the signature '{shown(wanted)}' is asked for, which the model does not have",
            Where(file=file.name),
            do=did_you_mean(wanted, keys, f"use one of {listed}" if keys else "leave the option out"),
        )
    return file.signatures[keys.index(wanted)]


def _list_aliases(tensors: Sequence[object], signature: Signature | None) -> dict[str, str]:
    """The signature's names for inputs and outputs that no tensor has: they may be used as well."""
    own = {getattr(tensor, "name", "") for tensor in tensors}
    if signature is None:
        return {}
    pairs = (*signature.inputs.items(), *signature.outputs.items())
    return {name: str(getattr(tensors[index], "name", "")) for name, index in pairs if name not in own}


def _rename_overrides(spec: InputSpec, known_as: Mapping[str, str]) -> InputSpec:
    return replace(
        spec,
        input_shapes={known_as.get(name, name): value for name, value in spec.input_shapes.items()},
        input_dtypes={known_as.get(name, name): value for name, value in spec.input_dtypes.items()},
        input_values={known_as.get(name, name): value for name, value in spec.input_values.items()},
        outputs=[known_as.get(name, name) for name in spec.outputs],
    )

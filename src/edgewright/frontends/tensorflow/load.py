"""From a TensorFlow model and the user's spec for its inputs and outputs to an import."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, ShapeMismatch, UsageError, Where, shown
from edgewright.core.numbers import Array
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
from edgewright.frontends.tensorflow.ends import Ends
from edgewright.frontends.tensorflow.frames import rebuild_control_flow
from edgewright.frontends.tensorflow.functions import Flattener
from edgewright.frontends.tensorflow.graphdef import Node, split_name
from edgewright.frontends.tensorflow.importer import Importer, Network, list_node_names
from edgewright.frontends.tensorflow.order import count_ports, list_needed
from edgewright.frontends.tensorflow.saved_model import TensorflowFile
from edgewright.frontends.tensorflow.variables import Variables
from edgewright.ir.dims import Dim, symbol
from edgewright.ir.types import TensorType


class TensorflowSource(SourceModel):
    """An opened model with the types of its inputs decided; called functions are part of the graph."""

    framework = "TensorFlow"
    is_channel_last = True

    def __init__(self, file: TensorflowFile, spec: InputSpec | None = None) -> None:
        with guard_reading(file.name):
            self.file = file
            flattener = Flattener(file.graph)
            flat, loops = rebuild_control_flow(flattener.flat(file.graph.nodes))
            flattener.add(loops)
            self._ends = Ends(flat, file)
            self._nodes = self._ends.nodes
            variables = Variables(flat, file.checkpoint)
            self._network = Network(file.name, self._nodes, variables, flattener.body)
            spec = self._complete_names(spec or InputSpec())
            self._keep_all = spec.keep_disconnected
            outputs = self._choose_outputs(spec)
            declared = self._choose_input_types(spec, outputs)
            known = bind_values(file.name, spec, declared)
            self._known = {name: BoundInput(t, value) for name, (t, value) in known.items()}
            inputs = {name: t for name, t in declared.items() if name not in self._known}
            super().__init__(file.name, inputs, outputs)

    @classmethod
    def open(cls, path: str | Path, spec: InputSpec | None = None) -> "TensorflowSource":
        """From a path: a frozen graph, a SavedModel, a .meta file."""
        spec = spec or InputSpec()
        return cls(TensorflowFile.open(Path(path), spec.tag, spec.signature), spec)

    @property
    def format(self) -> str:
        """What kind of file it is."""
        found = self.file.signature
        return f"{self.file.format}, signature '{shown(found.key)}'" if found else self.file.format

    @property
    def starts(self) -> Collection[str]:
        """The inputs, and all placeholders."""
        return {*self.inputs, *self._ends.inputs}

    def complete_name(self, name: str) -> str:
        """With the ':0' that may be left out, or the signature's key."""
        return self._ends.full_name(name)

    @property
    def own_outputs(self) -> Sequence[str]:
        """What the signature names, or what nobody reads."""
        return self._ends.outputs

    @property
    def tensors(self) -> frozenset[str]:
        """Names of all tensors."""
        return frozenset(self._ends.tensors)

    def nodes(self) -> list[NodeNames]:
        """All nodes that compute something, those of called functions included."""
        counts = count_ports(self._nodes, self.outputs)
        return [list_node_names(node, counts.get(node.name, 1)) for node in self._nodes]

    def list_parameters(self) -> list[dict[str, Any]]:
        """The attributes of all nodes, as far as they are words and numbers."""
        return [node.attributes.list_plain() for node in self._nodes]

    def read_stored(self, name: str) -> Array | None:
        """What a node of the kind Const holds."""
        node = self._constants.get(split_name(name)[0])
        return None if node is None else node.attributes.array("value", node.where)

    @cached_property
    def _constants(self) -> dict[str, Node]:
        return {node.name: node for node in self._nodes if node.op == "Const"}

    def unconsumed(self) -> list[str]:
        """Names of the nodes that the outputs do not depend on."""
        used = {node.name for node in list_needed(self._nodes, self.outputs, {*self.inputs, *self._known})}
        ends = {split_name(name)[0] for name in (*self.inputs, *self._known)}
        return [node.name for node in self._nodes if node.name not in used | ends]

    def find_declared_type(self, name: str) -> TensorType | None:
        """TensorFlow's graphs say nothing of their tensors' types."""
        return None

    def _import(self, bindings: Mapping[str, BoundInput]) -> Imported:
        given = {**bindings, **self._known}
        return Importer(self._network, given, self.outputs, keep_all=self._keep_all).run()

    def _complete_names(self, spec: InputSpec) -> InputSpec:
        """Names as the model has them: ':0' may be left out, a signature's keys or its tensors be used."""
        full = self._ends.full_name
        return replace(
            spec,
            input_shapes={full(name): value for name, value in spec.input_shapes.items()},
            input_dtypes={full(name): value for name, value in spec.input_dtypes.items()},
            input_values={full(name): value for name, value in spec.input_values.items()},
            outputs=[full(name) for name in spec.outputs],
        )

    def _choose_outputs(self, spec: InputSpec) -> list[str]:
        if spec.outputs:
            check_names(self.file.name, "outputs", spec.outputs, sorted(self._ends.tensors), "tensor")
            return list(dict.fromkeys(spec.outputs))
        if not self._ends.outputs:
            raise BadInput(
                "the model has no outputs",
                Where(file=self.file.name),
                do=f"name outputs with {spell_option('outputs')}",
            )
        return list(self._ends.outputs)

    def _choose_input_types(self, spec: InputSpec, outputs: Sequence[str]) -> dict[str, TensorType]:
        """The model's inputs, and any tensor that is given a shape: the graph begins there then."""
        known = sorted(self._ends.tensors)
        for field, given in (("input_shapes", spec.input_shapes), ("input_dtypes", spec.input_dtypes)):
            check_names(self.file.name, field, given, known, "tensor")
        own = self._ends.inputs
        added = [name for name in spec.input_shapes if name not in own]
        others = (*spec.input_dtypes, *spec.input_values)
        added += [name for name in others if self._ends.has_default(name) and name not in (*own, *added)]
        reached = {node.name for node in list_needed(self._nodes, outputs, {*self._ends.keys, *added})}
        names = [*(name for name in own if self._ends.is_kept(name, reached)), *added]
        types = {name: self._choose_input_type(name, spec) for name in names}
        return decide_types(types, self.file.name, spec)

    def _choose_input_type(self, name: str, spec: InputSpec) -> TensorType:
        dtype, shape = self._ends.input_type(name)
        wanted = spec.input_shapes.get(name)
        if shape.dims is None and wanted is None:
            raise UsageError(
                f"the shape of input '{shown(name)}' is not known, expected one",
                Where(file=self.file.name, tensor=name),
                do=f"give it, as in {spell_option('input_shapes', {shown(name): ('1', '224', '224', '3')})}",
            )
        if shape.dims is None:
            assert wanted is not None
            if any(isinstance(dim, bool) or dim < 0 for dim in wanted):
                raise ShapeMismatch(
                    f"shape {list(wanted)} has a negative size",
                    Where(tensor=name),
                    do="use sizes of 0 or more",
                )
            return TensorType(tuple(wanted), dtype)
        return shape_input(name, TensorType(_name_dims(name, shape.dims), dtype), self.file.name, spec)


def _name_dims(name: str, dims: Sequence[int]) -> tuple[Dim, ...]:
    """Open sizes get names; that of the first axis is the same for all inputs."""
    stem = name.removesuffix(":0")
    return tuple(
        dim if dim >= 0 else symbol("batch") if axis == 0 else symbol(f"{stem}_{axis}")
        for axis, dim in enumerate(dims)
    )

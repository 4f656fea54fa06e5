"""An opened source model as the layers above see it, whatever its format."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from edgewright.config.spelling import spell_option
from edgewright.core.errors import Problems, UnsupportedOp, Where, shown
from edgewright.core.memory_limit import limit_memory
from edgewright.core.numbers import Array
from edgewright.frontends._common.expose_states import expose_states
from edgewright.frontends._common.imported import BoundInput, Imported, NodeNames, State
from edgewright.frontends._common.input_spec import check_array
from edgewright.ir.graph import Graph
from edgewright.ir.limits import check_counts
from edgewright.ir.sources import flow_of
from edgewright.ir.types import TensorType, type_of


class SourceModel(ABC):
    """A model with the types of its inputs decided."""

    # The format's name in messages.
    framework: str = ""
    # Whether the format itself has channels last: its tensors are not turned then.
    is_channel_last: bool = False
    # Whether a quantized model of the format becomes a quantized graph, not one with encodings to come.
    keeps_integers: bool = False

    # Whether a user has to name all inputs, because the format says too little of them.
    must_name_inputs: bool = False

    # Whether the format names open dimensions; the names are made up otherwise.
    has_named_dims: bool = False

    def __init__(self, name: str, inputs: dict[str, TensorType], outputs: Sequence[str]) -> None:
        # The file, or "model" where it came as an object.
        self.name = name
        self.inputs = inputs
        self.outputs = list(outputs)
        # The inputs among them that the user named.
        self.named: Collection[str] = ()
        # What one run leaves for the next, as far as an import has found it.
        self.states: list[State] = []
        # Whether states of recurrent layers become inputs and outputs.
        self.exposes_states = False

    @property
    @abstractmethod
    def format(self) -> str:
        """The format and its version in words."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user must know about the model, as far as an import has found it."""
        return ()

    @property
    def starts(self) -> Collection[str]:
        """The inputs, and those of the file that have no part in the model."""
        return self.inputs

    def complete_name(self, name: str) -> str:
        """The model's name for what a user names."""
        return name

    @property
    @abstractmethod
    def own_outputs(self) -> Sequence[str]:
        """The outputs that the model itself names."""

    @property
    @abstractmethod
    def tensors(self) -> frozenset[str]:
        """Names of all tensors of the main graph."""

    @abstractmethod
    def nodes(self) -> list[NodeNames]:
        """All nodes of the main graph."""

    @abstractmethod
    def find_declared_type(self, name: str) -> TensorType | None:
        """What the file says of a value; None where it says too little."""

    def list_parameters(self) -> list[dict[str, Any]]:
        """What each node says besides its inputs, as its format calls it; nothing where that is not kept."""
        return [{} for _ in self.nodes()]

    def read_stored(self, name: str) -> Array | None:
        """The elements that the file stores for a tensor, read when they are asked for; None for others."""
        del name
        return None

    @abstractmethod
    def _import(self, bindings: Mapping[str, BoundInput]) -> Imported:
        """Imports the graph with the given inputs."""

    def advise_value(self, name: str) -> str:
        """What to do about an input whose value shapes the graph."""
        value, outputs = spell_option("input_values", {shown(name): "VALUE"}), spell_option("outputs")
        return (
            f"give its value with {value}, or make it a constant in the source model, or cut the graph with "
            f"{outputs}"
        )

    def decide(self) -> None:  # noqa: B027 - most formats have nothing to decide
        """Settles what only one value fits: artifacts cannot wait for a run to tell it."""

    def build(self, values: Mapping[str, Array]) -> Imported:
        """Imports the graph with some inputs bound to values."""
        bindings = {
            name: BoundInput(type_of(values[name]), values[name]) if name in values else BoundInput(t)
            for name, t in self.inputs.items()
        }
        with limit_memory(self.name):
            check_counts(len(self.nodes()), len(self.inputs), len(self.outputs), Where(file=self.name))
            return self._finish_import(self._import(bindings))

    def _finish_import(self, imported: Imported) -> Imported:
        if imported.is_complete and self.exposes_states:
            imported.states += expose_states(imported.graph)
            self.states = imported.states
        return self._trace_tensors(imported)

    def _trace_tensors(self, imported: Imported) -> Imported:
        """With all tensors of the source in the graph's account of where they went."""
        if imported.is_complete:
            nodes = [((*n.inputs, *n.captured), n.outputs) for n in self.nodes()]
            imported.graph.sources = flow_of(nodes, self._starts(), self._list_traced())
        return imported

    def _starts(self) -> Collection[str]:
        """Tensors that are not known before a run."""
        return self.inputs

    def _list_traced(self) -> Collection[str]:
        """Tensors that a user may look for."""
        return self.tensors

    def specialise(self, values: Mapping[str, Array], bound: tuple[str, ...]) -> Graph:
        """The graph for one set of inputs: bound ones become constants, the others get their shapes."""
        names = set(bound)
        for name, declared in self.inputs.items():
            check_array(name, declared, values)
        while True:
            bindings = {name: self._bind_input(name, values, names) for name in self.inputs}
            imported = self._finish_import(self._import(bindings))
            if imported.problems:
                raise Problems(imported.problems)
            if imported.is_complete:
                return imported.graph
            if imported.shapes_for or names.issuperset(imported.bound):
                label = imported.shapes_for or next(iter(imported.bound.values()))
                raise UnsupportedOp(
                    "a parameter depends on a size that only exists at run time",
                    Where(file=self.name, node=label),
                    do="make the parameter a constant in the source model",
                )
            names |= set(imported.bound)

    def _bind_input(self, name: str, values: Mapping[str, Array], bound: Collection[str]) -> BoundInput:
        declared, value = self.inputs[name], values[name]
        tensor_type = declared.with_shape(value.shape) if declared.encoding is not None else type_of(value)
        return BoundInput(tensor_type, value if name in bound else None)

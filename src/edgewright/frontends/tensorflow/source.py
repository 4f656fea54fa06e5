"""One node of a TensorFlow graph as its translation sees it."""

from dataclasses import dataclass

from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import DType
from edgewright.frontends.tensorflow.graphdef import Attributes, Node


@dataclass(frozen=True)
class SourceNode:
    """Inputs are names of graph values, of variables, or of lists of tensors."""

    node: Node
    inputs: list[str]
    # How many outputs are read by others.
    outputs: int = 1

    @property
    def op(self) -> str:
        """Name of the op."""
        return self.node.op

    @property
    def label(self) -> str:
        """Name of the node."""
        return self.node.name

    @property
    def where(self) -> Where:
        """The place for messages."""
        return self.node.where

    @property
    def attributes(self) -> Attributes:
        """What the node says besides its inputs."""
        return self.node.attributes

    @property
    def is_channel_first(self) -> bool:
        """Whether the data have their channels before the spatial axes."""
        return self.attributes.text("data_format", "NHWC").startswith("NC")

    def type(self, name: str) -> DType:
        """A datatype among the attributes."""
        return self.attributes.type(name, self.where)

    def need(self, *places: int) -> list[str]:
        """Inputs that must be there."""
        if max(places, default=-1) >= len(self.inputs):
            raise BadInput(
                f"{len(self.inputs)} inputs are given, expected {max(places) + 1} or more",
                self.where,
                do="export the model again",
            )
        return [self.inputs[place] for place in places]

    def choice(self, name: str, default: str, known: tuple[str, ...]) -> str:
        """An attribute that is one of a few words."""
        found = self.attributes.text(name, default)
        if found not in known:
            raise BadInput(
                f"attribute '{name}' is '{found}', expected one of {list(known)}",
                self.where,
                do="export the model again",
            )
        return found

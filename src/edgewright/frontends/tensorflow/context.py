"""What a translation of a TensorFlow op may use: the shared builder, functions, variables and lists."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from edgewright.config.spelling import advise_cut
from edgewright.core.errors import UnsupportedOp
from edgewright.core.numbers import DType
from edgewright.frontends._common.builder import Builder
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.frontends.tensorflow.variables import Variables
from edgewright.ir.graph import Graph

if TYPE_CHECKING:
    from edgewright.frontends.tensorflow.importer import Importer


class Context(Builder):
    """A builder that also knows the model it builds from.

    A variable, a list of tensors and what a branch not taken makes are names that flow like values' but that
    the graph does not know.
    """

    def __init__(self, graph: Graph, importer: "Importer", variables: Variables) -> None:
        super().__init__(graph)
        self.variables = variables
        # What a list of tensors holds; "" where nothing was written yet.
        self.lists: dict[str, list[str]] = {}
        # What a list says of its items: the value of their shape, and their datatype.
        self.shapes: dict[str, tuple[str, DType]] = {}
        self.dead: set[str] = set()
        self._read: dict[str, str] = {}
        self._importer = importer
        self._count = 0

    def inline(self, function: str, arguments: Sequence[str]) -> list[str]:
        """Translates a function in place and returns the values of its results."""
        return self._importer.inline(function, arguments)

    def variable(self, handle: str) -> str:
        """The value of a variable: one constant that bears its name, however often it is read."""
        if handle not in self._read:
            array = self.variables.value(handle)
            name = self.variables.name(handle)
            free = name if name not in self.graph.types else self.graph.fresh_name(name)
            self._read[handle] = self.graph.add_constant(free, array)
        return self._read[handle]

    def list_of(self, items: Sequence[str]) -> str:
        """A new list of tensors."""
        name = self._name("list")
        self.lists[name] = list(items)
        return name

    def nothing(self) -> str:
        """What a branch makes that is not taken."""
        name = self._name("dead")
        self.dead.add(name)
        return name

    def rename(self, old: str, new: str) -> None:
        """Gives a produced value another name, in lists too."""
        super().rename(old, new)
        for items in self.lists.values():
            items[:] = [new if item == old else item for item in items]

    def around(self, node: SourceNode, value: str, work: Callable[[str], str]) -> str:
        """Does something to channel-last data, whatever the layout of the node's own is."""
        if not node.is_channel_first:
            return work(value)
        return self.move_channels_first(work(self.move_channels_last(value)))

    def refuse(self, node: SourceNode, reason: str, do: str = "") -> UnsupportedOp:
        """The error for a node that cannot be translated."""
        return UnsupportedOp(
            f"TensorFlow op '{node.op}' is not supported here: {reason}",
            node.where,
            do=do or advise_cut(),
        )

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind} {self._count} of {self.source or 'the graph'}"
